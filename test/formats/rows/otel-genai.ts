import { otelGenai } from "../../../src/formats/otel-genai.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

export const row: FormatRow = {
	format: otelGenai,
	write: (entries) => entries.map(write),
	contents: (messages) =>
		messages
			.flatMap(({ parts }) => parts as JsonMessage[])
			.filter(({ type }) => type === "tool_call_response")
			.map(({ response }) => response),
	key: "messages",
	body: { "gen_ai.system_instructions": [{ type: "text", content: "You are an agent." }] },
	textsAlone: "certain",
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	masksJson: ["an object", "a text part without a text"],
	flagsErrors: true,
	pairsByPosition: true,
	unknownRole: (role, content) => ({ role, parts: [{ type: "text", content }] }),
};

function write(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: entry.role, parts: [{ type: "text", content: entry.text }] };
		case "calls": {
			const parts = entry.calls.map((call) => ({ type: "tool_call", ...call, arguments: { path: "a.txt" } }));
			return { role: "assistant", parts, finish_reason: "tool_call" };
		}
		case "results": {
			const parts = entry.results.map(({ id, content, isError }) => ({
				type: "tool_call_response",
				id,
				...present("response", content),
				...present("is_error", isError),
			}));
			return { role: "tool", parts };
		}
	}
}
