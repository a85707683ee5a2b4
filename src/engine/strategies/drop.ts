import type { GuardPolicy } from "../../policy/schema.ts";
import type { RemoveEdit, Size } from "../edit.ts";
import { groupMessages, type MessageGroup } from "../groups.ts";
import { pairResults } from "../pairing.ts";
import { startSum } from "../size.ts";
import type { Message, Transcript } from "../transcript.ts";
import { userMeetsUser } from "./user-meets-user.ts";

/** What dropping needs to know. */
export interface DropParameters {
	readonly transcript: Transcript;
	readonly policy: GuardPolicy;
	/** Size of each message before any edit. */
	readonly originalSizes: readonly Size[];
	/** Size of each message as it is when dropping begins. */
	readonly currentSizes: readonly Size[];
	/** Whether messages of this size together are all that has to go. */
	readonly isEnough: (dropped: Size) => boolean;
}

const nothing: Size = { chars: 0, tokens: 0 };

/**
 * Plans the dropping of the oldest whole groups (seed 5, L2) until enough tokens are gone or only what must stay is
 * left: system messages, what is no longer sent anyway, the newest messages with their groups, and the first user message where it is pinned. A
 * format whose API wants a user message first pins it always. Where it wants user and assistant in turn, so much more
 * goes, or an answer less, that no two user messages come to stand together.
 */
export function planDrop(parameters: DropParameters): RemoveEdit[] {
	const { transcript, policy, originalSizes, currentSizes, isEnough } = parameters;
	const { messages, inTurn = false } = transcript;
	const stays = messagesThatStay(transcript, policy);
	const isDropped = new Uint8Array(messages.length);
	const isOutOfTurn = () => inTurn && userMeetsUser(messages, isDropped);
	const dropped: MessageGroup[] = [];
	const gone = startSum();
	for (const group of groupMessages(transcript, pairResults(transcript))) {
		if (isEnough(gone.total()) && !isOutOfTurn()) break;
		if (group.messages.some((index) => stays[index] === 1)) continue;
		dropped.push(group);
		for (const index of group.messages) {
			gone.add(currentSizes[index] ?? nothing);
			isDropped[index] = 1;
		}
	}
	// An answer that stays between two questions takes less than a request that is refused.
	while (isOutOfTurn()) for (const index of dropped.pop()?.messages ?? []) isDropped[index] = 0;
	return dropped.flatMap((group) =>
		group.messages.flatMap((index) => {
			const message = messages[index];
			return message ? dropMessage(message, index, originalSizes[index] ?? nothing) : [];
		}),
	);
}

/** The edits that take out a message of a size. */
export function dropMessage(message: Message, index: number, size: Size): readonly RemoveEdit[] {
	return message.paths.map((path, position): RemoveEdit => {
		const before = position === 0 ? size : nothing;
		return { kind: "remove", reason: "drop", path, message: index, before, after: nothing };
	});
}

/** By message: 1 where it stays. */
function messagesThatStay(transcript: Transcript, policy: GuardPolicy): Uint8Array {
	const { messages, opensWithUser } = transcript;
	const stays = new Uint8Array(messages.length);
	const others = messages.flatMap(({ role, sent }, index) => {
		if (role !== "system" && sent !== false) return [index];
		stays[index] = 1;
		return [];
	});
	for (const index of others.slice(-policy.keep_last_messages)) stays[index] = 1;
	if (policy.pin_task || opensWithUser) {
		const task = messages.findIndex((message) => message.role === "user" && message.sent !== false);
		if (task !== -1) stays[task] = 1;
	}
	return stays;
}
