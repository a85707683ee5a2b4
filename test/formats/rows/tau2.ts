import { tau2 } from "../../../src/formats/evaluation-logs.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

export const row: FormatRow = {
	format: tau2,
	write: (entries) => entries.flatMap(writeEntry),
	contents: (messages) => messages.filter(({ role }) => role === "tool").map(({ content }) => content),
	key: "messages",
	body: {},
	hasNoBlocks: true,
	textsAlone: "none",
	hasNoTextList: true,
	shapes: textPartShapes.filter(({ content }) => content === null || content === undefined),
	timed: (record, time) => ({ ...record, timestamp: new Date(time).toISOString() }),
	flagsErrors: true,
	unknownRole: (role, content) => ({ role, content, turn_idx: 3 }),
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: entry.role, content: entry.text, tool_calls: null }];
		case "calls": {
			const calls = entry.calls.map((call) => ({ ...call, arguments: { path: "a.txt" }, requestor: "assistant" }));
			return [{ role: "assistant", content: null, tool_calls: calls }];
		}
		case "results":
			return entry.results.map(({ isError, ...result }) => ({
				...result,
				role: "tool",
				requestor: "assistant",
				...(isError === undefined ? {} : { error: isError }),
			}));
	}
}
