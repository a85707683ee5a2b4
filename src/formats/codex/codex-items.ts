import type { Path } from "../../engine/path.ts";
import type { Message, Role } from "../../engine/transcript.ts";
import { idAt, type JsonObject, stringAt } from "../json-values.ts";
import { addResult, finishMessage, type MessageDraft, startMessage } from "../message-draft.ts";
import { isSearchByProvider, readAnswerItem } from "../openai-responses/response-answer.ts";
import { countParts, sealedTokens } from "../openai-responses/response-parts.ts";
import type { CodexHistory, HistoryItem } from "./codex-history.ts";
import { readCodexOutput } from "./codex-output.ts";

const roles: Readonly<Record<string, Role>> = {
	user: "user",
	assistant: "assistant",
	system: "system",
	developer: "system",
};
/** Snapshots of the working tree, which are sent to no model. */
const neverSent = new Set(["ghost_snapshot", "other"]);
const compactions = new Set(["compaction", "compaction_summary", "context_compaction"]);

/** What the model gave in one answer, while its items are read. */
interface Answer {
	readonly paths: Path[];
	readonly draft: MessageDraft;
	readonly callIds: Set<unknown>;
	readonly sent: boolean;
}

/**
 * Reads the items of a history as messages. What the model gave in one answer (reasoning, text, calls) is a run of
 * items and becomes one message, so that parallel calls stay together; each output is a message of its own. Events that
 * stand between two answers keep them apart even where nothing else does.
 */
export function readCodexItems({ items }: CodexHistory): Message[] {
	const messages: (() => Message)[] = [];
	let answer: Answer | undefined;
	const add = (sent: boolean, finish: () => Message) =>
		messages.push(sent ? finish : () => ({ ...finish(), sent: false }));
	for (const one of items) {
		const type = stringAt(one.item, "type") ?? "";
		if (neverSent.has(type)) continue;
		if (isOfAnswer(one.item, type)) {
			if (!answer || one.opensAnswer || answer.sent !== one.sent) {
				const { paths, draft } = { paths: [], draft: startMessage() };
				answer = { paths, draft, callIds: new Set(), sent: one.sent };
				add(one.sent, () => finishMessage("assistant", paths, draft));
			}
			answer.paths.push(one.removal);
			answer.callIds.add(idAt(one.item, "call_id") ?? idAt(one.item, "id"));
			readAnswerItem({ item: one.item, type, path: one.path }, answer.draft);
			continue;
		}
		const message = readOtherItem(one, type);
		add(one.sent, () => message);
		// A late output of an earlier call does not end an answer, so that it may go without changing the answer.
		const isLate = type.endsWith("_output") && !answer?.callIds.has(idAt(one.item, "call_id"));
		if (!isLate) answer = undefined;
	}
	return messages.map((finish) => finish());
}

function isOfAnswer(item: JsonObject, type: string): boolean {
	if (type === "message") return item.role === "assistant";
	if (isSearchByProvider(item)) return true;
	return !type.endsWith("_output") && !compactions.has(type);
}

function readOtherItem({ item, path, removal, ended }: HistoryItem, type: string): Message {
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
	addResult(draft, readCodexOutput({ item, path, ended }));
	return finishMessage("tool", [removal], draft);
}
