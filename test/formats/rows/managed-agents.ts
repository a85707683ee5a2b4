import { managedAgents } from "../../../src/formats/anthropic.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

export const row: FormatRow = {
	format: managedAgents,
	write: (entries) => [{ type: "session.status_running", id: "sevt_s" }, ...entries.flatMap(writeEntry)],
	contents: (events) => events.filter(({ type }) => type === "agent.tool_result").map(({ content }) => content),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [
		...textPartShapes,
		{ title: "an object around a long text", content: { stdout: outputOf("one") }, texts: [outputOf("one")] },
	],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	joinsAnswers: true,
	timed: (event, time) => ({ ...event, processed_at: new Date(time).toISOString() }),
	flagsErrors: true,
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text": {
			const type = entry.role === "assistant" ? "agent.message" : "user.message";
			return [{ type, content: [{ type: "text", text: entry.text }] }];
		}
		case "calls":
			return entry.calls.map(({ id, name }) => ({
				type: "agent.tool_use",
				id,
				...present("name", name),
				input: { path: "a.txt" },
			}));
		case "results":
			return entry.results.map(({ id, content, isError }) => ({
				type: "agent.tool_result",
				tool_use_id: id,
				...present("content", content),
				...present("is_error", isError),
			}));
	}
}
