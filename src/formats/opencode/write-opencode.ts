import type { WrittenMessage } from "../../engine/message-writer.ts";
import { idOfText } from "../id-of-text.ts";
import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { keptFields } from "../kept-fields.ts";

/** What opencode goes on with when a user message is the last one. */
const settings = ["agent", "model", "variant", "system", "tools", "format"];
/** What an answer says of where it was given. */
const circumstances = ["parentID", "modelID", "providerID", "mode", "agent", "path"];

/**
 * A message with one text part. A user message names an agent and a model, since opencode asks those of the last one:
 * where it stands in the place of an answer they are the ones that answered.
 */
export function writeOpencode({ role, text, instead }: WrittenMessage) {
	const before = isJsonObject(instead) && isJsonObject(instead.info) ? instead.info : {};
	const id = idAt(before, "id") ?? `msg_${idOfText(text)}`;
	const session = keptFields(before, ["sessionID"]);
	const info = { id, ...session, role, ...(role === "user" ? userInfo(before) : answerInfo(before)) };
	const part = { id: firstPartId(instead) ?? `prt_${idOfText(text)}`, ...session, messageID: id, type: "text", text };
	return { info, parts: [part] };
}

function userInfo(before: JsonObject): JsonObject {
	const time = { time: keptFields(before.time, ["created"]) };
	if (before.role === "user") return { ...time, ...keptFields(before, settings) };
	const { providerID, modelID } = before;
	const answered = providerID === undefined || modelID === undefined ? {} : { model: { providerID, modelID } };
	return { ...time, ...keptFields(before, ["agent", "variant"]), ...answered };
}

function answerInfo(before: JsonObject): JsonObject {
	const asked = isJsonObject(before.model) ? keptFields(before.model, ["modelID", "providerID"]) : {};
	const mode = keptFields({ mode: before.agent }, before.agent === undefined ? [] : ["mode"]);
	return {
		time: keptFields(before.time, ["created", "completed"]),
		...asked,
		...mode,
		...keptFields(before, circumstances),
		cost: 0,
		tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
		finish: "stop",
	};
}

function firstPartId(record: unknown): string | undefined {
	const parts: readonly unknown[] = isJsonObject(record) && Array.isArray(record.parts) ? record.parts : [];
	return isJsonObject(parts[0]) ? stringAt(parts[0], "id") : undefined;
}
