import { mastra } from "../../../src/formats/mastra.ts";
import type { Entry, JsonMessage, ScriptResult } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

type Invocation = Record<string, unknown>;

export const row: FormatRow = {
	format: mastra,
	write,
	contents: (messages) =>
		invocationsIn(messages)
			.filter(({ state }) => state === "result" || state === "output-error")
			.map((one) => (one.state === "output-error" ? one.errorText : one.result)),
	key: "messages",
	body: { instructions: "You are an agent.", tools: { ls: { inputSchema: {} } } },
	textsAlone: "certain",
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, createdAt: new Date(time).toISOString() }),
	flagsErrors: true,
	resultsStandInCalls: true,
	unknownRole: (role, text) => ({ id: "m", role, content: { format: 2, parts: [{ type: "text", text }] } }),
};

/** Each call of the model is a message of its own; what answers a call is written into its part. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const messages: JsonMessage[] = [];
	const add = (role: string, parts: object[]) =>
		messages.push({ id: `m${messages.length}`, role, threadId: "thread", content: { format: 2, parts } });
	for (const entry of entries) {
		if (entry.kind === "text") add(entry.role, [{ type: "text", text: entry.text }]);
		else if (entry.kind === "calls") {
			const tools = entry.calls.map(({ id, name }) => ({
				type: "tool-invocation",
				toolInvocation: { state: "call", toolCallId: id, toolName: name, args: { path: "a.txt" } },
			}));
			add("assistant", [{ type: "step-start" }, ...tools]);
		} else for (const result of entry.results) answer(invocationsIn(messages).toReversed(), result);
	}
	return messages;
}

function invocationsIn(messages: readonly JsonMessage[]): Invocation[] {
	return messages.flatMap(({ content }): Invocation[] => {
		const { parts } = content as { parts: readonly { toolInvocation?: Invocation }[] };
		return parts.flatMap(({ toolInvocation }) => (toolInvocation ? [toolInvocation] : []));
	});
}

function answer(invocations: readonly Invocation[], { id, content, isError }: ScriptResult): void {
	const one = invocations.find(({ toolCallId }) => toolCallId === id);
	if (one)
		Object.assign(one, isError ? { state: "output-error", errorText: content } : { state: "result", result: content });
}
