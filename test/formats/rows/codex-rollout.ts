import { codexRollout } from "../../../src/formats/codex.ts";
import { outputOf } from "../../support/sample-text.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { ContentShape, FormatRow } from "../format-row.ts";

const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
const parts = [
	{ type: "input_text", text: outputOf("one"), x: 1 },
	{ type: "input_text", text: outputOf("two"), y: 2 },
];

const shapes: readonly ContentShape[] = [
	{
		title: "a list of texts",
		content: parts,
		texts: [outputOf("one"), outputOf("two")],
		masked: (text) => [{ ...parts[0], text }],
	},
	{
		title: "an object around a text",
		content: { content: outputOf("inner"), success: true },
		texts: [outputOf("inner")],
		masked: (text) => ({ content: text, success: true }),
	},
	{ title: "null", content: null, texts: [] },
	{ title: "nothing", content: undefined, texts: [] },
	{ title: "an empty list", content: [], texts: [] },
	{ title: "an object", content: { stdout: "x" }, texts: [] },
	{ title: "a number", content: 42, texts: [] },
];

const record = (type: string, payload: JsonMessage) => ({ timestamp: "2026-01-01T00:00:00.000Z", type, payload });

export const row: FormatRow = {
	format: codexRollout,
	write: (entries) => [record("session_meta", { id: "s", cwd: "/", cli_version: "1.0.0" }), ...entries.flatMap(write)],
	contents: (records) =>
		records
			.map(({ payload }) => (payload ?? {}) as JsonMessage)
			.flatMap(({ type, output }) => (type === "function_call_output" ? [output] : [])),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes,
	image: { part: image, beside: (text) => [{ type: "input_text", text }, image] },
	joinsAnswers: true,
	timed: (record, time) => ({ ...record, timestamp: new Date(time).toISOString() }),
	flagsErrors: true,
	unknownRole: (role, content) => record("response_item", { type: "message", role, content }),
};

function write(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text": {
			const type = entry.role === "assistant" ? "output_text" : "input_text";
			const content = [{ type, text: entry.text }];
			return [record("response_item", { type: "message", role: entry.role, content })];
		}
		case "calls":
			return [
				record("response_item", { type: "reasoning", summary: [], encrypted_content: "AAAA" }),
				...entry.calls.map(({ id, name }) =>
					record("response_item", { type: "function_call", call_id: id, name, arguments: '{"path":"a.txt"}' }),
				),
				record("event_msg", { type: "token_count", info: null }),
			];
		case "results":
			return entry.results.flatMap(({ id, content, isError }) => [
				...(isError === undefined
					? []
					: [
							record("event_msg", {
								type: "exec_command_end",
								call_id: id,
								stdout: content,
								exit_code: Number(isError),
							}),
						]),
				record("response_item", { type: "function_call_output", call_id: id, output: content }),
			]);
	}
}
