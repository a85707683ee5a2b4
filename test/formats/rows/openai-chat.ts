import { openaiChat } from "../../../src/formats/openai-chat.ts";
import { resultContents } from "../../support/raw-conversation.ts";
import { outputOf } from "../../support/sample-text.ts";
import { writeMessages } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

/** Parts that programs write into results, without regard to the API. */
const partsOfPrograms = [
	{ text: outputOf("one"), index: 0 },
	{ type: "output_text", text: outputOf("one") },
].map((part) => ({
	title: `a part with a text, of ${part.type ?? "no type"}`,
	content: [part],
	texts: [outputOf("one")],
	masked: (text: unknown) => [{ ...part, text }],
}));

export const row: FormatRow = {
	format: openaiChat,
	write: (entries) => writeMessages("openai-chat", entries),
	contents: (messages) => resultContents(messages, "openai-chat"),
	key: "messages",
	body: {
		system: "As programs keep it.",
		tools: [{ type: "function", function: { name: "ls" } }],
		functions: [{ name: "old" }],
	},
	textsAlone: "possible",
	shapes: [...textPartShapes, ...openShapes, ...partsOfPrograms],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, extra: { timestamp: time / 1000 } }),
	flagsErrors: false,
	unknownRole: (role, content) => ({ role, content, id: 3 }),
};
