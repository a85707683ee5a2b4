import { isJsonObject, stringAt } from "../../formats/json-values.ts";
import type { ReadConversation } from "../../formats/read-conversation.ts";

/** Where records of sessions name the model that answered: Claude Code and pi, Copilot CLI, Codex, opencode. */
const places = [
	["message", "model"],
	["data", "model"],
	["payload", "model"],
	["info", "modelID"],
] as const;

/** The model that the records of a session named last; `undefined` where they name none. */
export function modelOfSession({ located: { messages } }: ReadConversation): string | undefined {
	for (let index = messages.length - 1; index >= 0; index -= 1) {
		const record = messages[index];
		if (!isJsonObject(record)) continue;
		const named = places.map(([part, key]) => {
			const holder = record[part];
			return isJsonObject(holder) ? stringAt(holder, key) : undefined;
		});
		// Claude Code names a model in angle brackets where it wrote the answer itself.
		const model = [stringAt(record, "model"), ...named].find((one) => one !== undefined && !one.startsWith("<"));
		if (model !== undefined) return model;
	}
	return undefined;
}
