import { gemini } from "../../../src/formats/gemini.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };
const roles: Readonly<Record<string, string>> = { assistant: "model" };

export const row: FormatRow = {
	format: gemini,
	write(entries) {
		const names = new Map<string | undefined, string | undefined>();
		return entries.map((entry) => writeContent(entry, names));
	},
	contents: (messages) =>
		messages.flatMap(({ parts }) =>
			(parts as JsonMessage[]).flatMap(({ functionResponse }) =>
				functionResponse ? [contentOf(functionResponse as JsonMessage)] : [],
			),
		),
	key: "contents",
	body: { systemInstruction: { parts: [{ text: "You are an agent." }] }, tools: [{ functionDeclarations: [] }] },
	textsAlone: "certain",
	shapes: [
		{
			title: "an object around a text",
			content: { result: outputOf("one") },
			texts: [outputOf("one")],
			masked: (text) => ({ result: text }),
		},
		{
			title: "a failure",
			content: { error: "No such file." },
			texts: ["No such file."],
			masked: () => ({ error: "No such file." }),
		},
		{ title: "null", content: null, texts: [] },
		{ title: "nothing", content: undefined, texts: [] },
		{ title: "an empty object", content: {}, texts: [] },
		{ title: "an object of several members", content: { stdout: "x", code: 0 }, texts: [] },
		{ title: "an object around an object", content: { output: { stdout: "x" } }, texts: [] },
		{
			title: "a long text among others",
			content: { stdout: outputOf("one"), code: 0 },
			texts: [outputOf("one")],
			masked: (text) => text,
		},
	],
	image: { part: image, beside: (text) => ({ response: { output: text }, parts: [image] }) },
	masksJson: ["an object of several members", "an object around an object"],
	flagsErrors: true,
	pairsByPosition: true,
	unknownRole: (role, text) => ({ role, parts: [{ text }] }),
};

function writeContent(entry: Entry, names: Map<string | undefined, string | undefined>): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: roles[entry.role] ?? entry.role, parts: [{ text: entry.text }] };
		case "calls": {
			for (const { id, name } of entry.calls) names.set(id, name);
			const parts = entry.calls.map(({ id, name }) => ({
				functionCall: { ...present("id", id), ...present("name", name), args: { path: "a.txt" } },
			}));
			return { role: "model", parts };
		}
		case "results": {
			const parts = entry.results.map(({ id, content, isError }) => ({
				functionResponse: {
					...present("id", id),
					...present("name", names.get(id)),
					...responseOf(content, isError === true),
				},
			}));
			return { role: "user", parts };
		}
	}
}

/** A text goes under the API's own key; what has media comes with the parts that hold them. */
function responseOf(content: unknown, isError: boolean): JsonMessage {
	if (typeof content === "string") return { response: { [isError ? "error" : "output"]: content } };
	if (typeof content === "object" && content !== null && "parts" in content) return content as JsonMessage;
	return present("response", content);
}

function contentOf({ response, parts }: JsonMessage): unknown {
	if (parts) return { response, parts };
	const output = (response as JsonMessage | undefined | null)?.output;
	return typeof output === "string" ? output : response;
}
