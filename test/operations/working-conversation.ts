import { outputOf } from "../support/sample-text.ts";

/** A call of the fixture: its id, its tool, its arguments and what came of it. */
interface Turn {
	readonly id: string;
	readonly name: string;
	readonly given: Readonly<Record<string, unknown>>;
	readonly output: string;
}

const sourceOf = (name: string) =>
	Array.from({ length: 60 }, (_, line) => `export const ${name}Field${line} = compute${name}(${line}, "${name}");`);

const turns: readonly Turn[] = [
	{ id: "call_list", name: "Bash", given: { command: "ls /p/src" }, output: "/p/src/alpha.ts\n/p/src/beta.ts" },
	{ id: "call_alpha", name: "Read", given: { file_path: "/p/src/alpha.ts" }, output: sourceOf("alpha").join("\n") },
	{ id: "call_beta", name: "Read", given: { file_path: "/p/src/beta.ts" }, output: sourceOf("beta").join("\n") },
	{
		id: "call_edit",
		name: "Edit",
		given: { file_path: "/p/src/alpha.ts", old_string: sourceOf("alpha")[7], new_string: "export const none = 0;" },
		output: "The file was updated.",
	},
	{ id: "call_test", name: "Bash", given: { command: "npm test -- alpha" }, output: outputOf("test log", 20) },
	{ id: "call_gamma", name: "Read", given: { file_path: "/p/src/gamma.ts" }, output: sourceOf("gamma").join("\n") },
	{ id: "call_again", name: "Read", given: { file_path: "/p/src/beta.ts" }, output: sourceOf("beta").join("\n") },
	{ id: "call_issue", name: "mcp__tracker__issue", given: { number: 12 }, output: outputOf("issue", 12) },
];

/**
 * Eight tool turns over three files: alpha is read, a line of it is edited (so it was used); beta is read twice (the first
 * time is stale); of gamma nothing is used.
 */
export function workingConversation(format: "openai-chat" | "anthropic-messages" = "openai-chat") {
	const task = { role: "user", content: "Look through src, and mend what is broken." };
	const end = { role: "assistant", content: "It is mended." };
	const messages =
		format === "openai-chat" ? turns.flatMap(openaiTurn) : turns.flatMap((turn, place) => anthropicTurn(turn, place));
	if (format === "anthropic-messages") return { system: "You are careful.", messages: [task, ...messages, end] };
	return { messages: [{ role: "system", content: "You are careful." }, task, ...messages, end] };
}

function openaiTurn({ id, name, given, output }: Turn) {
	const call = { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
	return [
		{ role: "assistant", content: null, tool_calls: [call] },
		{ role: "tool", tool_call_id: id, content: output },
	];
}

/** The fifth result comes with a word of the user. */
function anthropicTurn({ id, name, given, output }: Turn, place: number) {
	const word = place === 4 ? [{ type: "text", text: "Go on." }] : [];
	return [
		{ role: "assistant", content: [{ type: "tool_use", id, name, input: given }] },
		{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: output }, ...word] },
	];
}
