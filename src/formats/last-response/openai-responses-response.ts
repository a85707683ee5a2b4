import { idAt, isJsonObject, type JsonObject, stringAt } from "../json-values.ts";
import { isSearchByProvider } from "../openai-responses/response-answer.ts";
import { type CallInput, finishResponse, type GivenCall, type GivenResponse } from "./finish-response.ts";
import type { ResponseReader } from "./last-response.ts";
import { hasMember, objectsOf } from "./response-members.ts";

/** OpenAI Responses: a response, or the event that ends its stream and holds it. */
export const openaiResponsesResponse: ResponseReader = {
	shape: "{status, incomplete_details, output} of OpenAI Responses",
	read(given) {
		const isEvent = stringAt(given, "type")?.startsWith("response.") === true && isJsonObject(given.response);
		const response = isEvent ? (given.response as JsonObject) : given;
		const { output, incomplete_details: details } = response;
		if (!Array.isArray(output) || !output.every(isItem)) return undefined;
		const isKnown = output.length > 0 || response.object === "response";
		if (!isKnown && !hasMember(response, "status", "incomplete_details")) return undefined;
		// The status says only that it is incomplete; a filter makes it so too.
		const reason = isJsonObject(details) ? details.reason : response.status;
		return finishResponse({ reason, ...readItems(output) });
	},
};

function isItem(item: unknown): item is JsonObject {
	return isJsonObject(item) && (typeof item.type === "string" || item.role === "assistant");
}

function readItems(items: readonly JsonObject[]): Omit<GivenResponse, "reason"> {
	const texts = items.flatMap((item) => ((item.type ?? "message") === "message" ? readTexts(item.content) : []));
	const outputs = items.filter((item) => stringAt(item, "type")?.endsWith("_output"));
	// A call whose output came with it was run by the provider.
	const answered = new Set(outputs.map((item) => idAt(item, "call_id")));
	const calls = items.flatMap((item, index): GivenCall[] => {
		const call = readCall(item, index === items.length - 1);
		return call && !(call.id !== undefined && answered.has(call.id)) ? [call] : [];
	});
	return { texts, calls };
}

function readTexts(content: unknown): string[] {
	if (typeof content === "string") return [content];
	return objectsOf(content).flatMap((part) => stringAt(part, "text") ?? stringAt(part, "refusal") ?? []);
}

function readCall(item: JsonObject, endsAnswer: boolean): GivenCall | undefined {
	const type = stringAt(item, "type") ?? "";
	const isIncomplete = item.status === "incomplete";
	if (type === "function_call" || type === "mcp_approval_request") {
		const id = idAt(item, type === "function_call" ? "call_id" : "id");
		const input: CallInput = isIncomplete ? { kind: "broken" } : { kind: "json", value: item.arguments };
		return { id, name: idAt(item, "name"), input, endsAnswer };
	}
	const id = idAt(item, "call_id");
	// Work of the provider's own tools has no id to answer to.
	if (!type.endsWith("_call") || isSearchByProvider(item) || (type !== "custom_tool_call" && !id)) return undefined;
	const name = type === "custom_tool_call" ? idAt(item, "name") : type.slice(0, -"_call".length);
	return { id, name, input: { kind: isIncomplete ? "broken" : "text" }, endsAnswer };
}
