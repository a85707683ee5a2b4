import type { WrittenMessage } from "../../engine/message-writer.ts";
import { idOfText } from "../id-of-text.ts";
import { isJsonObject, stringAt } from "../json-values.ts";
import { keptFields } from "../kept-fields.ts";

/** What ties a record to its session, in the order in which Claude Code writes it. */
const sessionFields = [
	"parentUuid",
	"parent_tool_use_id",
	"isSidechain",
	"userType",
	"entrypoint",
	"cwd",
	"sessionId",
	"session_id",
	"version",
	"gitBranch",
	"slug",
	"agentId",
];
/** What makes a record the one with which a compacted conversation begins. */
const compactionFields = ["isVisibleInTranscriptOnly", "isCompactSummary"];

/**
 * A record as Claude Code writes it for what a user typed, or for an answer of its own that no model gave. It is none of
 * a compaction, before which nothing would be sent any longer, unless it stands in the place of one.
 */
export function writeClaudeCode({ role, text, instead }: WrittenMessage) {
	const compacted = isJsonObject(instead) && instead.isCompactSummary === true;
	const uuid = (isJsonObject(instead) && stringAt(instead, "uuid")) || idOfText(text);
	return {
		...keptFields(instead, sessionFields),
		type: role,
		message: role === "user" ? { role, content: text } : writeAnswer(text, uuid),
		...(compacted ? keptFields(instead, compactionFields) : {}),
		uuid,
		...keptFields(instead, ["timestamp"]),
	};
}

/** Claude Code sums up the usage of all answers when it resumes a session. */
function writeAnswer(text: string, id: string) {
	return {
		id,
		type: "message",
		role: "assistant",
		model: "<synthetic>",
		content: [{ type: "text", text }],
		stop_reason: "stop_sequence",
		stop_sequence: "",
		usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
	};
}
