import { bedrockConverse } from "../../../src/formats/bedrock.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

const image = { image: { format: "png", source: { bytes: "AAAA" } } };
const blocks = [{ text: outputOf("one"), x: 1 }, { text: outputOf("two") }];

export const row: FormatRow = {
	format: bedrockConverse,
	write: (entries) => entries.map(writeMessage),
	contents: (messages) =>
		messages.flatMap(({ content }) =>
			(content as JsonMessage[]).flatMap(({ toolResult }) =>
				toolResult ? [textOrBlocks((toolResult as JsonMessage).content)] : [],
			),
		),
	key: "messages",
	body: { system: [{ text: "You are an agent." }], toolConfig: { tools: [] } },
	textsAlone: "certain",
	shapes: [
		{
			title: "a list of texts",
			content: blocks,
			texts: [outputOf("one"), outputOf("two")],
			masked: (text) => [{ ...blocks[0], text }],
		},
		{
			title: "JSON around a text",
			content: [{ json: { result: outputOf("one") } }],
			texts: [outputOf("one")],
			masked: (text) => [{ json: { result: text } }],
		},
		{ title: "null", content: null, texts: [] },
		{ title: "nothing", content: undefined, texts: [] },
		{ title: "an empty list", content: [], texts: [] },
		{ title: "JSON of several members", content: [{ json: { stdout: "x", code: 0 } }], texts: [] },
		{
			title: "JSON beside a text",
			content: [{ text: "x" }, { json: { output: outputOf("one") } }],
			texts: ["x", outputOf("one")],
			masked: (text) => text,
		},
	],
	image: { part: image, beside: (text) => [{ text }, image] },
	masksJson: ["JSON of several members"],
	flagsErrors: true,
	unknownRole: (role, text) => ({ role, content: [{ text }] }),
};

function writeMessage(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: entry.role, content: [{ text: entry.text }] };
		case "calls": {
			const content = entry.calls.map(({ id, name }) => ({
				toolUse: { ...present("toolUseId", id), ...present("name", name), input: { path: "a.txt" } },
			}));
			return { role: "assistant", content };
		}
		case "results": {
			const content = entry.results.map((result) => ({
				toolResult: {
					...present("toolUseId", result.id),
					...present("content", typeof result.content === "string" ? [{ text: result.content }] : result.content),
					...present("status", result.isError === undefined ? undefined : result.isError ? "error" : "success"),
				},
			}));
			return { role: "user", content };
		}
	}
}

/** A list of one text as the string that it was written from. */
function textOrBlocks(content: unknown): unknown {
	const [first, ...others] = Array.isArray(content) ? (content as JsonMessage[]) : [];
	const isString = first !== undefined && others.length === 0 && Object.keys(first).join() === "text";
	return isString ? first.text : content;
}
