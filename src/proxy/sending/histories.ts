import { createHash, randomBytes } from "node:crypto";
import {
	hasSameRest,
	type Message,
	resultCharacters,
	type ToolResult,
	type Transcript,
} from "../../engine/conversation/transcript.ts";
import type { WrittenText } from "../../formats/json-text/edit.ts";
import { type Branch, type History, lengthOf, type Mark, messagesOf, mostBranches, resultsOf } from "./branch.ts";
import type { KnownKeys } from "./identity.ts";
import type { Journal, Wait } from "./journal.ts";
import { readBranch, writeBranch } from "./told-branches.ts";

export type Histories = ReturnType<typeof createHistories>;

/** The time for telling other processes of a branch, which no request waits for. */
const tellingMs = 1_000;

/** Limits over all conversations. Tests inject small ones. */
export interface HistoryLimits {
	/** Characters of histories, with the texts that were written for them: some three conversations of 1 MB. */
	readonly mostChars: number;
	/** Bytes of what is left of the others: some 650 conversations of 40 results. */
	readonly mostMarkBytes: number;
	/** Milliseconds after its last request for which a history is held. */
	readonly heldForMs: number;
}

const usualLimits: HistoryLimits = { mostChars: 8_000_000, mostMarkBytes: 16_000_000, heldForMs: 60_000 };

/**
 * The last histories of each conversation. A plan counts only for a request that continues the history it was made for.
 * Where there are too many, or after a while, marks and plans take the place of texts: the next request is then hashed,
 * which takes some milliseconds for 1 MB.
 */
export function createHistories({
	now,
	limits: { mostChars, mostMarkBytes, heldForMs } = usualLimits,
	told,
	isStorable = () => true,
}: {
	readonly now: () => number;
	readonly limits?: HistoryLimits | undefined;
	/** What processes tell each other. */
	readonly told?: Journal["branches"];
	readonly isStorable?: ((text: string) => boolean) | undefined;
}) {
	const held = new Map<string, { readonly branches: readonly Branch[]; readonly chars: number; readonly at: number }>();
	const marked = new Map<string, { readonly branches: readonly Branch[]; readonly bytes: number }>();
	let chars = 0;
	let markBytes = 0;
	let hasForgotten = false;

	const branchesOf = (conversation: string) => (held.get(conversation) ?? marked.get(conversation))?.branches ?? [];
	const takeOut = (conversation: string): readonly Branch[] => {
		const branches = branchesOf(conversation);
		chars -= held.get(conversation)?.chars ?? 0;
		held.delete(conversation);
		markBytes -= marked.get(conversation)?.bytes ?? 0;
		marked.delete(conversation);
		return branches;
	};
	const hold = (conversation: string, branches: readonly Branch[]): void => {
		const added = branches.reduce((sum, one) => sum + charsHeld(one), 0);
		held.set(conversation, { branches, chars: added, at: now() });
		chars += added;
		for (const oldest of held.keys()) {
			if (held.size === 1 || chars <= mostChars) break;
			letGo(oldest);
		}
	};
	const letGo = (conversation: string): void => {
		const branches = takeOut(conversation);
		for (const branch of branches) {
			branch.sentLines = undefined;
			if (branch.last.kind === "history")
				Object.assign(branch, { last: markOf(branch.last.transcript, branch.last.keys), writtenText: undefined });
		}
		mark(conversation, branches);
	};
	const mark = (conversation: string, branches: readonly Branch[]): void => {
		const bytes = branches.reduce((sum, branch) => sum + bytesOfMarked(branch), 0);
		marked.set(conversation, { branches, bytes });
		markBytes += bytes;
		for (const oldest of marked.keys()) {
			if (markBytes <= mostMarkBytes) break;
			takeOut(oldest);
			hasForgotten = true;
		}
	};

	return {
		/** Takes what other processes have told of its branches since. Never rejects: else this one goes on with what it knows. */
		async fetch(conversation: string, wait: Wait): Promise<void> {
			const all = (await told?.read(conversation, wait).catch(() => [])) ?? [];
			const own = new Map(branchesOf(conversation).map((branch) => [branch.id, messagesOf(branch)]));
			const newer = all
				.filter(({ id, messages }) => messages > (own.get(id) ?? -1))
				.flatMap(({ id, text }) => readBranch(id, text) ?? []);
			if (newer.length === 0) return;
			const ids = new Set(newer.map(({ id }) => id));
			const others = takeOut(conversation).filter(({ id }) => !ids.has(id));
			const branches = [...newer, ...others].slice(0, mostBranches);
			if (branches.some(({ last }) => last.kind === "history")) hold(conversation, branches);
			else mark(conversation, branches);
		},
		/** Tells other processes of a branch that has ended with this request so far. Never rejects. */
		async tell(
			conversation: string,
			branch: Branch,
			{ transcript, paired, keys }: KnownKeys & { readonly transcript: Transcript },
		) {
			const messages = settledLength(transcript);
			if (!told || messages !== messagesOf(branch)) return;
			const ofBranch = markOf({ messages: transcript.messages.slice(0, messages) }, keys);
			const text = writeBranch(branch, ofBranch, { paired, isStorable });
			await told.tell(conversation, { id: branch.id, messages, text }, { leftMs: tellingMs }).catch(() => {});
		},
		/** The branch with the longest history that a request continues. */
		continuedBy(conversation: string, transcript: Transcript): Branch | undefined {
			const branches = branchesOf(conversation);
			const hashes = hashesOf(transcript.messages, branches);
			const found = branches.filter(({ last }) =>
				last.kind === "mark" ? hashes.get(last.messages) === last.hash : continues(transcript, last.transcript),
			);
			return found.toSorted((a, b) => messagesOf(b) - messagesOf(a))[0];
		},
		/** Whether it may have been here, and nothing of it is left. */
		mayBeForgotten: (conversation: string) => hasForgotten && branchesOf(conversation).length === 0,
		/** Takes a request as the last one of the branch that it continues, or of a new branch. */
		keep(
			conversation: string,
			request: KnownKeys & { readonly transcript: Transcript; readonly writtenText?: WrittenText | undefined },
			branch: Branch | undefined,
		): Branch {
			const branches = takeOut(conversation);
			const { paired, keys, writtenText } = request;
			const messages = request.transcript.messages.slice(0, settledLength(request.transcript));
			const transcript = { ...request.transcript, messages };
			// Of a history that goes on, only new messages are counted.
			const before = branch?.last.kind === "history" ? branch.last : undefined;
			const length = (before?.chars ?? 0) + charsOf(transcript, before?.transcript.messages.length);
			const last: History = { kind: "history", transcript, paired, keys, chars: length };
			const kept: Branch = Object.assign(branch ?? { id: randomBytes(6).toString("base64url") }, { last, writtenText });
			const others = branches.filter((one) => one !== kept);
			// Only the branch that goes on is written from the earlier text.
			for (const other of others) other.writtenText = undefined;
			hold(conversation, [kept, ...others].slice(0, mostBranches));
			return kept;
		},
		/** Lets go what no request has used for a while. */
		rest(): void {
			for (const [conversation, { at }] of held) if (Math.abs(now() - at) > heldForMs) letGo(conversation);
		},
	};
}

/**
 * The messages up to the last one with a call or a result. Some programs end each request with words of the moment, such as OpenClaw
 * with what runs at the time, and take them out of the next one.
 */
export function settledLength({ messages }: Transcript): number {
	return messages.findLastIndex(({ calls, results }) => calls.length + results.length > 0) + 1;
}

/** What a message takes beside its texts, in characters. */
const charsOfMessage = 1_000;

function charsHeld(branch: Branch): number {
	const { last, writtenText } = branch;
	const texts = lengthOf({ last }) + (writtenText ? writtenText.text.length + writtenText.written.length : 0);
	return texts + charsOfMessage * messagesOf(branch);
}

/** A plan that is still made may decide on each result, by a placeholder and some names. */
function bytesOfMarked(branch: Branch): number {
	return 500 + 600 * resultsOf(branch);
}

function markOf({ messages }: Pick<Transcript, "messages">, keys: readonly string[]): Mark {
	const hash = hashTo(messages, [messages.length]).get(messages.length) as string;
	return { kind: "mark", hash, messages: messages.length, results: keys.length };
}

/** Hashes of the beginnings of a request that may be those of marked branches, by their messages. */
function hashesOf(messages: readonly Message[], branches: readonly Branch[]): ReadonlyMap<number, string> {
	const counts = branches.flatMap(({ last }) =>
		last.kind === "mark" && last.messages <= messages.length ? [last.messages] : [],
	);
	return hashTo(messages, counts);
}

function hashTo(messages: readonly Message[], counts: readonly number[]): ReadonlyMap<number, string> {
	const hashes = new Map<number, string>();
	const hash = createHash("sha256");
	for (let index = 0; index < Math.max(0, ...counts); index += 1) {
		const { role, counted, calls, results } = messages[index] as Message;
		const texts = [...counted, ...results.flatMap((one) => [...one.texts.map(({ text }) => text), restOf(one)])];
		const about = results.map(({ callId, texts: ofResult }) => [callId ?? null, ofResult.length]);
		const lengths = texts.map(({ length }) => length);
		hash.update(JSON.stringify([role, counted.length, calls.map(({ id }) => id ?? null), about, lengths]));
		for (const text of texts) hash.update(text);
		if (counts.includes(index + 1)) hashes.set(index + 1, hash.copy().digest("base64"));
	}
	return hashes;
}

/** What `hasSameRest` compares. */
function restOf({ whole }: ToolResult): string {
	return whole?.json ? `\n${whole.json.rest.join("\n")}` : "";
}

/** Compares texts, which is faster than hashing them. */
function continues({ messages }: Transcript, { messages: before }: Transcript): boolean {
	if (messages.length < before.length) return false;
	for (let index = 0; index < before.length; index += 1) {
		if (!isSame(messages[index] as Message, before[index] as Message)) return false;
	}
	return true;
}

function isSame(one: Message, other: Message): boolean {
	if (one.role !== other.role || one.counted.length !== other.counted.length) return false;
	if (one.results.length !== other.results.length || one.calls.length !== other.calls.length) return false;
	for (let at = 0; at < one.counted.length; at += 1) if (one.counted[at] !== other.counted[at]) return false;
	for (let at = 0; at < one.calls.length; at += 1) if (one.calls[at]?.id !== other.calls[at]?.id) return false;
	for (let at = 0; at < one.results.length; at += 1) {
		const [result, known] = [one.results[at] as ToolResult, other.results[at] as ToolResult];
		if (result.callId !== known.callId || result.texts.length !== known.texts.length) return false;
		for (let text = 0; text < result.texts.length; text += 1) {
			if (result.texts[text]?.text !== known.texts[text]?.text) return false;
		}
		if (!hasSameRest(result, known)) return false;
	}
	return true;
}

function charsOf({ messages, surroundings }: Transcript, from = 0): number {
	let chars = 0;
	if (from === 0) for (const text of surroundings) chars += text.length;
	for (const { counted, results } of messages.slice(from)) {
		for (const text of counted) chars += text.length;
		for (const result of results) chars += resultCharacters(result);
	}
	return chars;
}
