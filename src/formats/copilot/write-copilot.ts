import type { WrittenMessage } from "../../engine/message-writer.ts";
import { idOfText } from "../id-of-text.ts";
import { isJsonObject, stringAt } from "../json-values.ts";
import { keptFields } from "../kept-fields.ts";

/** An event as Copilot logs a user's prompt, with the same text for the model as for the timeline, or a model's answer. */
export function writeCopilot({ role, text, instead }: WrittenMessage) {
	const id = (isJsonObject(instead) && stringAt(instead, "id")) || idOfText(text);
	const interaction = keptFields(isJsonObject(instead) ? instead.data : undefined, ["interactionId"]);
	const data =
		role === "user"
			? { content: text, transformedContent: text, attachments: [], ...interaction }
			: { messageId: id, content: text, toolRequests: [], ...interaction };
	return { type: `${role}.message`, data, id, ...keptFields(instead, ["timestamp", "parentId"]) };
}
