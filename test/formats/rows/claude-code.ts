import { claudeCode } from "../../../src/formats/claude-code.ts";
import { outputOf } from "../../support/sample-text.ts";
import type { Entry, JsonMessage } from "../../support/script.ts";
import type { FormatRow } from "../format-row.ts";
import { textPartShapes } from "../text-part-shapes.ts";

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };

export const row: FormatRow = {
	format: claudeCode,
	write,
	contents: (records) =>
		records.flatMap(blocksOf).flatMap((block) => (block.type === "tool_result" ? [block.content] : [])),
	key: "messages",
	body: {},
	textsAlone: "certain",
	unknownRecord: { type: "x_note", uuid: "uuid-note", message: { role: "user", content: outputOf("note") } },
	shapes: textPartShapes,
	image: { part: image, beside: (text) => [{ type: "text", text }, image] },
	timed: (record, time) => ({ ...record, timestamp: new Date(time).toISOString() }),
	flagsErrors: true,
};

function blocksOf(record: JsonMessage): JsonMessage[] {
	const { content } = (record.message ?? {}) as JsonMessage;
	return Array.isArray(content) ? content : [];
}

/** Writes as Claude Code does: each call in a record of its own, its result a child of that record, noise between. */
function write(entries: readonly Entry[]): JsonMessage[] {
	const records: JsonMessage[] = [
		{ type: "file-history-snapshot", messageId: "m", snapshot: {}, isSnapshotUpdate: false },
	];
	const recordOfCall = new Map<string | undefined, string>();
	let last: string | null = null;
	const add = (type: string, message: JsonMessage, parentUuid: string | null, more: JsonMessage = {}) => {
		last = `uuid-${records.length}`;
		const session = { isSidechain: false, userType: "external", cwd: "/", sessionId: "s", version: "2.0.0" };
		records.push({ parentUuid, ...session, type, message, uuid: last, ...more });
		return last;
	};
	entries.forEach((entry, position) => {
		const api = { id: `msg-${position}`, type: "message", role: "assistant", model: "some-model" };
		switch (entry.kind) {
			case "text":
				if (entry.role === "assistant") {
					add("assistant", { ...api, content: [{ type: "text", text: entry.text }] }, last);
				} else add("user", { role: "user", content: entry.text }, last);
				break;
			case "calls":
				for (const call of entry.calls) {
					const content = [{ type: "tool_use", ...call, input: { path: "a.txt" } }];
					recordOfCall.set(call.id, add("assistant", { ...api, content }, last));
				}
				records.push({
					type: "progress",
					parentUuid: last,
					uuid: `uuid-${records.length}`,
					data: { type: "hook_progress" },
				});
				break;
			case "results":
				for (const { id, isError, ...kept } of entry.results) {
					const flag = isError === undefined ? {} : { is_error: isError };
					const block = { type: "tool_result", tool_use_id: id, ...kept, ...flag };
					const copy = typeof kept.content === "string" ? { toolUseResult: { stdout: kept.content, stderr: "" } } : {};
					add("user", { role: "user", content: [block] }, recordOfCall.get(id) ?? last, copy);
				}
				break;
		}
	});
	return [...records, { type: "last-prompt", lastPrompt: "Go.", sessionId: "s" }];
}
