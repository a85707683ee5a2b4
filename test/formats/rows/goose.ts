import { goose } from "../../../src/formats/goose.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

type Part = { readonly type: string; readonly toolResult?: { value?: unknown; error?: unknown } };

export const row: FormatRow = {
	format: goose,
	write: (entries) => entries.map(write),
	contents: (messages) =>
		messages
			.flatMap(({ content }) => content as readonly Part[])
			.filter(({ type }) => type === "toolResponse")
			.map(({ toolResult }) => toolResult?.value ?? toolResult?.error),
	key: "messages",
	body: {},
	textsAlone: "none",
	isOfProgram: true,
	alsoFits: ["openai-chat", "anthropic-messages", "mcp-sampling", "ollama"],
	shapes: [...textPartShapes, ...openShapes].filter(({ title }) => title !== "null"),
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, created: time / 1000 }),
	flagsErrors: true,
	unknownRole: (role, text) => ({ role, content: [{ type: "text", text }] }),
};

function write(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: entry.role, content: [{ type: "text", text: entry.text }] };
		case "calls": {
			const content = entry.calls.map(({ id, name }) => ({
				type: "toolRequest",
				id,
				toolCall: { status: "success", value: { ...present("name", name), arguments: { path: "a.txt" } } },
			}));
			return { role: "assistant", content };
		}
		case "results": {
			const content = entry.results.map(({ id, content: value, isError }) => ({
				type: "toolResponse",
				id,
				toolResult: isError ? { status: "error", error: value } : { status: "success", ...present("value", value) },
			}));
			return { role: "user", content };
		}
	}
}
