import type { WrittenMessage } from "../conversation/apply.ts";
import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import type { Message, Path } from "../conversation/transcript.ts";
import { joinAnswers } from "./events.ts";
import { type Format, probeEach, readSurroundings, transcriptOf } from "./format.ts";
import { objectOf, stringAt } from "./json-values.ts";
import { isOfAnswer, readAnswerItem, readOther } from "./openai-responses.ts";
import { MessageDraft, type ToolContent, textContent } from "./parts.ts";
import { readOutputContent } from "./response-outputs.ts";
import { outputCopies } from "./session-files.ts";

/**
 * Run items of the OpenAI Agents SDK (`new_items`, `generatedItems` of a run state), which hold an item of the Responses API, and the items
 * of its JavaScript edition, which has `callId` and `function_call_result`.
 */
export const openaiAgents: Format = {
	name: "openai-agents",
	title: "OpenAI Agents SDK",
	looksFor:
		"OpenAI Agents SDK items (`raw_item` or `rawItem` of a `type` such as tool_call_item; or items with `callId`)",
	probe: ({ messages }) =>
		probeEach(messages, "an item with `raw_item`, `rawItem` or `callId`", (value) => {
			const { item, key } = itemOf(value);
			const type = stringAt(item, "type");
			if (type === undefined && (key !== undefined || stringAt(item, "role") === undefined))
				return "an item with a `type`";
			return key === undefined ? stringAt(item, "callId") !== undefined : true;
		}),
	read({ messages: items, base, document }) {
		const found = items.map((value, index) => readItem(value, [...base, index]));
		return transcriptOf(
			"openai-agents",
			joinAnswers(found),
			readSurroundings(document, ["originalInput", "original_input"]),
		);
	},
	write: { message: writeMessage, appends: true },
};

function itemOf(value: unknown): { readonly item: JsonObject; readonly key?: string } {
	const outer = objectOf(value);
	const key = ["raw_item", "rawItem"].find((name) => Object.hasOwn(outer, name) && isJsonObject(outer[name]));
	return key === undefined ? { item: outer } : { item: outer[key] as JsonObject, key };
}

function readItem(value: unknown, path: Path): Message {
	const { item: raw, key } = itemOf(value);
	const item = raw.callId === undefined ? raw : { ...raw, call_id: raw.callId };
	const type = (stringAt(raw, "type") ?? "message").replace(/_result$/, "_output");
	const at = key === undefined ? path : [...path, key];
	const text = stringAt(objectOf(raw.output), "text");
	if (isOfAnswer(item, type)) {
		const draft = new MessageDraft("assistant", path);
		readAnswerItem(item, type, at, draft);
		return draft;
	}
	const { results, ...other } = readOther(item, type, at);
	const [result] = results;
	if (!result) return { ...other, results, paths: [path] };
	const held: ToolContent =
		text === undefined
			? readOutputContent(raw.output, [...at, "output"])
			: textContent(text, [...at, "output", "text"]);
	const search = { record: objectOf(value), path, places: key === undefined ? [] : [["output"]], texts: held.texts };
	const draft = new MessageDraft("tool", path);
	draft.addResult({ callId: result.callId, ...held, copies: outputCopies(search), isError: result.isError });
	return draft;
}

function writeMessage({ role, text, instead }: WrittenMessage) {
	const content = [{ type: role === "user" ? "input_text" : "output_text", text }];
	const item = { type: "message", role, content, ...(role === "user" ? {} : { status: "completed" }) };
	const { key } = itemOf(instead);
	if (key === undefined && instead !== undefined) return item;
	return { type: "message_output_item", [key ?? "rawItem"]: item };
}
