import type { Api } from "./provider-cache.ts";
import {
	argumentsFor,
	callsIn,
	fileName,
	fileText,
	messagesOf,
	offeredTools,
	type ScriptedAnswer,
	type SessionScript,
	shellTool,
	sideAnswer,
} from "./scripted-session.ts";

type Json = Readonly<Record<string, unknown>>;

/** After so many files, the agent asks for the state of its conversation, and then for masking. */
export const asksAfter = 12;
/** After so many, the program ends, and another process goes on. */
export const pausesAfter = 16;

export const resumePrompt = "Go on with the other modules.";
export const pauseText = "Paused before the other modules.";

/** A name in the middle of a file that the agent has read and no longer sees, and the number that its line ends with. */
function searched(script: SessionScript): { readonly name: string; readonly number: string } {
	const lines = fileText(script, 3).split("\n");
	const line = lines[Math.floor(lines.length / 2)] ?? "";
	const { name = "", number = "" } = lineOfName.exec(line)?.groups ?? {};
	return { name, number };
}

const lineOfName = /const (?<name>\w+) = .*?(?<number>\d+)\);/;

/** The last answer of an agent that has found in an original what it no longer sees. */
export function foundText(script: SessionScript): string {
	const { name, number } = searched(script);
	return foundOf(name, number);
}

const foundOf = (name: string, number: string) => `The line of ${name} ends with ${number}.`;

type Step = { readonly kind: "file"; readonly turn: number } | { readonly kind: "pause" } | ToolStep;

interface ToolStep {
	readonly kind: "tool";
	readonly tool: string;
	/** An argument by which the call is known among those of its tool. */
	readonly named?: string;
	readonly input: (tail: string) => Json;
}

function stepsOf(script: SessionScript): Step[] {
	const { name } = searched(script);
	const files = (from: number, to: number): Step[] =>
		Array.from({ length: to - from }, (_, place) => ({ kind: "file", turn: from + place + 1 }));
	return [
		...files(0, asksAfter),
		{ kind: "tool", tool: "guard_context", input: () => ({}) },
		{ kind: "tool", tool: "mask_conversation", input: () => ({}) },
		...files(asksAfter, pausesAfter),
		{ kind: "pause" },
		...files(pausesAfter, script.toolTurns),
		{ kind: "tool", tool: "recall_original", named: "query", input: () => ({ query: name }) },
		{
			kind: "tool",
			tool: "recall_original",
			named: "ref",
			// The reference begins the line of an original that was found.
			input: (tail) => ({ ref: /(?:\\n|")([a-z2-7]{12}) Original /.exec(tail)?.[1] ?? "none", grep: name }),
		},
	];
}

/**
 * The next answer of an agent that asks for masking in its own conversation, is resumed, and searches the originals, from the
 * request alone. It knows of the files only what a request shows.
 */
export function nextAskingAnswer(script: SessionScript, api: Api, body: Json): ScriptedAnswer {
	const shell = shellTool(api, body);
	if (shell === undefined) return { kind: "text", text: sideAnswer };
	const calls = callsIn(api, body).map((call) => JSON.stringify(call).replaceAll('\\"', '"'));
	const messages = messagesOf(api, body);
	const all = JSON.stringify(messages);
	const tail = JSON.stringify(messages.slice(-2));
	const isDone = (step: Step): boolean => {
		if (step.kind === "pause") return all.includes(resumePrompt);
		if (step.kind === "file") return calls.some((call) => call.includes(fileName(step.turn)));
		const isNamed = (call: string) => step.named === undefined || call.includes(`"${step.named}"`);
		return calls.some((call) => new RegExp(`"name":"[^"]*${step.tool}"`).test(call) && isNamed(call));
	};
	const step = stepsOf(script).find((one) => !isDone(one));
	const turn = calls.length + 1;
	if (step === undefined) {
		const { name } = searched(script);
		const shown = new RegExp(`const ${name} = .*?(?<number>\\d+)\\);`).exec(tail)?.groups?.number;
		return { kind: "text", text: shown === undefined ? `${name} is not shown.` : foundOf(name, shown) };
	}
	if (step.kind === "pause") return { kind: "text", text: pauseText };
	if (step.kind === "file")
		return { kind: "call", turn, tool: shell.name, input: argumentsFor(shell.schema, `cat ${fileName(step.turn)}`) };
	const tools = offeredTools(api, body);
	const offered = tools.find(({ name }) => name.endsWith(step.tool));
	if (offered) {
		const { name: tool, namespace } = offered;
		return { kind: "call", turn, tool, namespace, input: step.input(tail) };
	}
	// Claude Code tells the names of the tools that its search loads.
	const search = tools.find(({ name }) => name === "ToolSearch")?.name;
	const deferred = new RegExp(`mcp__\\w+__${step.tool}`).exec(JSON.stringify(body))?.[0];
	const isSearched = calls.at(-1)?.includes('"ToolSearch"');
	if (search === undefined || deferred === undefined || isSearched)
		return { kind: "text", text: `No tool ${step.tool} is offered.` };
	return { kind: "call", turn, tool: search, input: { query: `select:${deferred}`, max_results: 5 } };
}
