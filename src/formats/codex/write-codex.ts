import type { WrittenMessage } from "../../engine/message-writer.ts";
import { isJsonObject } from "../json-values.ts";
import { keptFields } from "../kept-fields.ts";

/**
 * The item of a message in a record of its own, without the event by which Codex shows it. The first versions wrote items
 * without a record around them, as a compaction's record still holds them: where such a one stood, such a one is put.
 */
export function writeCodex({ role, text, instead }: WrittenMessage) {
	const type = role === "user" ? "input_text" : "output_text";
	const item = { type: "message", role, content: [{ type, text }] };
	if (isJsonObject(instead) && !isJsonObject(instead.payload)) return item;
	return { ...keptFields(instead, ["timestamp"]), type: "response_item", payload: item };
}
