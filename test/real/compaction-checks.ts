import { type Path, valueAt } from "../../src/engine/conversation/paths.ts";
import type { Transcript } from "../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { readConversation } from "../../src/formats/detect.ts";
import type { PortableEdit } from "../../src/formats/json-text/edit.ts";
import type { CompactOutcome } from "../../src/operations/compaction-request.ts";
import { added, looseEnds } from "../support/loose-ends.ts";
import { brokenPromises } from "../support/promise-checker.ts";
import { rawList } from "../support/raw-conversation.ts";

/** A compaction by a strategy that comes with the product. */
export interface Compaction {
	readonly before: unknown;
	readonly outcome: CompactOutcome;
	readonly policy: Policy;
	/** Counts in o200k_base, as the policy has it. */
	readonly countTokens: (text: string) => number;
}

/** What a compaction has broken, in words. */
export function brokenCompaction({ before, outcome, policy, countTokens }: Compaction): string[] {
	const { conversation: after, report } = outcome;
	const [old, current] = [readConversation(before), readConversation(after)];
	const broken: string[] = [];
	// Without a call nothing tells messages of tau2, and plain items of Responses, from those of Chat Completions.
	const isPlain = current.transcript.messages.every(({ calls, results }) => calls.length + results.length === 0);
	const mayBeChat = isPlain && ["tau2", "openai-responses"].includes(old.format.name);
	const isRead = current.format.name === old.format.name || (mayBeChat && current.format.name === "openai-chat");
	if (!isRead) broken.push(`read as ${current.format.name}`);
	if (report.tokens.after >= report.tokens.before) broken.push("no tokens saved");
	broken.push(...brokenPairs(old.transcript, current.transcript));
	const { name } = old.format;
	if (name === "openai-chat" || name === "anthropic-messages") {
		broken.push(...added(looseEnds(before, name), looseEnds(after, name)));
	}

	const values = new Set(rawList(after));
	const texts = new Set(current.transcript.messages.flatMap(({ counted }) => counted));
	const { messages } = old.transcript;
	const movable = messages.flatMap(({ role, sent }, index) => (role === "system" || sent === false ? [] : [index]));
	const task = messages.findIndex(({ role, sent }) => role === "user" && sent !== false);
	const system = messages.flatMap(({ role }, index) => (role === "system" ? [index] : []));
	const last = movable.slice(-policy.compaction.keep_last_messages);
	if (report.result === "hidden") {
		if (rawList(after).length !== rawList(before).length) broken.push("hiding changed the number of messages");
		const { edits } = outcome;
		const isRaw = name === "openai-chat" || name === "anthropic-messages";
		return isRaw ? [...broken, ...brokenPromises({ format: name, before, after, edits, countTokens })] : broken;
	}
	for (const index of new Set([...system, ...(task === -1 ? [] : [task]), ...last])) {
		const message = messages[index];
		const isSame = (path: Path) => values.has(valueAt(before, path.slice(0, old.located.base.length + 1)));
		// The message that a summary was added to is another value with the same texts, or a text that goes on with the summary.
		const stays = (text: string) => texts.has(text) || [...texts].some((one) => one.startsWith(`${text}\n\n`));
		if (!message?.paths.every(isSame) && !message?.counted.every(stays)) {
			broken.push(`message ${index} (${message?.role}) did not stay`);
		}
	}
	return broken;
}

/** Calls without a result and results without a call, by the product's own reading; nothing else reads all formats. */
function brokenPairs(before: Transcript, after: Transcript): string[] {
	return added(loose(before), loose(after));
}

function loose(transcript: Transcript): string[] {
	const pairs = pairResults(transcript);
	const answered = new Set(pairs.flatMap(({ call }) => call ?? []));
	const calls = transcript.messages.flatMap((message) => message.calls.filter((call) => !answered.has(call)));
	const orphans = pairs.filter(({ call }) => call === undefined);
	return [
		...calls.map(({ id, name }) => `call ${id} of ${name}`),
		...orphans.map(({ result }) => `result ${result.callId}`),
	];
}

/** What a summary took out, in the order in which it stood there. */
export function archivedValues(before: unknown, edits: CompactOutcome["edits"]): unknown[] {
	const gone = edits.filter(({ kind, reason }) => reason === "summary" && kind !== "insert");
	return gone
		.map((edit) => segmentsOf(edit))
		.toSorted(byPath)
		.map((path) => valueAt(before, path));
}

function segmentsOf({ path }: Pick<PortableEdit, "path">): Path {
	return path
		.split("/")
		.slice(1)
		.map((segment) => (/^\d+$/.test(segment) ? Number(segment) : segment));
}

function byPath(one: Path, other: Path): number {
	const different = one.findIndex((segment, index) => segment !== other[index]);
	return Number(one[different]) - Number(other[different]);
}
