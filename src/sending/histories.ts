import {
	hasSameRest,
	type Message,
	resultCharacters,
	type ToolResult,
	type Transcript,
} from "../conversation/transcript.ts";
import type { WrittenText } from "../json-text/edit.ts";
import type { KnownKeys } from "./identity.ts";
import type { Plan } from "./plan.ts";

/** A conversation that goes on: its last request as the host sent it, and the plans on it. */
export interface Branch extends KnownKeys {
	readonly transcript: Transcript;
	readonly chars: number;
	/** Made for this history or for its beginning. */
	plan?: Plan | undefined;
	/** The decisions that the agent asked for in its last answered call. A plan that began before the call lacks them. */
	asked?: Plan["asked"] | undefined;
	/** Whether the last planning has failed. */
	hasFailed?: boolean | undefined;
	/** Whether its last request got no good answer, so that the program may send it again. */
	wasRefused?: boolean | undefined;
	planning?: Promise<void> | undefined;
	/** Plans on the last request, once the planning that is under way has ended. */
	next?: (() => Promise<Plan>) | undefined;
	/** The body of the last request, and the body that was sent in its place. */
	writtenText?: WrittenText | undefined;
	/** Tokens of the provider for each character that was sent, from the usage of the last answer. */
	tokensPerChar?: number | undefined;
}

export type Histories = ReturnType<typeof createHistories>;

/** Branches of a conversation that go on in turns, such as those of a fork. */
const mostBranches = 3;
const mostConversations = 64;
/** The limit of all histories: some 16 conversations of 1 MB. */
const mostChars = 16_000_000;

/** The last histories of each conversation. A plan counts only for a request that continues the history it was made for. */
export function createHistories() {
	const conversations = new Map<string, readonly Branch[]>();
	return {
		/** The branch with the longest history that a request continues. */
		continuedBy(conversation: string, transcript: Transcript): Branch | undefined {
			const branches = conversations.get(conversation) ?? [];
			const found = branches.filter((branch) => continues(transcript, branch.transcript));
			return found.toSorted((a, b) => b.transcript.messages.length - a.transcript.messages.length)[0];
		},
		/** Takes a request as the last one of the branch that it continues, or of a new branch. */
		keep(
			conversation: string,
			request: KnownKeys & { readonly transcript: Transcript },
			branch: Branch | undefined,
		): Branch {
			// Of a history that goes on, only new messages are counted.
			const chars = (branch?.chars ?? 0) + charsOf(request.transcript, branch?.transcript.messages.length);
			const kept: Branch = Object.assign(branch ?? {}, { ...request, chars });
			const others = (conversations.get(conversation) ?? []).filter((one) => one !== kept);
			// Only the branch that goes on is written from the earlier text.
			for (const other of others) other.writtenText = undefined;
			conversations.delete(conversation);
			conversations.set(conversation, [kept, ...others].slice(0, mostBranches));
			dropOldest();
			return kept;
		},
	};

	function dropOldest(): void {
		let chars = 0;
		for (const branches of conversations.values()) for (const branch of branches) chars += branch.chars;
		for (const [key, branches] of conversations) {
			if (conversations.size === 1 || (chars <= mostChars && conversations.size <= mostConversations)) return;
			conversations.delete(key);
			for (const branch of branches) chars -= branch.chars;
		}
	}
}

/** One planning at a time for each branch. Of the requests that come during it, the last is planned on. */
export function planOn(branch: Branch, make: () => Promise<Plan>, failed: (error: unknown) => void): Promise<void> {
	if (branch.planning) {
		branch.next = make;
		return branch.planning;
	}
	const run = async (): Promise<void> => {
		for (let work: typeof branch.next = make; work; work = branch.next) {
			branch.next = undefined;
			try {
				branch.plan = await work();
				branch.hasFailed = false;
			} catch (error) {
				branch.hasFailed = true;
				failed(error);
			}
		}
		branch.planning = undefined;
	};
	branch.planning = run();
	return branch.planning;
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
