import { vscodeChat } from "../../../src/formats/vscode-chat.ts";
import { outputOf } from "../../support/sample-text.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

const image = { $mid: 24, mimeType: "image/png", data: "AAAA" };
const leaf = (text: unknown) => ({ type: 2, text, lineBreakBefore: false });
const tree = {
	$mid: 23,
	value: { node: { type: 1, children: [leaf(outputOf("one")), { type: 1, children: [leaf(outputOf("two"))] }] } },
};

type Results = Record<string, { content?: unknown; isError?: boolean }>;

/** Each call of the model is a request of its own; what answers a call is written beside its round. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const all: Results[] = [];
	return entries.flatMap((entry, index): JsonMessage[] => {
		const requestId = `request_${index}`;
		if (entry.kind === "text") {
			if (entry.role === "assistant") return [{ requestId, response: [{ value: entry.text }] }];
			const parts = [{ text: entry.text, kind: "text" }];
			return [{ requestId, message: { text: entry.text, parts }, response: [] }];
		}
		if (entry.kind === "results") {
			for (const { id, content, isError } of entry.results) {
				const results = all.findLast((one) => Object.hasOwn(one, String(id)));
				const given = typeof content === "string" ? [{ $mid: 21, value: content }] : content;
				if (results) results[String(id)] = { content: given, ...(isError === undefined ? {} : { isError }) };
			}
			return [];
		}
		const toolCalls = entry.calls.map((call) => ({ ...call, arguments: '{"path":"a.txt"}' }));
		const toolCallResults = Object.fromEntries(toolCalls.map(({ id }) => [id, undefined as never])) as Results;
		all.push(toolCallResults);
		const metadata = { toolCallRounds: [{ response: "", toolCalls }], toolCallResults };
		return [{ requestId, response: [], result: { metadata } }];
	});
}

export const row: FormatRow = {
	format: vscodeChat,
	write,
	contents: (requests) =>
		requests.flatMap(({ result }) => {
			const { metadata } = (result ?? {}) as { metadata?: { toolCallResults: Results } };
			return Object.values(metadata?.toolCallResults ?? {}).map((one) => {
				const parts = one?.content as { value?: unknown }[] | undefined;
				const [first, ...others] = Array.isArray(parts) ? parts : [];
				return others.length === 0 && typeof first?.value === "string" ? first.value : parts;
			});
		}),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [
		{
			title: "a tree of nodes",
			content: [tree],
			texts: [outputOf("one"), outputOf("two")],
			// VS Code reads the value of this part as a tree.
			masked: (text) => [{ ...tree, value: { node: { type: 1, children: [leaf(text)] } } }],
		},
		{ title: "null", content: null, texts: [] },
		{ title: "an empty list", content: [], texts: [] },
	],
	image: { part: image, beside: (text) => [{ $mid: 21, value: text }, image] },
	timed: (request, time) => ({ ...request, timestamp: time }),
	flagsErrors: true,
	resultsStandInCalls: true,
};
