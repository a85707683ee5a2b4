import { ollama } from "../../../src/formats/openai-chat.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

export const row: FormatRow = {
	format: ollama,
	write(entries) {
		const names = new Map<string | undefined, string | undefined>();
		return entries.flatMap((entry) => writeMessages(entry, names));
	},
	contents: (messages) => messages.flatMap(({ role, content }) => (role === "tool" ? [content] : [])),
	key: "messages",
	body: { tools: [{ type: "function", function: { name: "ls" } }] },
	hasNoBlocks: true,
	textsAlone: "none",
	alsoFits: ["openai-chat"],
	shapes: [
		{ title: "null", content: null, texts: [] },
		{ title: "nothing", content: undefined, texts: [] },
		{ title: "an object around a long text", content: { stdout: outputOf("one") }, texts: [outputOf("one")] },
	],
	flagsErrors: false,
	pairsByPosition: true,
	unknownRole: (role, content) => ({ role, content }),
};

/** With the ids that newer servers give. */
function writeMessages(entry: Entry, names: Map<string | undefined, string | undefined>): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: entry.role, content: entry.text }];
		case "calls": {
			for (const { id, name } of entry.calls) names.set(id, name);
			const toolCalls = entry.calls.map(({ id, name }, index) => ({
				...present("id", id),
				function: { index, ...present("name", name), arguments: { path: "a.txt" } },
			}));
			return [{ role: "assistant", content: "", tool_calls: toolCalls }];
		}
		case "results":
			return entry.results.map(({ id, content }) => ({
				role: "tool",
				tool_name: names.get(id) ?? "unknown",
				...present("tool_call_id", id),
				...present("content", content),
			}));
	}
}
