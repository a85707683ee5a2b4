import type { Measurement } from "../conversation/measure.ts";
import {
	addSizes,
	type Edit,
	noSize,
	type RemoveEdit,
	type Size,
	startSum,
	subtractSizes,
} from "../conversation/plan.ts";
import type { Message, Role, Transcript } from "../conversation/transcript.ts";
import { groupMessages, type MessageGroup, mayLeave, pairResults } from "../conversation/turns.ts";
import type { GuardPolicy } from "../policy/schema.ts";
import type { FurtherCuts, ResultCutter } from "./further-cuts.ts";

/**
 * Plans the dropping of the oldest groups until the conversation fits (docs/strategies.md#dropping). With a
 * cutter, the largest results are cut further first. A text that would push out nearly all older groups can go before them.
 * System messages, unsent messages and the newest messages stay; so does the first user message if it is pinned or the API wants
 * it first. If user and assistant must alternate, one more group goes or an answer stays; where only their texts must, an
 * answer stays if it fits.
 */
export function planDrop(parameters: DropParameters) {
	const { transcript, policy, measurement, fits, hysteresis } = parameters;
	const cutter = parameters.startCutter?.();
	const { reachesTarget = fits, reliefs } = hysteresis ?? {};
	const { messages, inTurn = false, plainInTurn = false } = transcript;
	const pinned = pinnedMessages(transcript, policy);
	const movable = messages.flatMap((message, index) => (mayLeave(message) ? [index] : []));
	const sizes = [...(parameters.sizes ?? measurement.messages)];
	const context = startSum(measurement.total);
	for (const size of measurement.messages) context.subtract(size);
	const isDropped = new Uint8Array(messages.length);
	/** For each message, the number of messages when it was first dropped; `Infinity` if it stays or is dropped only now. */
	const moments = new Float64Array(messages.length).fill(Number.POSITIVE_INFINITY);
	const isOutOfTurn = (end: number) => {
		return (inTurn || plainInTurn) && userMeetsUser(messages, isDropped, { end, countsCalls: inTurn });
	};
	const isPlainOf = ({ messages: [index = -1] }: MessageGroup, role: Role) => {
		const message = messages[index];
		return message?.role === role && isPlain(message);
	};
	const move = (group: MessageGroup, to: "out" | "in") => {
		for (const index of group.messages) {
			isDropped[index] = to === "out" ? 1 : 0;
			context[to === "out" ? "subtract" : "add"](sizes[index] ?? noSize);
			context[to === "out" ? "add" : "subtract"]({ chars: 0, tokens: parameters.held?.[index] ?? 0 });
		}
	};
	const drop = (group: MessageGroup, end: number) => {
		move(group, "out");
		if (hysteresis) for (const index of group.messages) moments[index] = end;
	};
	const relieve = (message: number, relief: Size) => {
		context.subtract(relief);
		sizes[message] = subtractSizes(sizes[message] ?? noSize, relief);
	};

	let waiting = groupMessages(transcript, pairResults(transcript)).filter(
		(group) => !group.messages.some((index) => pinned[index]),
	);
	/** The context if the oldest groups are dropped now. */
	const afterDropping = (firstKept: number): Size => {
		const left = startSum(context.total());
		for (const { messages: group } of waiting) {
			if (reachesTarget(left.total()) || (group[0] ?? 0) >= firstKept) break;
			if (group.some((index) => index >= firstKept)) continue;
			for (const index of group) left.subtract(sizes[index] ?? noSize);
		}
		return left.total();
	};
	/** The fewest texts that suffice alone, largest first; none if it takes many. Results can be cut instead. */
	const oversized = (firstKept: number): MessageGroup[] => {
		const left = startSum(context.total());
		const sizeOf = ({ messages: group }: MessageGroup) =>
			group.map((index) => sizes[index] ?? noSize).reduce(addSizes, noSize);
		const taken: MessageGroup[] = [];
		const movable = waiting.filter(({ messages: [index = 0] }) => index < firstKept && isPlain(messages[index]));
		for (const group of movable.toSorted((a, b) => sizeOf(b).tokens - sizeOf(a).tokens).slice(0, mostOversized)) {
			if (reachesTarget(left.total())) break;
			taken.push(group);
			left.subtract(sizeOf(group));
			for (const index of group.messages) left.add({ chars: 0, tokens: parameters.held?.[index] ?? 0 });
		}
		return reachesTarget(left.total()) ? taken : [];
	};
	let arrived = 0;
	for (let end = 1; end <= messages.length; end += 1) {
		context.add(sizes[end - 1] ?? noSize);
		if (movable[arrived] === end - 1) arrived += 1;
		for (const { message, relief, masks } of reliefs?.get(end) ?? []) {
			const saved = masks === undefined ? 0 : (cutter?.mask(masks) ?? 0);
			if (isDropped[message] === 1) continue;
			relieve(message, saved === 0 ? relief : { ...relief, tokens: Math.max(0, relief.tokens - saved) });
		}
		if ((!hysteresis && end < messages.length) || fits(context.total())) continue;
		const firstKept = movable[Math.max(0, arrived - policy.keep_last_messages)] ?? 0;
		const leavesLittle = () => fits(doubled(afterDropping(firstKept)));
		const given = { moment: end, context: context.total(), reaches: reachesTarget, leavesLittle, isDropped };
		for (const { message, relief } of cutter?.cut(given) ?? []) relieve(message, relief);
		if (fits(context.total())) continue;
		const leaving = (parameters.dropsOversized && leavesLittle() && oversized(firstKept)) || [];
		if (parameters.dropsOversized === "alone" && leaving.length === 0) continue;
		for (const group of leaving) drop(group, end);
		const staying: MessageGroup[] = [];
		const left = waiting.filter((group) => !leaving.includes(group));
		for (const [place, group] of left.entries()) {
			const mayGoOn = inTurn || (leaving.length > 0 && isPlainOf(group, "user"));
			const isReached = reachesTarget(context.total()) && !(mayGoOn && isOutOfTurn(end));
			if (isReached || (group.messages[0] ?? 0) >= firstKept) {
				staying.push(...left.slice(place));
				break;
			}
			if (group.messages.some((index) => index >= firstKept)) {
				staying.push(group);
				continue;
			}
			leaving.push(group);
			drop(group, end);
		}
		waiting = staying;
		// The API would refuse two user messages in a row, so an answer between them stays.
		while (inTurn && leaving.length > 0 && isOutOfTurn(end)) {
			const group = leaving.pop() as MessageGroup;
			waiting.unshift(group);
			move(group, "in");
		}
		// So do templates of models, which do not count calls and results. An API takes both, so it has to fit first.
		const answer = plainInTurn ? leaving.findLast((group) => isPlainOf(group, "assistant")) : undefined;
		if (answer && isOutOfTurn(end)) {
			move(answer, "in");
			if (fits(context.total()) && !isOutOfTurn(end)) waiting.unshift(answer);
			else move(answer, "out");
		}
	}
	const edits: readonly Edit[] = messages.flatMap((message, index) =>
		isDropped[index] === 1 ? dropMessage(message, index, measurement.messages[index] ?? noSize) : [],
	);
	return { edits, moments, cuts: cutter?.made ?? noCuts };
}

export interface DropParameters {
	readonly transcript: Transcript;
	readonly policy: GuardPolicy;
	readonly measurement: Measurement;
	/** Size of each message when dropping begins; by default the measured size. */
	readonly sizes?: readonly Size[];
	readonly fits: (context: Size) => boolean;
	/** By message, tokens of it that stay in another place if it is dropped. */
	readonly held?: readonly number[];
	/** Starts to cut results further before groups are dropped. */
	readonly startCutter?: (() => ResultCutter) | undefined;
	/** Whether a text that would push out nearly all older groups goes before them; `alone`: nothing else is dropped. */
	readonly dropsOversized?: "first" | "alone" | undefined;
	/** Replays the history, so that dropped messages stay dropped. Without it, they are dropped once, at the end. */
	readonly hysteresis?: {
		readonly reachesTarget: (context: Size) => boolean;
		readonly reliefs: Reliefs;
	};
}

/** Groups that may go before older ones. */
const mostOversized = 3;

function doubled(size: Size): Size {
	return addSizes(size, size);
}

const noCuts: FurtherCuts = new Map();

/** How much smaller messages become, by the number of messages at that time. */
export type Reliefs = ReadonlyMap<number, readonly Relief[]>;

interface Relief {
	readonly message: number;
	readonly relief: Size;
	/** The place of the result that is masked, in the order of `pairResults`. */
	readonly masks?: number;
}

function dropMessage(message: Message, index: number, size: Size): RemoveEdit[] {
	return message.paths.map((path, position): RemoveEdit => {
		const before = position === 0 ? size : noSize;
		return { kind: "remove", reason: "drop", path, message: index, before, after: noSize };
	});
}

function pinnedMessages({ messages, opensWithUser }: Transcript, policy: GuardPolicy): readonly boolean[] {
	const hasTask = policy.pin_task || opensWithUser;
	const task = hasTask ? messages.findIndex(({ role, sent }) => role === "user" && sent !== false) : -1;
	return messages.map((message, index) => !mayLeave(message) || index === task);
}

/** Whether a message has its turn for models that do not count calls and results. */
export function isPlain(message: Message | undefined): boolean {
	return message?.calls.length === 0 && message.results.length === 0;
}

function userMeetsUser(
	messages: readonly Message[],
	isDropped: Uint8Array,
	{ end, countsCalls }: { readonly end: number; readonly countsCalls: boolean },
): boolean {
	let last: Message | undefined;
	let wasAnswered = false;
	for (let index = 0; index < end; index += 1) {
		const message = messages[index] as Message;
		if (message.role === "system" || message.sent === false) continue;
		if (!countsCalls && (message.role === "tool" || !isPlain(message))) continue;
		if (isDropped[index] === 1) {
			wasAnswered ||= message.role === "assistant";
			continue;
		}
		if (wasAnswered && last !== undefined && last.role !== "assistant" && message.role !== "assistant") return true;
		last = message;
		wasAnswered = false;
	}
	return false;
}
