import { openaiChat } from "../../../src/formats/openai-chat.ts";
import { resultContents } from "../../support/raw-conversation.ts";
import { writeMessages } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { openShapes, textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };

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
	shapes: [...textPartShapes, ...openShapes],
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, extra: { timestamp: time / 1000 } }),
	flagsErrors: false,
	unknownRole: (role, content) => ({ role, content, id: 3 }),
};
