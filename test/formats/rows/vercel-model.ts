import { vercelModel } from "../../../src/formats/vercel-model.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image-data", data: "AAAA", mediaType: "image/png" };

type Part = Readonly<Record<string, unknown>>;

export const row: FormatRow = {
	format: vercelModel,
	write: (entries) => entries.map(writeEntry),
	contents: (messages) =>
		messages
			.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []))
			.filter((part) => part.type === "tool-result")
			.map((part) => (part.output as Part).value),
	key: "messages",
	body: { system: "You are an agent.", tools: { ls: { inputSchema: {} } } },
	textsAlone: "none",
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	masksJson: ["an object"],
	flagsErrors: true,
	unknownRole: (role, content) => ({ role, content }),
};

function writeEntry(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: entry.role, content: entry.text };
		case "calls": {
			const content = entry.calls.map(({ id, name }) => ({
				type: "tool-call",
				toolCallId: id,
				toolName: name,
				input: { path: "a.txt" },
			}));
			return { role: "assistant", content };
		}
		case "results": {
			const content = entry.results.map(({ id, content, isError }) => ({
				type: "tool-result",
				toolCallId: id,
				toolName: "read_file",
				output: { type: `${isError ? "error-" : ""}${kindOf(content)}`, value: content },
			}));
			return { role: "tool", content };
		}
	}
}

function kindOf(content: unknown): string {
	if (typeof content === "string") return "text";
	return Array.isArray(content) ? "content" : "json";
}
