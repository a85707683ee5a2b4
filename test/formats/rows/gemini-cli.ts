import { geminiCli } from "../../../src/formats/gemini-cli.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

const image = { inlineData: { mimeType: "image/png", data: "AAAA" } };

type Call = Record<string, unknown>;

/** A call and its result are one value of the message. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const calls: Call[] = [];
	return entries.flatMap((entry, index): JsonMessage[] => {
		const frame = { id: `m${index}` };
		if (entry.kind === "text") {
			return [{ ...frame, type: entry.role === "assistant" ? "gemini" : entry.role, content: entry.text }];
		}
		if (entry.kind === "calls") {
			const toolCalls = entry.calls.map(({ id, name }): Call => ({ id, name, args: { path: "a.txt" } }));
			calls.push(...toolCalls);
			return [{ ...frame, type: "gemini", content: "", toolCalls, thoughts: [] }];
		}
		for (const { id, content, isError } of entry.results) {
			const call = calls.findLast((one) => one.id === id);
			if (!call) continue;
			const { response, others } = responseOf(content);
			const functionResponse = { id, name: call.name, ...present("response", response) };
			call.result = [{ functionResponse }, ...others];
			call.status = isError ? "error" : "success";
			if (typeof content === "string") call.resultDisplay = content;
		}
		return [];
	});
}

function responseOf(content: unknown): { response: unknown; others: readonly unknown[] } {
	if (typeof content === "string") return { response: { output: content }, others: [] };
	if (typeof content === "object" && content !== null && "beside" in content) {
		return { response: { output: content.beside }, others: [(content as { image?: unknown }).image] };
	}
	return { response: content, others: [] };
}

export const row: FormatRow = {
	format: geminiCli,
	write,
	contents: (messages) =>
		messages
			.flatMap(({ toolCalls }) => (Array.isArray(toolCalls) ? (toolCalls as Call[]) : []))
			.map(({ result }) => {
				const [first, second] = (result ?? []) as { functionResponse: { response?: unknown } }[];
				const response = first?.functionResponse.response;
				const output = (response as JsonMessage | undefined | null)?.output;
				if (second) return { beside: output, image: second };
				return typeof output === "string" ? output : response;
			}),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [
		{
			title: "an object around a text",
			content: { result: outputOf("one") },
			texts: [outputOf("one")],
			masked: (text) => ({ result: text }),
		},
		{ title: "null", content: null, texts: [] },
		{ title: "nothing", content: undefined, texts: [] },
		{ title: "an object of several members", content: { stdout: "x", code: 0 }, texts: [] },
		{
			title: "a long text among others",
			content: { stdout: outputOf("one"), code: 0 },
			texts: [outputOf("one")],
			masked: (text) => text,
		},
	],
	image: { part: image, beside: (text) => ({ beside: text, image }) },
	timed: (record, time) => ({ ...record, timestamp: new Date(time).toISOString() }),
	masksJson: ["an object of several members"],
	flagsErrors: true,
	resultsStandInCalls: true,
};
