import { isJsonObject } from "../engine/conversation/json.js";
import { once } from "../engine/conversation/lists.js";
import { valueAt } from "../engine/conversation/paths.js";
import { stringAt } from "./json-text/value.js";
import { actionIn, elementInput, textProtocols, untilPersonsWords } from "./text-protocols.js";
/** A format that also reads observations, for this conversation and for verifying its edits. `undefined` if there are none. */
export function observingReader(format, transcript, { located, observations }) {
	const readBy = (protocols) => {
		const read = (other) => readObservations(format.read(other), other, protocols).transcript;
		const found = readObservations(transcript, located, protocols);
		return { found, reader: { format: { ...format, read }, transcript: found.transcript } };
	};
	const { messages } = transcript;
	const all = textProtocols(observations);
	if (all.length === 0) return undefined;
	const firstResult = messages.findIndex(({ results }) => results.length > 0);
	if (observations === "auto" && firstResult !== -1) {
		const before = { ...transcript, messages: messages.slice(0, firstResult) };
		if (readObservations(before, located, all).messages.length === 0) return undefined;
	}
	const { found, reader } = readBy(all);
	const [start] = found.messages;
	if (start === undefined) return undefined;
	if (firstResult === -1 || start < firstResult) return reader;
	const plain = readBy(all.filter(({ isPlain }) => !isPlain));
	return plain.found.messages.length > 0 ? plain.reader : undefined;
}
/**
 * Reads the observations of text protocols as results of the assistant's last message. Only the two messages decide, and
 * of an observation only the marks around it, so that no other edit and no later message changes which texts are observations.
 */
function readObservations(transcript, located, protocols) {
	const messages = [...transcript.messages];
	const observing = [];
	let asked;
	for (const [index, message] of transcript.messages.entries()) {
		for (const { callId } of message.results) if (callId !== undefined) asked?.answered.add(callId);
		if (message.role === "assistant") asked = askedBy(index, message, located);
		// Demonstrations are part of the task. SWE-agent's own masking keeps them too.
		if (isDemonstration(message, located)) asked = undefined;
		// Without a text outside its results it holds none.
		if (message.role !== "user" || !asked || message.counted.length === 0) continue;
		const found = observationsIn(message, located, { asked, protocols });
		if (found.length === 0) continue;
		observing.push(index);
		const counted = [...message.counted];
		const results = [...message.results];
		for (const { at, node, observed } of found) {
			const callId = callOf(observed, asked);
			const pieces = [node.frame?.before ?? "", node.frame?.after ?? ""].filter((piece) => piece !== "");
			counted.splice(at + counted.length - message.counted.length, 1, ...pieces);
			results.push(resultOf(callId, node, observed));
		}
		messages[index] = { ...message, counted, results };
		messages[asked.index] = { ...messages[asked.index], calls: asked.calls };
	}
	return { transcript: observing.length === 0 ? transcript : { ...transcript, messages }, messages: observing };
}
function isDemonstration({ paths: [path] }, { messages, base }) {
	const value = path && messages[path[base.length]];
	return isJsonObject(value) && value.is_demo === true;
}
function askedBy(index, message, located) {
	const words = once(() =>
		textsOf(message, located)
			.map(({ text }) => text)
			.join("\n"),
	);
	return { index, words, calls: message.calls, answered: new Set(), numbers: new Map() };
}
function observationsIn(message, located, { asked, protocols }) {
	const found = [];
	let from = 0;
	/** A header at the end of a text announces the next text. */
	let header;
	for (const { path, text, holder } of textsOf(message, located)) {
		const at = message.counted.indexOf(text, from);
		if (at === -1) continue;
		from = at + 1;
		const own = observe(text, holder, { asked, protocols });
		const opens = own?.start === text.length;
		const observed = header && !opens ? { ...header, start: 0, ...untilPersonsWords(text, 0) } : own;
		header = opens ? own : undefined;
		if (!observed || observed.end <= observed.start) continue;
		const { start, end } = observed;
		const frame = { before: text.slice(0, start), after: text.slice(end) };
		found.push({ at, observed, node: { path, text: text.slice(start, end), frame } });
	}
	return found;
}
function observe(text, holder, { asked, protocols }) {
	for (const { observe: find, acts } of protocols) {
		const observed = find(text, holder);
		if (observed && (acts?.(asked.words()) ?? true)) return observed;
	}
	return undefined;
}
/** The id of the call that an observation answers: an API call without a result, else one read from the words. */
function callOf({ tool, input }, asked) {
	const open = asked.calls.filter(
		({ id, input: made }) => id !== undefined && made === undefined && !asked.answered.has(id),
	);
	const own = open.find(({ name }) => name === tool) ?? open[0];
	if (own?.id !== undefined) {
		asked.answered.add(own.id);
		return own.id;
	}
	asked.action ??= tool === undefined || input === undefined ? actionIn(asked.words()) : undefined;
	const name = tool ?? asked.action?.tool ?? "action";
	const number = (asked.numbers.get(name) ?? 0) + 1;
	asked.numbers.set(name, number);
	const id = `${name}#${number}`;
	const made = input ?? elementInput(asked.words(), name, number) ?? asked.action?.input ?? "";
	asked.calls = [...asked.calls, { id, name, input: made }];
	return id;
}
function resultOf(callId, node, { isError }) {
	const { before = "", after = "" } = node.frame ?? {};
	const write = (text) => before + text + after;
	return { callId, texts: [node], whole: { path: node.path, write }, copies: [], media: [], isError };
}
/** The texts of a message's own content: a string, or its text parts. */
function textsOf({ paths }, { messages, base }) {
	return paths.flatMap((path) => {
		const holder = valueAt(messages, path.slice(base.length));
		if (!isJsonObject(holder)) return [];
		const key = contentKeys.find((one) => Object.hasOwn(holder, one));
		const content = key === undefined ? undefined : holder[key];
		if (key === undefined) return [];
		if (typeof content === "string") return [{ path: [...path, key], text: content, holder }];
		if (!Array.isArray(content)) return [];
		return content.flatMap((part, index) => {
			const text = isJsonObject(part) && isText(part) ? stringAt(part, "text") : undefined;
			return text === undefined ? [] : [{ path: [...path, key, index, "text"], text, holder }];
		});
	});
}
const contentKeys = ["content", "parts"];
function isText({ type }) {
	return type === undefined || type === "text" || type === "input_text" || type === "output_text";
}
