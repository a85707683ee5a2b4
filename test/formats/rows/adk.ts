import { adk } from "../../../src/formats/wrapped.ts";
import type { JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { row as gemini } from "./gemini.ts";

const wrap = (content: JsonMessage, index: number): JsonMessage => ({
	id: `e${index}`,
	invocationId: "e-1",
	author: content.role === "model" ? "agent" : "user",
	actions: { stateDelta: {} },
	content,
});

/** Events of Google ADK around contents of Gemini. */
export const row: FormatRow = {
	...gemini,
	format: adk,
	write: (entries) => gemini.write(entries).map(wrap),
	contents: (events) => gemini.contents(events.map(({ content }) => content as JsonMessage)),
	key: "messages",
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	timed: (event, time) => ({ ...event, timestamp: time / 1000 }),
	unknownRole: (role, text) => wrap({ role, parts: [{ text }] }, 99),
};
