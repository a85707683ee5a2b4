import { openhands } from "../../../src/formats/openhands.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

export const row: FormatRow = {
	format: openhands,
	write: (entries) => entries.flatMap(writeEntry).map((event, id) => ({ id, ...event })),
	contents: (events) => events.filter(({ observation }) => observation === "run").map(({ content }) => content),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [...textPartShapes, ...openShapes].filter(({ title }) => title !== "nothing"),
	joinsAnswers: true,
	timed: (event, time) => ({ ...event, timestamp: new Date(time).toISOString().slice(0, -1) }),
	flagsErrors: true,
	pairsByPosition: true,
	// A pair of which both events were dropped.
	tolerates: [[]],
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text": {
			const source = entry.role === "assistant" ? "agent" : entry.role;
			return [{ source, message: "", action: "message", args: { content: entry.text } }];
		}
		case "calls":
			return entry.calls.map(({ id, name }) => ({
				source: "agent",
				action: "run",
				args: { path: "a.txt" },
				tool_call_metadata: { ...present("tool_call_id", id), ...present("function_name", name) },
			}));
		case "results":
			return entry.results.map(({ id, content, isError }) => ({
				source: "agent",
				observation: "run",
				...present("content", content),
				extras: { command: "ls", ...(typeof content === "string" ? { outputs: content } : {}) },
				...(isError === undefined ? {} : { success: !isError }),
				...(id === undefined ? {} : { tool_call_metadata: { tool_call_id: id } }),
			}));
	}
}
