import type { Sent } from "./upstream.ts";

/** One tool turn of a session: a call of the shell and its output. */
export interface Turn {
	readonly id: string;
	readonly command: string;
	readonly output: string;
	/** By default a call of the shell. */
	readonly call?: { readonly name: string; readonly input: object };
}

export const sessionApis = ["anthropic", "chat", "responses", "gemini"] as const;

export type SessionApi = (typeof sessionApis)[number];

/** A log of its own for each turn: numbered lines that no other turn holds. */
export function outputOf(turn: number, chars: number): string {
	const lines: string[] = [];
	for (let length = 0, line = 1; length < chars; line += 1) {
		const text = `src/part-${turn}/file-${line}.ts:${line * 7}: value ${turn * 1_000 + line} is read here`;
		lines.push(text);
		length += text.length + 1;
	}
	return lines.join("\n").slice(0, chars);
}

export function turnsOf(count: number, chars = 4_000): Turn[] {
	return Array.from({ length: count }, (_, turn) => ({
		id: `toolu_01SessionOfTests${String(turn).padStart(4, "0")}`,
		command: `grep -rn value-${turn} src`,
		output: outputOf(turn, chars),
	}));
}

const paths = {
	anthropic: "/v1/messages?beta=true",
	chat: "/v1/chat/completions",
	responses: "/v1/responses",
	gemini: "/v1beta/models/gemini-2.5-pro:generateContent",
} as const;

/** The request after some turns, spelled with spaces so that a rewritten body differs from it. */
export function requestOf(api: SessionApi, turns: readonly Turn[], task = "Find out where each value is read."): Sent {
	const body = JSON.stringify(bodies[api](turns, task), null, 1);
	return { method: "POST", path: paths[api], headers: { "Content-Type": "application/json" }, body };
}

const tool = { name: "bash", description: "Runs a command.", parameters: { type: "object" } };

const callOf = ({ call, command }: Turn) => call ?? { name: tool.name, input: { command } };

const written = (turn: Turn) => {
	const { name, input } = callOf(turn);
	return { name, arguments: JSON.stringify(input) };
};

const bodies: Readonly<Record<SessionApi, (turns: readonly Turn[], task: string) => unknown>> = {
	anthropic: (turns, task) => ({
		model: "claude-sonnet-4-5",
		max_tokens: 1_000,
		system: [{ type: "text", text: "You are an agent.", cache_control: { type: "ephemeral" } }],
		tools: [{ name: tool.name, description: tool.description, input_schema: tool.parameters }],
		context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
		messages: [
			{ role: "user", content: [{ type: "text", text: task }] },
			...turns.flatMap(({ id, output, ...one }, turn) => [
				{
					role: "assistant",
					content: [
						{ type: "thinking", thinking: `Turn ${turn}.`, signature: `c2ln${turn}` },
						{ type: "tool_use", id, ...callOf({ id, output, ...one }) },
					],
				},
				{
					role: "user",
					content: [
						{
							type: "tool_result",
							tool_use_id: id,
							content: output,
							...(turn === turns.length - 1 ? { cache_control: { type: "ephemeral" } } : {}),
						},
					],
				},
			]),
		],
	}),
	chat: (turns, task) => ({
		model: "gpt-5",
		messages: [
			{ role: "system", content: "You are an agent." },
			{ role: "user", content: task },
			...turns.flatMap((turn) => [
				{ role: "assistant", content: null, tool_calls: [{ id: turn.id, type: "function", function: written(turn) }] },
				{ role: "tool", tool_call_id: turn.id, content: turn.output },
			]),
		],
		tools: [{ type: "function", function: tool }],
	}),
	responses: (turns, task) => ({
		model: "gpt-5",
		instructions: "You are an agent.",
		input: [
			{ type: "message", role: "user", content: [{ type: "input_text", text: task }] },
			...turns.flatMap((one, turn) => [
				{ type: "reasoning", id: `rs_${turn}`, summary: [], encrypted_content: `gAAA${turn}` },
				{ type: "function_call", call_id: one.id, ...written(one) },
				{ type: "function_call_output", call_id: one.id, output: one.output },
			]),
		],
		tools: [{ type: "function", ...tool }],
		store: false,
		include: ["reasoning.encrypted_content"],
	}),
	gemini: (turns, task) => ({
		systemInstruction: { parts: [{ text: "You are an agent." }] },
		tools: [{ functionDeclarations: [tool] }],
		contents: [
			{ role: "user", parts: [{ text: task }] },
			...turns.flatMap((one, turn) => {
				const { name, input } = callOf(one);
				return [
					{ role: "model", parts: [{ functionCall: { name, args: input }, thoughtSignature: `c2ln${turn}` }] },
					{ role: "user", parts: [{ functionResponse: { name, response: { output: one.output } } }] },
				];
			}),
		],
	}),
};

/** All texts of a value, in order. */
export function textsIn(value: unknown): string[] {
	if (typeof value === "string") return [value];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

export const isMasked = (text: string) => /^\[(?:Observation masked:|masked )/.test(text);

/** The placeholders in a body. */
export const maskedIn = (body: unknown) => textsIn(JSON.parse(String(body))).filter(isMasked);

/** The messages without the breakpoints, which move with each request. */
export function messagesOf(body: unknown): string[] {
	const { messages, contents, input } = JSON.parse(String(body));
	return (messages ?? contents ?? input).map((message: unknown) =>
		JSON.stringify(message, (key, value) => (key === "cache_control" ? undefined : value)),
	);
}
