import { vercelUi } from "../../../src/formats/vercel-ui.ts";
import type { Entry, JsonMessage, ScriptResult } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

type Part = Record<string, unknown>;

export const row: FormatRow = {
	format: vercelUi,
	write: writeUi,
	contents: (messages) =>
		messages
			.flatMap(({ parts }) => (Array.isArray(parts) ? (parts as Part[]) : []))
			.filter(({ state }) => typeof state === "string" && state.startsWith("output-"))
			.map((part) => (part.state === "output-error" ? part.errorText : part.output)),
	key: "messages",
	body: { system: "You are an agent.", tools: { ls: { inputSchema: {} } } },
	textsAlone: "certain",
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	flagsErrors: true,
	resultsStandInCalls: true,
	unknownRole: (role, text) => ({ id: "m", role, parts: [{ type: "text", text }] }),
};

/** Each call of the model is a message of its own; what answers a call is written into its part. */
function writeUi(entries: readonly Entry[]): JsonMessage[] {
	const messages: { id: string; role: string; parts: Part[] }[] = [];
	const add = (role: string, parts: Part[]) => messages.push({ id: `m${messages.length}`, role, parts });
	for (const entry of entries) {
		if (entry.kind === "text") add(entry.role, [{ type: "text", text: entry.text }]);
		else if (entry.kind === "calls") {
			const tools = entry.calls.map(({ id, name }) => ({
				type: `tool-${name}`,
				toolCallId: id,
				state: "input-available",
				input: { path: "a.txt" },
			}));
			add("assistant", [{ type: "step-start" }, ...tools]);
		} else for (const result of entry.results) answer(messages.flatMap(({ parts }) => parts).toReversed(), result);
	}
	return messages;
}

function answer(parts: readonly Part[], { id, content, isError }: ScriptResult): void {
	const part = parts.find((one) => one.toolCallId === id);
	if (part)
		Object.assign(
			part,
			isError ? { state: "output-error", errorText: content } : { state: "output-available", output: content },
		);
}
