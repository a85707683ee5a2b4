import type { Path } from "../engine/path.ts";
import type { Message, Role } from "../engine/transcript.ts";
import type { CodexHistory, HistoryItem } from "./codex-history.ts";
import { readCodexOutput } from "./codex-output.ts";
import { asCountedText, idAt, isJsonObject, type JsonObject, stringAt } from "./json-values.ts";
import { addResult, finishMessage, type MessageDraft, startMessage } from "./message-draft.ts";
import { readMedia } from "./read-media.ts";

const roles: Readonly<Record<string, Role>> = {
	user: "user",
	assistant: "assistant",
	system: "system",
	developer: "system",
};
/** Snapshots of the working tree, which are sent to no model. */
const unsent = new Set(["ghost_snapshot", "other"]);
const compactions = new Set(["compaction", "compaction_summary", "context_compaction"]);
const textParts = new Set(["input_text", "output_text", "text", "summary_text", "reasoning_text"]);

/**
 * Reads the items of a history as messages. What the model gave in one answer (reasoning, text, calls) is a run of
 * items and becomes one message, so that parallel calls stay together; each output is a message of its own. Events between
 * two answers keep them apart where what stood between them was dropped.
 */
export function readCodexItems({ items, events }: CodexHistory): Message[] {
	const messages: (() => Message)[] = [];
	let answer: { readonly paths: Path[]; readonly draft: MessageDraft } | undefined;
	for (const one of items) {
		const type = stringAt(one.item, "type") ?? "";
		if (unsent.has(type)) continue;
		if (isOfAnswer(one.item, type)) {
			if (!answer || one.opensAnswer) {
				const { paths, draft } = { paths: [], draft: startMessage() };
				answer = { paths, draft };
				messages.push(() => finishAnswer(paths, draft));
			}
			answer.paths.push(one.removal);
			readAnswerItem(one, type, answer.draft);
			continue;
		}
		const message = readOtherItem(one, type, events);
		messages.push(() => message);
		// A late output of an earlier call does not end an answer, so that it may go without changing the answer.
		const callId = idAt(one.item, "call_id");
		const isLate = type.endsWith("_output") && !answer?.draft.calls.some(({ id }) => id === callId);
		if (!isLate) answer = undefined;
	}
	return messages.map((finish) => finish());
}

function isOfAnswer(item: JsonObject, type: string): boolean {
	if (type === "message") return item.role === "assistant";
	return !type.endsWith("_output") && !compactions.has(type);
}

function finishAnswer(paths: readonly Path[], draft: MessageDraft): Message {
	const message = finishMessage("assistant", paths, draft);
	// An answer that is nothing but reasoning would be gone without it.
	return draft.thinking.length < paths.length ? message : { ...message, thinking: [] };
}

function readOtherItem({ item, path, removal }: HistoryItem, type: string, events: CodexHistory["events"]): Message {
	const draft = startMessage();
	if (type === "message") {
		const role = stringAt(item, "role") ?? "";
		countParts(item.content, draft);
		return finishMessage((Object.hasOwn(roles, role) && roles[role]) || "other", [removal], draft);
	}
	if (compactions.has(type)) {
		draft.mediaTokens += sealedTokens(item);
		// It stands for all that was compacted, so it has to stay as a system message does.
		return finishMessage("system", [removal], draft);
	}
	const callId = idAt(item, "call_id");
	const ended = callId === undefined ? [] : (events.get(callId) ?? []);
	addResult(draft, readCodexOutput({ item, path, callId, ended }));
	return finishMessage("tool", [removal], draft);
}

function readAnswerItem({ item, removal }: HistoryItem, type: string, answer: MessageDraft): void {
	const call = (name: string | undefined, input: unknown): void => {
		// The first versions of a local shell call have no `call_id` where the API gave an `id`.
		const id = idAt(item, "call_id") ?? (type === "local_shell_call" ? idAt(item, "id") : undefined);
		answer.calls.push({ id, name });
		answer.counted.push(name ?? "", asCountedText(input));
	};
	switch (type) {
		case "message":
			countParts(item.content, answer);
			break;
		case "reasoning": {
			const before = answer.counted.length;
			countParts(item.summary, answer);
			countParts(item.content, answer);
			answer.mediaTokens += sealedTokens(item);
			const text = answer.counted.slice(before).join("\n");
			// OpenAI checks no binding between reasoning and what stands before it.
			answer.thinking.push({ path: removal, text, bound: false });
			break;
		}
		case "function_call":
			call(stringAt(item, "name"), item.arguments);
			break;
		case "custom_tool_call":
			call(stringAt(item, "name"), item.input);
			break;
		case "local_shell_call":
			call("local_shell", item.action);
			break;
		case "tool_search_call":
			call("tool_search", item.arguments);
			break;
		case "image_generation_call":
			answer.mediaTokens += imageTokens(item.result);
			answer.counted.push(asCountedText(item.revised_prompt));
			break;
		default:
			// Tools that ran at the provider: opaque.
			answer.counted.push(asCountedText(item.action ?? item));
	}
}

function countParts(content: unknown, message: MessageDraft): void {
	if (!Array.isArray(content)) {
		if (content !== undefined && content !== null) message.counted.push(asCountedText(content));
		return;
	}
	for (const part of content as unknown[]) {
		const type = isJsonObject(part) ? (stringAt(part, "type") ?? "") : "";
		if (isJsonObject(part) && textParts.has(type)) message.counted.push(asCountedText(part.text));
		else if (isJsonObject(part) && type === "input_image")
			message.mediaTokens += imageTokens(part.image_url, stringAt(part, "detail"));
		else message.counted.push(asCountedText(part));
	}
}

function imageTokens(data: unknown, detail?: string): number {
	return readMedia({ path: [], provider: "openai", kind: "image", data, detail }).tokens;
}

/**
 * Tokens of what only OpenAI can read, by Codex's own estimate: the bytes that the base64 stands for less 650 of
 * framing, at four bytes a token. Source: github.com/openai/codex, codex-rs/core, `estimate_reasoning_length`.
 */
function sealedTokens(item: JsonObject): number {
	const length = stringAt(item, "encrypted_content")?.length ?? 0;
	return Math.ceil(Math.max(0, (length * 3) / 4 - 650) / 4);
}
