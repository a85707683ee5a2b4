import { requestBody } from "./detect.js";
import { objectOf, stringAt } from "./json-text/value.js";
import { reasoningBinding } from "./tokens/reasoning-binding.js";
/** The model of a call: as the caller names it, else the request body, else the policy. */
export function modelOfCall(named, document, policy) {
	return named ?? modelOfBody(document) ?? policy.guard.model ?? undefined;
}
function modelOfBody(document) {
	const body = objectOf(requestBody(document));
	// Bedrock's Converse has `modelId`.
	return stringAt(body, "model") ?? stringAt(body, "modelId");
}
/**
 * Whether the model of a conversation accepts reasoning only after unchanged messages. It is the model that a call names,
 * else the one on record, else the policy's.
 */
export function bindsReasoning(named, source, policy) {
	const model = named ?? modelOnRecord(source) ?? policy.guard.model ?? undefined;
	return reasoningBinding(model) !== "none";
}
/** The model that the body of a conversation names, else that of its last answer. */
export function modelOnRecord(source) {
	const { messages } = source.transcript;
	const answered = () => messages.findLast(({ usage }) => usage?.model !== undefined)?.usage?.model;
	return modelOfBody(source.document) ?? modelOfSession(source) ?? answered();
}
/** Claude Code and pi; Copilot CLI; Codex; opencode. */
const modelPaths = [
	["message", "model"],
	["data", "model"],
	["payload", "model"],
	["info", "modelID"],
];
export function modelOfSession({ located: { messages } }) {
	for (const message of messages.toReversed()) {
		const record = objectOf(message);
		const named = modelPaths.map(([part, key]) => stringAt(objectOf(record[part]), key));
		// Claude Code puts a name in angle brackets into answers that it wrote itself.
		const model = [stringAt(record, "model"), ...named].find((one) => one !== undefined && !one.startsWith("<"));
		if (model !== undefined) return model;
	}
	return undefined;
}
