import { mcpSampling } from "../../../src/formats/anthropic.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

type Block = Readonly<Record<string, unknown>>;

export const row: FormatRow = {
	format: mcpSampling,
	write: (entries) => entries.map(writeEntry),
	contents: (messages) =>
		messages
			.flatMap(({ content }) => (Array.isArray(content) ? (content as Block[]) : []))
			.filter((block) => block.type === "tool_result")
			.map((block) => block.content),
	key: "messages",
	body: { systemPrompt: "You are an agent.", tools: [{ name: "ls", inputSchema: {} }] },
	textsAlone: "certain",
	hasNoTextList: true,
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	flagsErrors: true,
	unknownRole: (role, text) => ({ role, content: { type: "text", text } }),
};

function writeEntry(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: entry.role, content: { type: "text", text: entry.text } };
		case "calls": {
			const content = entry.calls.map((call) => ({ type: "tool_use", ...call, input: { path: "a.txt" } }));
			return { role: "assistant", content };
		}
		case "results": {
			const content = entry.results.map(({ id, ...result }) => ({ type: "tool_result", toolUseId: id, ...result }));
			return { role: "user", content };
		}
	}
}
