import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { HookContext, ToolEvent } from "./tool-event.ts";

/**
 * Up to Gemini CLI 0.61, a hook can only replace a result by denying it, and the model sees the reason as an error:
 * the text says that it is none. Source: https://geminicli.com/docs/hooks/reference#aftertool.
 */
export async function answerGeminiCli(event: ToolEvent, context: HookContext): Promise<JsonObject | undefined> {
	if (!isJsonObject(event.response)) return undefined;
	const { llmContent, error } = event.response;
	const text = textOf(llmContent);
	const { mostChars, shorten, wordings } = context;
	if (text === undefined || (error !== undefined && error !== null) || text.length <= mostChars) return undefined;
	const { noError } = await wordings();
	const shorter = await shorten(text, Math.max(0, mostChars - noError.length - 1));
	return shorter === undefined ? undefined : { decision: "deny", reason: `${noError}\n${shorter}` };
}

function textOf(content: unknown): string | undefined {
	if (typeof content === "string") return content;
	if (Array.isArray(content)) {
		const texts = content.map(textOf);
		return texts.every((text) => text !== undefined) ? texts.join("") : undefined;
	}
	return isJsonObject(content) && typeof content.text === "string" ? content.text : undefined;
}
