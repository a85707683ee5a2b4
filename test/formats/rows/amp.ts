import { amp } from "../../../src/formats/amp.ts";
import { outputOf } from "../../support/sample-text.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", data: "AAAA", mimeType: "image/png" };

export const row: FormatRow = {
	format: amp,
	write: (entries) => entries.map((entry, index) => ({ ...write(entry), messageId: index })),
	contents: (messages) =>
		messages
			.flatMap(({ content }) => content as JsonMessage[])
			.filter(({ type }) => type === "tool_result")
			.map(({ run }) => (run as JsonMessage).result),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [
		...textPartShapes.filter(({ title }) => title !== "an object"),
		{
			title: "an object with its text in `output`",
			content: { output: outputOf("one"), exitCode: 0 },
			texts: [outputOf("one")],
			masked: (text) => ({ output: text, exitCode: 0 }),
		},
		{ title: "an object without a text", content: { exitCode: 0 }, texts: [] },
	],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, meta: { sentAt: time } }),
	flagsErrors: true,
	unknownRole: (role, text) => ({ role, messageId: 99, content: [{ type: "text", text }] }),
};

function write(entry: Entry): JsonMessage {
	switch (entry.kind) {
		case "text":
			return { role: entry.role, content: [{ type: "text", text: entry.text }] };
		case "calls": {
			const content = entry.calls.map((call) => ({
				type: "tool_use",
				...call,
				input: { path: "a.txt" },
				complete: true,
			}));
			return { role: "assistant", content, state: { type: "complete", stopReason: "tool_use" } };
		}
		case "results": {
			const content = entry.results.map(({ id, content: result, isError }) => ({
				type: "tool_result",
				toolUseID: id,
				run: { status: isError ? "error" : "done", ...present("result", result) },
			}));
			return { role: "user", content };
		}
	}
}
