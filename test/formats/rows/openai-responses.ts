import { openaiResponses } from "../../../src/formats/openai-responses.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

const image = { type: "input_image", detail: "auto", image_url: "data:image/png;base64,AAAA" };
const parts = [
	{ type: "input_text", text: outputOf("one"), x: 1 },
	{ type: "input_text", text: outputOf("two") },
];

export const row: FormatRow = {
	format: openaiResponses,
	write: (entries) => entries.flatMap(writeItems),
	contents: (items) => items.filter(({ type }) => type === "function_call_output").map(({ output }) => output),
	key: "input",
	body: {
		instructions: "You are an agent.",
		system: "As programs keep it.",
		tools: [{ type: "function", name: "ls" }],
	},
	textsAlone: "certain",
	shapes: [
		{
			title: "a list of texts",
			content: parts,
			texts: [outputOf("one"), outputOf("two")],
			masked: (text) => [{ ...parts[0], text }],
		},
		{ title: "null", content: null, texts: [] },
		{ title: "nothing", content: undefined, texts: [] },
		{ title: "an empty list", content: [], texts: [] },
		{ title: "an object", content: { stdout: "x" }, texts: [] },
		{ title: "a number", content: 42, texts: [] },
		{ title: "a part without a text", content: [{ type: "input_text" }], texts: [] },
	],
	image: { part: image, beside: (text) => [{ type: "input_text", text }, image] },
	joinsAnswers: true,
	flagsErrors: false,
	unknownRole: (role, content) => ({ role, content }),
};

function writeItems(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text": {
			const type = entry.role === "assistant" ? "output_text" : "input_text";
			return [{ type: "message", role: entry.role, content: [{ type, text: entry.text }] }];
		}
		case "calls":
			return entry.calls.map(({ id, name }) => ({
				type: "function_call",
				...present("call_id", id),
				...present("name", name),
				arguments: '{"path":"a.txt"}',
			}));
		case "results":
			return entry.results.map(({ id, content }) => ({
				type: "function_call_output",
				...present("call_id", id),
				...present("output", content),
			}));
	}
}
