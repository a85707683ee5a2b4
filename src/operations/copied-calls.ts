import { createHash } from "node:crypto";
import { isJsonObject } from "../engine/conversation/json.ts";
import type { Message } from "../engine/conversation/transcript.ts";
import type { ReadConversation } from "../formats/detect.ts";
import { objectOf, stringAt } from "../formats/json-text/value.ts";

/** Later answers of models with so many characters are not the same by chance. */
const fewCharacters = 200;

/**
 * Forks of a session begin with its history: of several conversations, in any order, each LLM call counts once. `add` returns
 * the message behind the last call that a conversation before it has; 0 for none. A call is known by the id of its answer, or,
 * where the record has none, by all messages until then and the model that the document names. Two runs of one task may begin
 * alike: such messages are a copy only if they hold an id that no other call has, have the same times, go on alike after the
 * first call in a record without times, or if one of the two conversations names the session that it was forked from.
 */
export function startCopiedCalls() {
	const known = new Set<string>();
	const begun = new Set<string>();
	const begunByForks = new Set<string>();
	return {
		add({ document, transcript }: Pick<ReadConversation, "document" | "transcript">): number {
			const keys = keysOf(transcript.messages, stringAt(objectOf(document), "model"));
			const isFork = namesOrigin(document);
			const last = keys.findLastIndex(
				(one) =>
					one !== undefined &&
					((one.key !== undefined && known.has(one.key)) || (isFork ? begun : begunByForks).has(one.beginning)),
			);
			for (const one of keys) {
				if (one?.key !== undefined) known.add(one.key);
				if (one !== undefined) begun.add(one.beginning);
				if (one !== undefined && isFork) begunByForks.add(one.beginning);
			}
			return last + 1;
		},
	};
}

/**
 * Whether the head of a record names another session as its origin, such as `forked_from_id` of Codex and `parentSession` of pi, or
 * has the head of another session behind it, as Codex copies it.
 */
function namesOrigin(document: unknown): boolean {
	const [head, next] = Array.isArray(document) ? document : [document];
	const isNamed = (value: unknown, depth: number): boolean =>
		isJsonObject(value) &&
		Object.entries(value).some(
			([key, inner]) =>
				(typeof inner === "string" && inner !== "" && /fork|parent_?(?:session|thread|conversation)/i.test(key)) ||
				(depth > 0 && isNamed(inner, depth - 1)),
		);
	return isNamed(head, 4) || (isHead(head) && isHead(next));
}

const isHead = (record: unknown): boolean => objectOf(record).type === "session_meta";

/**
 * For each message of a model, all messages until then, and the key of the call that it answers: `undefined` for a beginning
 * that two runs may share.
 */
function keysOf(
	messages: readonly Message[],
	model = "",
): ({ beginning: string; key: string | undefined } | undefined)[] {
	let beginning = model;
	let isUnique = false;
	let answers = 0;
	let characters = 0;
	return messages.map((message) => {
		const { role, counted, mediaTokens, calls, results, thinking, answerId, time } = message;
		const content = [
			role,
			counted,
			mediaTokens,
			calls.map(({ id }) => id),
			results.map(({ callId, texts }) => [callId, texts.map(({ text }) => text)]),
		];
		// Each beginning is hashed with the hash of the one before it, so that the time is linear.
		beginning = createHash("sha256").update(beginning).update(JSON.stringify(content)).digest("base64");
		if (role !== "assistant") return undefined;
		isUnique ||= thinking.some(({ bound }) => bound) || calls.some(({ id }) => id !== undefined && !isNumbered(id));
		if (answerId !== undefined || isUnique) return { beginning, key: answerId ?? beginning };
		if (time !== undefined) return { beginning, key: `${time} ${beginning}` };
		answers += 1;
		if (answers > 1) for (const text of counted) characters += text.length;
		return { beginning, key: characters < fewCharacters ? undefined : beginning };
	});
}

/** Such as `call_0`, `bash#1` and `functions.read:2`: ids that each run of a program gives again. */
function isNumbered(id: string): boolean {
	return /^(?:[a-z_.-]*[a-z])?[^a-z0-9]*\d{1,6}$/i.test(id);
}
