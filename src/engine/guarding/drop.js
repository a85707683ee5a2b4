import { addSizes, noSize, startSum, subtractSizes } from "../conversation/plan.js";
import { groupMessages, mayLeave, pairResults } from "../conversation/turns.js";
/**
 * Plans the dropping of the oldest groups until the conversation fits (docs/strategies.md#dropping). With a
 * cutter, the largest results are cut further first. System
 * messages, unsent messages and the newest messages stay; so does the first user message if it is pinned or the API wants
 * it first. If user and assistant must alternate, one more group goes or an answer stays; where only their texts must, an
 * answer stays if it fits.
 */
export function planDrop(parameters) {
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
	const isOutOfTurn = (end) => {
		return (inTurn || plainInTurn) && userMeetsUser(messages, isDropped, { end, countsCalls: inTurn });
	};
	const isPlainOf = ({ messages: [index = -1] }, role) => {
		const message = messages[index];
		return message?.role === role && isPlain(message);
	};
	const move = (group, to) => {
		for (const index of group.messages) {
			isDropped[index] = to === "out" ? 1 : 0;
			context[to === "out" ? "subtract" : "add"](sizes[index] ?? noSize);
			context[to === "out" ? "add" : "subtract"]({ chars: 0, tokens: parameters.held?.[index] ?? 0 });
		}
	};
	const relieve = (message, relief) => {
		context.subtract(relief);
		sizes[message] = subtractSizes(sizes[message] ?? noSize, relief);
	};
	let waiting = groupMessages(transcript, pairResults(transcript)).filter(
		(group) => !group.messages.some((index) => pinned[index]),
	);
	/** The context if the oldest groups are dropped now. */
	const afterDropping = (firstKept) => {
		const left = startSum(context.total());
		for (const { messages: group } of waiting) {
			if (reachesTarget(left.total()) || (group[0] ?? 0) >= firstKept) break;
			if (group.some((index) => index >= firstKept)) continue;
			for (const index of group) left.subtract(sizes[index] ?? noSize);
		}
		return left.total();
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
		const staying = [];
		const leaving = [];
		for (const [place, group] of waiting.entries()) {
			const mayGoOn = inTurn || (leaving.length > 0 && isPlainOf(group, "user"));
			const isReached = reachesTarget(context.total()) && !(mayGoOn && isOutOfTurn(end));
			if (isReached || (group.messages[0] ?? 0) >= firstKept) {
				for (const rest of waiting.slice(place)) staying.push(rest);
				break;
			}
			if (group.messages.some((index) => index >= firstKept)) {
				staying.push(group);
				continue;
			}
			leaving.push(group);
			move(group, "out");
			if (hysteresis) for (const index of group.messages) moments[index] = end;
		}
		waiting = staying;
		// The API would refuse two user messages in a row, so an answer between them stays.
		while (inTurn && leaving.length > 0 && isOutOfTurn(end)) {
			const group = leaving.pop();
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
	const edits = messages.flatMap((message, index) =>
		isDropped[index] === 1 ? dropMessage(message, index, measurement.messages[index] ?? noSize) : [],
	);
	return { edits, moments, cuts: cutter?.made ?? noCuts };
}
function doubled(size) {
	return addSizes(size, size);
}
const noCuts = new Map();
function dropMessage(message, index, size) {
	return message.paths.map((path, position) => {
		const before = position === 0 ? size : noSize;
		return { kind: "remove", reason: "drop", path, message: index, before, after: noSize };
	});
}
function pinnedMessages({ messages, opensWithUser }, policy) {
	const hasTask = policy.pin_task || opensWithUser;
	const task = hasTask ? messages.findIndex(({ role, sent }) => role === "user" && sent !== false) : -1;
	return messages.map((message, index) => !mayLeave(message) || index === task);
}
/** Whether a message has its turn for models that do not count calls and results. */
function isPlain({ calls, results }) {
	return calls.length === 0 && results.length === 0;
}
function userMeetsUser(messages, isDropped, { end, countsCalls }) {
	let last;
	let wasAnswered = false;
	for (let index = 0; index < end; index += 1) {
		const message = messages[index];
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
