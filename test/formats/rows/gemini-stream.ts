import { geminiStream } from "../../../src/formats/event-streams.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

export const row: FormatRow = {
	format: geminiStream,
	write: (entries) => [{ type: "init", session_id: "s", model: "some-model" }, ...entries.flatMap(writeEntry)],
	contents: (events) => events.filter(({ type }) => type === "tool_result").map(({ output }) => output),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [...textPartShapes, ...openShapes],
	joinsAnswers: true,
	timed: (event, time) => ({ ...event, timestamp: new Date(time).toISOString() }),
	flagsErrors: true,
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ type: "message", role: entry.role, content: entry.text }];
		case "calls":
			return entry.calls.map(({ id, name }) => ({
				type: "tool_use",
				...present("tool_name", name),
				tool_id: id,
				parameters: { path: "a.txt" },
			}));
		case "results":
			return entry.results.map(({ id, content, isError }) => ({
				type: "tool_result",
				tool_id: id,
				status: isError ? "error" : "success",
				...present("output", content),
			}));
	}
}
