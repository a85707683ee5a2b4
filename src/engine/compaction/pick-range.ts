import { groupMessages, type MessageGroup } from "../groups.ts";
import { pairResults } from "../pairing.ts";
import type { Message, Transcript } from "../transcript.ts";

/** What picking a range depends on. */
export interface PickRangeParameters {
	readonly transcript: Transcript;
	/** Newest messages (system messages aside) that stay, with their groups: 2 in seed 3, 5 in seed 4. */
	readonly keepLastMessages: number;
	/** Whether the first user message stays; where the format's API wants a user message first, it always does. */
	readonly pinTask: boolean;
	/** Whether a message is an earlier summary. A range of nothing else is not worth summarising again. */
	readonly isSummary?: (message: number) => boolean;
}

/** The messages that a summary may take the place of. */
export interface PickedRange {
	/** Their indexes, ascending; whole groups only. */
	readonly messages: readonly number[];
	/** The same by group, oldest first. */
	readonly groups: readonly MessageGroup[];
	/** Tokens are saved from here on: the first of them, before which the summary is put. */
	readonly first: number;
}

/**
 * Picks what is summarised: all whole groups between the task and the last messages. A group stays whole or goes whole,
 * so that no call loses its result. What stands between and stays (a system message, what is no longer sent, a group
 * that reaches into the last messages) leaves a hole; apart from that the range is contiguous. Where user and assistant
 * are to speak in turn and a user message stands at both its ends, the assistant's last message in it stays between them.
 * `undefined` where there is nothing to summarise.
 */
export function pickRange(parameters: PickRangeParameters): PickedRange | undefined {
	const { transcript, keepLastMessages, pinTask, isSummary = () => false } = parameters;
	const { messages, inTurn } = transcript;
	const movable: number[] = [];
	messages.forEach((message, index) => {
		if (message.role !== "system" && message.sent !== false) movable.push(index);
	});
	const stays = new Set(keepLastMessages <= 0 ? [] : movable.slice(-keepLastMessages));
	const task = messages.findIndex((message) => message.role === "user" && message.sent !== false);
	const isPinned = task !== -1 && (pinTask || transcript.opensWithUser);

	const isMovable = new Set(movable);
	const between = groupMessages(transcript, pairResults(transcript)).filter((group) =>
		group.messages.every((index) => isMovable.has(index) && !stays.has(index) && !(isPinned && index <= task)),
	);
	const groups = inTurn ? untilTheirTurn(between, messages) : between;
	const picked = groups.flatMap((group) => group.messages).toSorted((a, b) => a - b);
	const [first] = picked;
	if (first === undefined || picked.every(isSummary)) return undefined;
	return { messages: picked, groups, first };
}

/** The groups without the last ones, as far as the user would else speak twice, in front of them and behind. */
function untilTheirTurn(groups: readonly MessageGroup[], messages: readonly Message[]): readonly MessageGroup[] {
	const first = groups[0]?.messages[0];
	if (first === undefined) return groups;
	const gone = new Set(groups.flatMap((group) => group.messages));
	const behind = messages.find(({ sent }, index) => index > first && !gone.has(index) && sent !== false);
	if (messages[first - 1]?.role !== "user" || behind?.role !== "user") return groups;
	const last = groups.findLastIndex((group) => messages[group.messages[0] ?? -1]?.role === "assistant");
	// Where the user spoke twice before, nothing is lost by its doing so again.
	return last === -1 ? groups : groups.slice(0, last);
}
