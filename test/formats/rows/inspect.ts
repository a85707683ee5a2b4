import { inspect } from "../../../src/formats/evaluation-logs.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", image: "data:image/png;base64,AAAA", detail: "auto" };

export const row: FormatRow = {
	format: inspect,
	write: (entries) => entries.flatMap(writeEntry),
	contents: (messages) => messages.filter(({ role }) => role === "tool").map(({ content }) => content),
	key: "messages",
	body: { tools: [{ name: "ls" }] },
	textsAlone: "none",
	shapes: textPartShapes.filter(({ title }) => title !== "an object"),
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	flagsErrors: true,
	unknownRole: (role, content) => ({ role, content }),
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: entry.role, content: entry.text }];
		case "calls": {
			const calls = entry.calls.map(({ id, name }) => ({ id, function: name, arguments: { path: "a.txt" } }));
			return [{ role: "assistant", content: "", tool_calls: calls }];
		}
		case "results":
			return entry.results.map(({ id, content, isError }) => ({
				role: "tool",
				content,
				tool_call_id: id,
				function: "read_file",
				...(isError ? { error: { type: "permission", message: "No." } } : {}),
			}));
	}
}
