import { openaiAgents } from "../../../src/formats/frameworks.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

const image = { type: "input_image", detail: "auto", image_url: "data:image/png;base64,AAAA" };
const parts = [
	{ type: "input_text", text: outputOf("one"), x: 1 },
	{ type: "input_text", text: outputOf("two") },
];

type Held = { readonly type: string; readonly output?: unknown };

export const row: FormatRow = {
	format: openaiAgents,
	write: (entries) => entries.flatMap(writeItems),
	contents: (items) =>
		items
			.map(({ raw_item: item }) => (item ?? {}) as Held)
			.filter(({ type }) => type === "function_call_output")
			.map(({ output }) => output),
	key: "messages",
	body: { originalInput: "Go." },
	textsAlone: "certain",
	hasNoTextList: true,
	shapes: [
		{
			title: "a list of texts",
			content: parts,
			texts: [outputOf("one"), outputOf("two")],
			masked: (text) => [{ ...parts[0], text }],
		},
		{
			title: "a text part",
			content: { type: "text", text: outputOf("one") },
			texts: [outputOf("one")],
			masked: (text) => ({ type: "text", text }),
		},
		{ title: "null", content: null, texts: [] },
		{ title: "an empty list", content: [], texts: [] },
		{ title: "an object", content: { stdout: "x" }, texts: [] },
	],
	image: { part: image, beside: (text) => [{ type: "input_text", text }, image] },
	joinsAnswers: true,
	flagsErrors: false,
};

function writeItems(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text": {
			const type = entry.role === "assistant" ? "output_text" : "input_text";
			const item = { type: "message", role: entry.role, content: [{ type, text: entry.text }] };
			return [{ type: "message_output_item", raw_item: item }];
		}
		case "calls":
			return entry.calls.map(({ id, name }) => ({
				type: "tool_call_item",
				raw_item: {
					type: "function_call",
					...present("call_id", id),
					...present("name", name),
					arguments: '{"path":"a.txt"}',
				},
			}));
		case "results":
			return entry.results.map(({ id, content }) => ({
				type: "tool_call_output_item",
				raw_item: { type: "function_call_output", ...present("call_id", id), ...present("output", content) },
				...(typeof content === "string" ? { output: content } : {}),
			}));
	}
}
