import { anthropicMessages } from "../../../src/formats/anthropic.ts";
import { resultContents } from "../../support/raw-conversation.ts";
import { writeMessages } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

export const row: FormatRow = {
	format: anthropicMessages,
	write: (entries) => writeMessages("anthropic-messages", entries),
	contents: (messages) => resultContents(messages, "anthropic-messages"),
	key: "messages",
	body: { system: "You are an agent.", tools: [{ name: "ls", input_schema: {} }] },
	textsAlone: "possible",
	shapes: [...textPartShapes, ...openShapes],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, ts: time }),
	flagsErrors: true,
	unknownRole: (role, content) => ({ role, content, id: 3 }),
};
