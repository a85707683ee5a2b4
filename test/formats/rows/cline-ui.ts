import { clineUi } from "../../../src/formats/cline-ui.ts";
import { type Entry, type JsonMessage, present } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";

/** Calls and results have no ids: what a call printed stands right behind it. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const records: Record<string, unknown>[] = [];
	const callOf = new Map<unknown, object>();
	for (const entry of entries) {
		if (entry.kind === "text") {
			const kind = entry.role === "assistant" ? "text" : "user_feedback";
			if (kind === "text") records.push({ type: "say", say: "api_req_started", text: "{}" });
			records.push({ type: "say", say: kind, text: entry.text });
		} else if (entry.kind === "calls") {
			records.push({ type: "say", say: "api_req_started", text: "{}" });
			for (const { id, name } of entry.calls) {
				const text = JSON.stringify({
					type: "use_mcp_tool",
					serverName: "s",
					toolName: name,
					arguments: { path: "a.txt" },
				});
				const record = { type: "ask", ask: "use_mcp_server", text };
				callOf.set(id, record);
				records.push(record);
			}
		} else {
			for (const { id, content } of entry.results) {
				const at = records.indexOf(callOf.get(id) as Record<string, unknown>);
				if (at === -1) continue;
				records.splice(at + 1, 0, { type: "say", say: "mcp_server_response", ...present("text", content) });
			}
		}
	}
	return records;
}

export const row: FormatRow = {
	format: clineUi,
	write,
	contents: (records) => records.filter(({ say }) => say === "mcp_server_response").map(({ text }) => text),
	key: "messages",
	body: {},
	hasNoBlocks: true,
	textsAlone: "certain",
	isOfProgram: true,
	shapes: [],
	joinsAnswers: true,
	timed: (record, time) => ({ ...record, ts: time }),
	flagsErrors: false,
	resultsStandInCalls: true,
};
