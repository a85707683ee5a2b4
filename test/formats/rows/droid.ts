import { droid } from "../../../src/formats/wrapped.ts";
import { outputOf } from "../../support/sample-text.ts";
import type { JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { row as anthropic } from "./anthropic-messages.ts";

const { unknownRole: _, ...withoutRoles } = anthropic;

const wrap = (message: JsonMessage, index: number): JsonMessage => ({
	type: "message",
	id: `r${index}`,
	parentId: index === 0 ? null : `r${index - 1}`,
	message,
});

/** Records of Factory Droid around messages of the Messages API. */
export const row: FormatRow = {
	...withoutRoles,
	format: droid,
	write: (entries) => [
		{ type: "session_start", id: "s", title: "Files", cwd: "/work" },
		...anthropic.write(entries).map(wrap),
	],
	contents: (records) =>
		anthropic.contents(records.flatMap(({ message }) => (message ? [message as JsonMessage] : []))),
	body: {},
	textsAlone: "certain",
	isOfProgram: true,
	timed: (record, time) => ({ ...record, timestamp: new Date(time).toISOString() }),
	unknownRecord: { type: "x_note", id: "id-note", message: { role: "user", content: outputOf("note") } },
};
