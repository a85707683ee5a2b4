import { pi } from "../../../src/formats/pi.ts";
import { outputOf } from "../../support/sample-text.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

export const row: FormatRow = {
	format: pi,
	write: (entries) => [
		{ type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" },
		...[{ type: "thinking_level_change", thinkingLevel: "off" }, ...entries.flatMap(write)].map((record, index) => ({
			...record,
			id: `e${index}`,
			parentId: index === 0 ? null : `e${index - 1}`,
		})),
	],
	contents: (records) =>
		records
			.map(({ message }) => (message ?? {}) as JsonMessage)
			.flatMap(({ role, content }) => (role === "toolResult" ? [content] : [])),
	key: "messages",
	body: {},
	textsAlone: "certain",
	unknownRecord: { type: "x_note", id: "id-note", message: { role: "user", content: outputOf("note") } },
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: ({ message, ...record }, time) => ({ ...record, message: { ...(message as JsonMessage), timestamp: time } }),
	flagsErrors: true,
};

function write(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ type: "message", message: { role: entry.role, content: [{ type: "text", text: entry.text }] } }];
		case "calls": {
			const content = entry.calls.map((call) => ({ type: "toolCall", ...call, arguments: { path: "a.txt" } }));
			return [{ type: "message", message: { role: "assistant", content, stopReason: "toolUse" } }];
		}
		case "results":
			return entry.results.map(({ id, content, isError }) => {
				const details = typeof content === "string" ? { details: { fullOutput: content } } : {};
				const message = { role: "toolResult", toolCallId: id, toolName: "read_file", content, isError, ...details };
				return { type: "message", message };
			});
	}
}
