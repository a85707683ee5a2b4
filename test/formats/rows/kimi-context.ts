import { kimiContext } from "../../../src/formats/openai-chat.ts";
import { resultContents } from "../../support/raw-conversation.ts";
import { writeMessages } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", id: null } };

export const row: FormatRow = {
	format: kimiContext,
	write: (entries) => [
		{ role: "_checkpoint", id: 0 },
		...entries.flatMap((entry, index) => {
			const between = [
				{ role: "_usage", token_count: index * 100 },
				{ role: "_checkpoint", id: index },
			];
			return [...writeMessages("openai-chat", [entry]), ...(entry.kind === "calls" ? [] : between)];
		}),
	],
	contents: (messages) => resultContents(messages, "openai-chat"),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (message, time) => ({ ...message, extra: { timestamp: time / 1000 } }),
	flagsErrors: false,
	unknownRole: (role, content) => ({ role, content, id: 3 }),
};
