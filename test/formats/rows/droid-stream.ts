import { droidStream } from "../../../src/formats/event-streams.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { row as geminiStream } from "./gemini-stream.ts";

/** Events of Factory Droid. */
export const row: FormatRow = {
	...geminiStream,
	format: droidStream,
	hasNoBlocks: true,
	write: (entries) => [{ type: "system", subtype: "init", session_id: "s" }, ...entries.flatMap(writeEntry)],
	contents: (events) => events.filter(({ type }) => type === "tool_result").map(({ value }) => value),
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ type: "message", role: entry.role, text: entry.text }];
		case "calls":
			return entry.calls.map(({ id, name }) => ({
				type: "tool_call",
				...present("toolName", name),
				id,
				parameters: { path: "a.txt" },
			}));
		case "results":
			return entry.results.map(({ id, content, isError }) => ({
				type: "tool_result",
				id,
				isError: isError === true,
				...present("value", content),
			}));
	}
}
