import type { WrittenMessage } from "../../engine/message-writer.ts";
import { isJsonObject, stringAt } from "../json-values.ts";
import { keptFields } from "../kept-fields.ts";

const noUsage = {
	input: 0,
	output: 0,
	cacheRead: 0,
	cacheWrite: 0,
	totalTokens: 0,
	cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** A record of `type` message, whatever record stood in its place. */
export function writePi({ role, text, instead }: WrittenMessage) {
	const before = isJsonObject(instead) ? instead.message : undefined;
	const content = [{ type: "text", text }];
	// pi goes on with the model of the last answer, and adds up what all of them used.
	const answer = { ...keptFields(before, ["api", "provider", "model"]), usage: noUsage, stopReason: "stop" };
	return {
		type: "message",
		...keptFields(instead, ["id", "parentId", "timestamp"]),
		message: { role, content, ...(role === "assistant" ? answer : {}), ...timeOf(instead) },
	};
}

/** When the message was said, in milliseconds: records that hold none have the time of their writing alone. */
function timeOf(record: unknown): { readonly timestamp?: unknown } {
	if (!isJsonObject(record)) return {};
	if (isJsonObject(record.message)) return keptFields(record.message, ["timestamp"]);
	const timestamp = Date.parse(stringAt(record, "timestamp") ?? "");
	return Number.isNaN(timestamp) ? {} : { timestamp };
}
