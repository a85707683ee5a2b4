import type { Fit, Format, LocatedMessages } from "../format.ts";
import { isJsonObject, stringAt } from "../json-values.ts";
import { findCompaction, isSent, type OpencodeRecord } from "./opencode-history.ts";
import { readOpencodeRecord } from "./opencode-record.ts";
import { writeOpencode } from "./write-opencode.ts";

/**
 * opencode's sessions as `opencode export` writes them and its plugins see them: `{info, parts}` for each message, a
 * call and its result in one part. Failed messages are left alone; those before a compaction are no longer sent. `parentID` names the user message that is answered, not the record before, so nothing is
 * tied anew when records are dropped.
 */
export const opencode: Format = {
	name: "opencode",
	title: "opencode session",
	looksFor: "opencode session (messages of `info` with a `role`, and `parts`)",
	probe,
	read({ messages, base }) {
		const records = messages as readonly OpencodeRecord[];
		const { first, summary } = findCompaction(records);
		const lastUser = records.findLastIndex(({ info }) => info.role === "user");
		const system = stringAt(records[lastUser]?.info ?? {}, "system");
		return {
			format: "opencode",
			messages: records.flatMap((record, index) => {
				if (!isSent(record)) return [];
				const read = readOpencodeRecord(record, [...base, index], { isSummary: summary.has(index) });
				return index >= first ? read : read.map((message) => ({ ...message, sent: false }));
			}),
			// The newest user message carries the system prompt of the call.
			surroundings: system === undefined ? [] : [system],
			opensWithUser: false,
		};
	},
	write: { message: writeOpencode, appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	for (const [message, record] of messages.entries()) {
		const expected = misfit(record);
		if (expected !== undefined) return { fit: "none", message, expected };
	}
	return messages.length > 0 ? { fit: "certain" } : { fit: "none", message: 0, expected: "at least one message" };
}

/** What a record should have been; `undefined` where it fits. */
function misfit(record: unknown): string | undefined {
	if (!isJsonObject(record) || !Object.hasOwn(record, "info") || !isJsonObject(record.info))
		return "an object with `info`";
	if (stringAt(record.info, "role") === undefined) return "`info` with a string `role`";
	if (!Object.hasOwn(record, "parts") || !Array.isArray(record.parts)) return "`parts` as a list";
	const isPart = (part: unknown) => isJsonObject(part) && stringAt(part, "type") !== undefined;
	return record.parts.every(isPart) ? undefined : "`parts` that have a `type`";
}
