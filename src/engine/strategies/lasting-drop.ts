import type { RemoveEdit, Size } from "../edit.ts";
import { groupMessages } from "../groups.ts";
import type { GuardParameters } from "../guard-plan.ts";
import type { Measurement } from "../measure.ts";
import { pairResults } from "../pairing.ts";
import { readHistory } from "../replay/history.ts";
import { replay } from "../replay/replay.ts";
import { startSum } from "../size.ts";
import { exactScale, highTokens } from "../token-scale.ts";
import { dropMessage } from "./drop.ts";
import type { Replaying } from "./mask.ts";
import { planGuardTruncation } from "./truncate-of-guard.ts";
import { userMeetsUser } from "./user-meets-user.ts";

/** What dropping by replay needs to know. */
export interface LastingDropParameters extends GuardParameters {
	readonly measurement: Measurement;
	readonly replaying: Replaying;
}

/** What is dropped, and of each message that is, how many messages there were when it went. */
export interface LastingDrop {
	readonly edits: readonly RemoveEdit[];
	readonly moments: ArrayLike<number>;
}

const nothing: Size = { chars: 0, tokens: 0 };

/**
 * Plans the dropping of the oldest whole groups (seed 5, L2) with hysteresis: walks through the history, and each time
 * that it is over the budget, drops until `target_ratio` of it is reached or only what must stay is left. What was
 * dropped stays so when the conversation goes on, and the calls after it append instead of cutting again. What must
 * stay is what `planDrop` leaves, at that point of the history.
 */
export function planLastingDrop(parameters: LastingDropParameters): LastingDrop {
	const { transcript, policy, budget, measurement, scale = exactScale } = parameters;
	const { messages, inTurn = false } = transcript;
	const target = budget * (policy.guard.target_ratio ?? 1);
	const lighter = reliefs(parameters);
	const sizes = [...measurement.messages];
	const view = startSum(measurement.total);
	for (const size of sizes) view.subtract(size);
	const relieve = (message: number, relief: Size) => {
		view.subtract(sizes[message] ?? nothing);
		sizes[message] = less(sizes[message] ?? nothing, relief);
		view.add(sizes[message] ?? nothing);
	};

	const pinned = pinnedMessages(parameters);
	const groups = groupMessages(transcript, pairResults(transcript)).filter(
		({ messages: members }) => !members.some((index) => pinned[index]),
	);
	const isDropped = new Uint8Array(messages.length);
	const moments = new Float64Array(messages.length).fill(Number.POSITIVE_INFINITY);
	const isOutOfTurn = (end: number) => inTurn && userMeetsUser(messages, isDropped, end);
	const movable = messages.flatMap((message, index) =>
		message.role === "system" || message.sent === false ? [] : [index],
	);
	let arrived = 0;
	let waiting = groups;
	const edits: RemoveEdit[] = [];
	for (let end = 1; end <= messages.length; end += 1) {
		view.add(sizes[end - 1] ?? nothing);
		if (movable[arrived] === end - 1) arrived += 1;
		for (const { message, relief } of lighter.get(end) ?? []) if (isDropped[message] === 0) relieve(message, relief);
		if (highTokens(view.total(), scale) <= budget) continue;
		const firstKept = movable[Math.max(0, arrived - policy.guard.keep_last_messages)] ?? 0;
		const still: typeof groups = [];
		const atOnce: typeof groups = [];
		for (let place = 0; place < waiting.length; place += 1) {
			const group = waiting[place] as (typeof groups)[number];
			const isReached = highTokens(view.total(), scale) <= target && !isOutOfTurn(end);
			if ((group.messages[0] ?? 0) >= firstKept || isReached) {
				for (; place < waiting.length; place += 1) still.push(waiting[place] as (typeof groups)[number]);
			} else if (group.messages.some((index) => index >= firstKept)) still.push(group);
			else {
				atOnce.push(group);
				for (const index of group.messages) {
					view.subtract(sizes[index] ?? nothing);
					isDropped[index] = 1;
					moments[index] = end;
				}
			}
		}
		waiting = still;
		while (atOnce.length > 0 && isOutOfTurn(end)) {
			const group = atOnce.pop() as (typeof groups)[number];
			waiting.unshift(group);
			for (const index of group.messages) {
				view.add(sizes[index] ?? nothing);
				isDropped[index] = 0;
			}
		}
	}
	messages.forEach((message, index) => {
		if (isDropped[index] === 1) edits.push(...dropMessage(message, index, measurement.messages[index] ?? nothing));
	});
	return { edits, moments };
}

function less(size: Size, relief: Size): Size {
	return { ...size, chars: size.chars - relief.chars, tokens: size.tokens - relief.tokens };
}

/** What never goes, by message: system messages, what is no longer sent anyway, the pinned task. */
function pinnedMessages({ transcript, policy }: LastingDropParameters): readonly boolean[] {
	const { messages, opensWithUser } = transcript;
	const hasTask = policy.guard.pin_task || opensWithUser;
	const task = hasTask ? messages.findIndex(({ role, sent }) => role === "user" && sent !== false) : -1;
	return messages.map(({ role, sent }, index) => role === "system" || sent === false || index === task);
}

/** By how much messages become lighter, by the number of messages there are when they do: truncated, then masked. */
function reliefs(parameters: LastingDropParameters) {
	const { transcript, policy, meter, wording, isPlaceholder, archiving, replaying } = parameters;
	const { ladder } = policy.guard;
	const { countTokens } = meter;
	const byMoment = new Map<number, { message: number; relief: Size }[]>();
	const add = (moment: number, message: number, relief: Size) => {
		const list = byMoment.get(moment);
		if (list) list.push({ message, relief });
		else byMoment.set(moment, [{ message, relief }]);
	};
	const truncated = new Map<unknown, number>();
	if (ladder.includes("truncate")) {
		for (const { message, unsent, before, after } of planGuardTruncation(parameters)) {
			if (unsent) continue;
			add(message + 1, message, { chars: before.chars - after.chars, tokens: before.tokens - after.tokens });
			truncated.set(message, (truncated.get(message) ?? 0) + before.tokens - after.tokens);
		}
	}
	if (!ladder.includes("mask")) return byMoment;
	const history = readHistory({
		transcript,
		meter,
		policy: policy.mask,
		media: policy.media,
		wording,
		isPlaceholder,
		countTokens,
		archiving,
	});
	const schedule = replay(history, { ...replaying, mask: policy.mask });
	history.results.forEach(({ message, saves }, place) => {
		const moment = schedule[place] as number;
		if (moment === Number.POSITIVE_INFINITY || transcript.messages[message]?.sent === false) return;
		// A placeholder takes the place of what truncation left, which has saved its part already.
		const tokens = Math.max(0, saves - (truncated.get(message) ?? 0));
		add(moment, message, { chars: 0, tokens });
	});
	return byMoment;
}
