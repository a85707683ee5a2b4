import type { Fit, Format, LocatedMessages } from "../format.ts";
import { isJsonObject, stringAt } from "../json-values.ts";
import { replayRollout } from "./codex-history.ts";
import { readCodexItems } from "./codex-items.ts";
import { writeCodex } from "./write-codex.ts";

/** Types of the records of a rollout. */
const recordTypes = new Set(["session_meta", "response_item", "event_msg", "turn_context", "compacted"]);

/** Types of items that the first versions wrote without a record around them. */
const itemTypes =
	/^(message|reasoning|ghost_snapshot|(function|custom_tool|local_shell|web_search)_call|(function|custom_tool|local_shell)_call_output)$/;

/**
 * The rollout files of Codex: one record a line, of which those of type `response_item` hold items of the OpenAI
 * Responses API. Events of the user interface are no messages; those that repeat an output are edited along with it.
 */
export const codexRollout: Format = {
	name: "codex-rollout",
	title: "Codex rollout",
	looksFor: "Codex rollout (records with `type`, such as session_meta or response_item, and `payload`)",
	probe,
	read(located) {
		const history = replayRollout(located);
		return {
			format: "codex-rollout",
			messages: readCodexItems(history),
			surroundings: history.surroundings,
			opensWithUser: false,
		};
	},
	write: { message: writeCodex, within: ["payload", "replacement_history"], appends: false },
};

function probe({ messages }: LocatedMessages): Fit {
	const isBare = isBareHeader(messages[0]);
	let certain = false;
	for (const [message, record] of messages.entries()) {
		if (!isJsonObject(record)) return { fit: "none", message, expected: "a record with `type` and `payload`" };
		const type = stringAt(record, "type") ?? "";
		if (isBare) {
			const fits = message === 0 || itemTypes.test(type) || record.record_type === "state";
			if (!fits) return { fit: "none", message, expected: "an item of the Responses API" };
			certain ||= itemTypes.test(type);
			continue;
		}
		if (type === "" || !isJsonObject(record.payload)) {
			return { fit: "none", message, expected: "a record with a string `type` and an object `payload`" };
		}
		certain ||= recordTypes.has(type);
	}
	return certain ? { fit: "certain" } : { fit: "none", message: 0, expected: "a record such as session_meta" };
}

/** The first line of a rollout of the first versions: what is now inside `session_meta`. */
function isBareHeader(record: unknown): boolean {
	if (!isJsonObject(record) || Object.hasOwn(record, "type") || Object.hasOwn(record, "role")) return false;
	const isNamed = stringAt(record, "id") !== undefined && stringAt(record, "timestamp") !== undefined;
	return isNamed && ["instructions", "git", "cwd"].some((key) => Object.hasOwn(record, key));
}
