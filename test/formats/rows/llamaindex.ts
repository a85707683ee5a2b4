import { llamaIndex } from "../../../src/formats/agent-frameworks.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

interface Options {
	readonly toolResult?: JsonMessage;
}

/** Messages of LlamaIndex for TypeScript. */
export const row: FormatRow = {
	format: llamaIndex,
	write: (entries) => entries.flatMap(writeEntry),
	contents: (messages) =>
		messages.flatMap(({ options }) => {
			const { toolResult } = (options ?? {}) as Options;
			return toolResult ? [toolResult.result] : [];
		}),
	key: "messages",
	body: {},
	textsAlone: "none",
	alsoFits: ["openai-chat", "anthropic-messages"],
	isOfProgram: true,
	shapes: [...textPartShapes, ...openShapes],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	flagsErrors: true,
	unknownRole: (role, content) => ({ role, content }),
};

function writeEntry(entry: Entry): JsonMessage[] {
	switch (entry.kind) {
		case "text":
			return [{ role: entry.role, content: entry.text }];
		case "calls": {
			const toolCall = entry.calls.map(({ id, name }) => ({ id, ...present("name", name), input: { path: "a.txt" } }));
			return [{ role: "assistant", content: "", options: { toolCall } }];
		}
		case "results":
			return entry.results.map(({ id, content, isError }) => ({
				role: "user",
				content: "",
				options: { toolResult: { id, ...present("result", content), isError: isError === true } },
			}));
	}
}
