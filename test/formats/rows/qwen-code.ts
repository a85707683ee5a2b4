import { qwenCode } from "../../../src/formats/qwen-code.ts";
import type { JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { row as gemini } from "./gemini.ts";

const types: Readonly<Record<string, string>> = { model: "assistant" };

const { unknownRole, pairsByPosition, ...shared } = gemini;

export const row: FormatRow = {
	...shared,
	format: qwenCode,
	write: (entries) => {
		const records = gemini.write(entries).map((message, index) => {
			const role = String(message.role);
			const type = entries[index]?.kind === "results" ? "tool_result" : (types[role] ?? role);
			return { type, uuid: `e${index + 1}`, parentUuid: `e${index}`, sessionId: "s", message };
		});
		return [{ type: "system", subtype: "ui_telemetry", uuid: "e0", parentUuid: null, sessionId: "s" }, ...records];
	},
	contents: (records) => gemini.contents(records.flatMap(({ message }) => (message ? [message as JsonMessage] : []))),
	key: "messages",
	body: {},
	textsAlone: "certain",
	timed: (record, time) => ({ ...record, timestamp: new Date(time).toISOString() }),
};
