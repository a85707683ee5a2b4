import { pydanticAi } from "../../../src/formats/frameworks.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { kind: "binary", data: "AAAA", media_type: "image/png" };

type Part = Readonly<Record<string, unknown>>;

export const row: FormatRow = {
	format: pydanticAi,
	write: (entries) => entries.map(write),
	contents: (messages) =>
		messages
			.flatMap(({ parts }) => parts as readonly Part[])
			.filter(({ part_kind: kind }) => kind === "tool-return")
			.map(({ content }) => content),
	key: "messages",
	body: { tools: [{ name: "ls" }] },
	textsAlone: "certain",
	hasNoTextList: true,
	shapes: [...textPartShapes, ...openShapes.map((shape) => ({ ...shape, masked: (text: unknown) => text }))],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, timestamp: new Date(time).toISOString() }),
	masksJson: ["an object", "a text part without a text"],
	flagsErrors: true,
};

function write(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text": {
			if (entry.role === "assistant") return { parts: [{ content: entry.text, part_kind: "text" }], kind: "response" };
			const part_kind = entry.role === "system" ? "system-prompt" : "user-prompt";
			return { parts: [{ content: entry.text, part_kind }], kind: "request" };
		}
		case "calls": {
			const parts = entry.calls.map(({ id, name }) => ({
				...present("tool_name", name),
				args: '{"path":"a.txt"}',
				tool_call_id: id,
				part_kind: "tool-call",
			}));
			return { parts, kind: "response" };
		}
		case "results": {
			const parts = entry.results.map(({ id, content, isError }) => ({
				tool_name: "read_file",
				...present("content", content),
				tool_call_id: id,
				part_kind: "tool-return",
				...(isError === undefined ? {} : { outcome: isError ? "failed" : "success" }),
			}));
			return { parts, kind: "request" };
		}
	}
}
