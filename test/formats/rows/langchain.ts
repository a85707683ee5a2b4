import { langchain } from "../../../src/formats/frameworks.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", source_type: "base64", data: "AAAA", mime_type: "image/png" };

export const row: FormatRow = {
	format: langchain,
	write: (entries) => entries.flatMap(writeEntry),
	contents: (messages) => messages.filter(({ type }) => type === "tool").map(({ content }) => content),
	key: "messages",
	body: { tools: [{ name: "ls" }] },
	textsAlone: "certain",
	shapes: [...textPartShapes, ...openShapes],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	flagsErrors: true,
	unknownRole: (type, content) => ({ type, content }),
};

const types: Readonly<Record<string, string>> = { user: "human", assistant: "ai" };

function writeEntry(entry: Entry): JsonMessage[] {
	const frame = { additional_kwargs: {}, response_metadata: {} };
	switch (entry.kind) {
		case "text":
			return [{ content: entry.text, ...frame, type: types[entry.role] ?? entry.role, name: null }];
		case "calls": {
			const calls = entry.calls.map((call) => ({ ...call, args: { path: "a.txt" }, type: "tool_call" }));
			return [{ content: "", ...frame, type: "ai", tool_calls: calls, invalid_tool_calls: [] }];
		}
		case "results":
			return entry.results.map(({ id, content, isError }) => ({
				...present("content", content),
				...frame,
				type: "tool",
				...present("tool_call_id", id),
				status: isError ? "error" : "success",
			}));
	}
}
