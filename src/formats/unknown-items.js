import { isJsonObject } from "../engine/conversation/json.js";
import { stringAt } from "./json-text/value.js";
import { MessageDraft } from "./parts.js";
/**
 * How a list of messages fits a format if some of its items have a kind that is newer than this program: the rest decides,
 * so that a format is recognised by what is there. An item that only one of `others` has is a contradiction.
 */
export function fitAroundUnknown(format, located, others) {
	const { messages } = located;
	const whole = format.probe(located);
	// Most formats do not even fit the messages of a known kind.
	if (whole.fit === "none" && !isOfNewKind(messages[whole.message])) return "none";
	const unknown = new Set(unknownTo(format, located));
	const rest = messages.filter((_, index) => !unknown.has(index));
	const { fit } = format.probe({ ...located, messages: rest });
	if (rest.length === 0 || fit === "none") return "none";
	if (fit !== "certain" && unknown.size > rest.length) return "none";
	const isElsewhere = (index) => others.some((other) => probeAlone(other, located, index) === "certain");
	return Array.from(unknown).some(isElsewhere) ? "none" : fit;
}
/** The same format, which also counts the items that it does not know. They are never edited. */
export function countingUnknown(format) {
	const read = (located) => {
		const { messages: values, base } = located;
		const transcript = format.read(located);
		const unknown = new Set(unknownTo(format, located));
		const isOfOne = ({ paths }) => paths.every((path) => unknown.has(Number(path[base.length])));
		const known = transcript.messages.filter((message) => !isOfOne(message));
		// Those that stand in an answer of the model are read with it.
		for (const { paths } of known) for (const path of paths) unknown.delete(Number(path[base.length]));
		const added = Array.from(unknown, (index) => {
			const message = new MessageDraft("other", [...base, index]);
			return message.count(values[index]);
		});
		return { ...transcript, messages: inOrder(known, added, base.length) };
	};
	return { ...format, read };
}
/** Puts messages of one value each before the first message that begins after them. */
function inOrder(messages, added, depth) {
	const placeOf = ({ paths: [path] }) => Number(path?.[depth] ?? -1);
	const merged = [];
	let next = 0;
	for (const message of messages) {
		for (let one = added[next]; one && placeOf(one) < placeOf(message); one = added[next]) {
			merged.push(one);
			next += 1;
		}
		merged.push(message);
	}
	return [...merged, ...added.slice(next)];
}
/** Indexes of the values of a new kind that do not fit beside a message of the format, ascending. */
function unknownTo(format, located) {
	const { messages } = located;
	const candidates = messages.flatMap((value, index) => (isOfNewKind(value) ? [index] : []));
	if (candidates.length === 0) return [];
	const fits = (fit) => (_, index) => probeAlone(format, located, index) === fit;
	const certain = messages.findIndex(fits("certain"));
	const anchor =
		certain === -1 ? messages.findIndex((value, index) => !isOfNewKind(value) && !fits("none")(value, index)) : certain;
	return candidates.filter((index) => {
		const beside = anchor === -1 ? [messages[index]] : [messages[anchor], messages[index]];
		return format.probe({ ...located, messages: beside }).fit === "none";
	});
}
function probeAlone(format, located, index) {
	return format.probe({ ...located, messages: [located.messages[index]] }).fit;
}
/** Members that name the kind of an item, in this order. */
const kindKeys = ["type", "role", "kind", "source", "event"];
/** Kinds that many formats have: an item of one of them that does not fit is of another format. */
const plainKinds = new Set([
	...["text", "reasoning", "thinking", "compaction", "tool_call", "tool_result", "tool_use"],
	...["message", "system", "developer", "user", "human", "assistant", "ai", "model", "agent", "tool", "function"],
]);
function isOfNewKind(value) {
	if (!isJsonObject(value)) return false;
	const key = kindKeys.find((name) => Object.hasOwn(value, name));
	const kind = key === undefined ? undefined : stringAt(value, key);
	return kind !== undefined && !plainKinds.has(kind);
}
