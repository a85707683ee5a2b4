import { addToList, groupBy } from "./lists.js";
/** Finds by call the index of its arguments in `counted`, right after its name; `undefined` if it is counted otherwise. */
export function locateCallArguments({ calls, counted }) {
	const places = new Array(calls.length).fill(undefined);
	const byName = new Map();
	for (let call = calls.length - 1; call >= 0; call -= 1) {
		addToList(byName, calls[call]?.name ?? "", call);
	}
	let nextCall = 0;
	for (let index = 0; index + 1 < counted.length; index += 1) {
		const left = byName.get(counted[index]);
		while (left && (left.at(-1) ?? nextCall) < nextCall) left.pop();
		const call = left?.pop();
		if (call === undefined) continue;
		places[call] = index + 1;
		nextCall = call + 1;
		index += 1;
	}
	return places;
}
/** The arguments of each call as counted: JSON, or free text. */
export function callArguments(message) {
	return locateCallArguments(message).map((place, call) =>
		place === undefined ? message.calls[call]?.input : message.counted[place],
	);
}
/**
 * Whether a message may be dropped or summarised: system messages stay, and so does what no format knows, since other
 * messages may need it.
 */
export function mayLeave({ role, sent }) {
	return role !== "system" && role !== "other" && sent !== false;
}
/** Ordered by their first message. A message with a result without id joins the nearest earlier one with calls. */
export function groupMessages({ messages }, paired) {
	const parents = messages.map((_, index) => index);
	const find = (index) => {
		let root = index;
		while (parents[root] !== root) {
			// Halves the way, so that later searches are short.
			parents[root] = parents[parents[root]];
			root = parents[root];
		}
		return root;
	};
	const join = (a, b) => {
		const [first, second] = [find(a), find(b)];
		parents[Math.max(first, second)] = Math.min(first, second);
	};
	for (const { message, caller } of paired) if (caller !== undefined) join(message, caller);
	for (const { message, opener } of pairLinks(messages)) if (opener !== undefined) join(message, opener);
	let latestCaller;
	messages.forEach((message, index) => {
		if (message.calls.length > 0) latestCaller = index;
		const isPositional = message.results.some(({ callId }) => callId === undefined);
		if (isPositional && latestCaller !== undefined) join(index, latestCaller);
	});
	return Array.from(groupBy(messages.keys(), find).values(), (indexes) => ({ messages: indexes }));
}
/** Pairs each result with the latest earlier call of its id, in order of appearance: real conversations reuse ids. */
export function pairResults({ messages }) {
	const latest = new Map();
	const paired = [];
	for (const [index, { calls, results }] of messages.entries()) {
		for (const call of calls) if (call.id !== undefined) latest.set(call.id, { caller: index, call });
		for (const result of results) {
			const owner = latest.get(result.callId);
			paired.push({ result, message: index, caller: owner?.caller, call: owner?.call });
		}
	}
	return paired;
}
/** Pairs each link with the latest earlier block of its id, which may be a call. */
export function pairLinks(messages) {
	// Few conversations have any.
	if (!messages.some(({ links }) => links)) return [];
	const latest = new Map();
	const paired = [];
	for (const [index, { calls, links = [] }] of messages.entries()) {
		for (const { id } of calls) if (id !== undefined) latest.set(id, index);
		for (const { kind, id } of links) if (kind === "opens") latest.set(id, index);
		for (const link of links) {
			if (link.kind === "refers") paired.push({ link, message: index, opener: latest.get(link.id) });
		}
	}
	return paired;
}
/** Indexes of the tool turns (docs/strategies.md#tool-turns). Parallel calls are one turn. */
export function toolTurns({ messages }) {
	return messages.flatMap((message, index) => (isToolTurn(message) ? [index] : []));
}
export function isToolTurn(message) {
	return message.role === "assistant" && message.calls.some((call) => call.id !== undefined);
}
