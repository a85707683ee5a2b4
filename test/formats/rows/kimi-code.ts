import { kimiCode } from "../../../src/formats/kimi-code.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image_url", imageUrl: { url: "data:image/png;base64,AAAA" } };

const loopEvent = (event: JsonMessage): JsonMessage => ({ type: "context.append_loop_event", event });

/** Records of Kimi Code. A step with calls ends after its results. */
export const row: FormatRow = {
	format: kimiCode,
	write: (entries) => [{ type: "metadata", protocol_version: "1.4", created_at: 1 }, ...entries.flatMap(writeEntry)],
	contents: (records) =>
		records
			.map(({ event }) => (event ?? {}) as JsonMessage)
			.filter(({ type }) => type === "tool.result")
			.map(({ result }) => (result as JsonMessage).output),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	joinsAnswers: true,
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (record, time) => ({ ...record, time }),
	flagsErrors: true,
	unknownRole: (role, text) => ({
		type: "context.append_message",
		message: { role, content: [{ type: "text", text }], toolCalls: [] },
	}),
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text": {
			const content = typeof entry.text === "string" ? [{ type: "text", text: entry.text }] : entry.text;
			return [{ type: "context.append_message", message: { role: entry.role, content, toolCalls: [] } }];
		}
		case "calls":
			return [
				loopEvent({ type: "step.begin", uuid: "u" }),
				...entry.calls.map(({ id, name }) =>
					loopEvent({
						type: "tool.call",
						stepUuid: "u",
						toolCallId: id,
						...present("name", name),
						args: { path: "a.txt" },
					}),
				),
			];
		case "results":
			return entry.results.map(({ id, content, isError }) =>
				loopEvent({
					type: "tool.result",
					toolCallId: id,
					result: { ...present("output", content), ...present("isError", isError) },
				}),
			);
	}
}
