import { isJsonObject } from "../engine/conversation/json.js";
/**
 * Finds out how much of a list with calls and results a format reads. A value with a call or a result counts as read if the
 * format has its call, or a result with content; any other value if the format has anything of it. So an edit of a
 * result changes nothing: a conversation stays readable after it was masked. No calls or results: `all` is 0.
 */
export function explainedBy({ messages }, { messages: values, base }) {
	const isRead = new Map();
	for (const message of messages) {
		const [words, exchange] = [readsWords(message), readsExchange(message)];
		for (const path of message.paths) {
			const index = path[base.length];
			const known = isRead.get(index);
			isRead.set(index, { words: words || known?.words === true, exchange: exchange || known?.exchange === true });
		}
	}
	let [read, all, hasTools] = [0, 0, false];
	for (const [index, value] of values.entries()) {
		const claim = isRead.get(index);
		// Sessions have records that are not messages.
		if (claim === undefined && !isExchange(value)) continue;
		const found = searchWords(value);
		hasTools ||= found.hasTools;
		all += found.words;
		if (found.hasTools ? claim?.exchange : claim?.words) read += found.words;
	}
	return hasTools ? { read, all } : { read: 0, all: 0 };
}
function readsWords(message) {
	return message.counted.some((text) => text !== "") || message.mediaTokens > 0 || readsExchange(message);
}
function readsExchange({ calls, results, counted, links }) {
	const hasContent = ({ texts, whole, media }) => texts.length > 0 || whole !== undefined || media.length > 0;
	return (
		calls.length > 0 || links !== undefined || (results.length > 0 && (counted.length > 0 || results.some(hasContent)))
	);
}
/** Shorter strings are ids, names and states. */
const shortestWords = 40;
/** The length of the beginning that shows whether a long text is words: media and encrypted values are one word. */
const beginning = 400;
function searchWords(value) {
	let [words, hasTools] = [0, false];
	// Without recursion: the nesting is untrusted.
	const waiting = [value];
	while (waiting.length > 0) {
		const item = waiting.pop();
		if (typeof item === "string") {
			if (/[^\x21-\x7e]/.test(item.slice(0, beginning))) words += item.length;
			continue;
		}
		if (isJsonObject(item)) hasTools ||= isExchange(item);
		for (const member of Object.values(item)) {
			const isLong = typeof member === "string" && member.length >= shortestWords;
			if (isLong || (typeof member === "object" && member !== null)) waiting.push(member);
		}
	}
	return { words, hasTools };
}
const exchangeTypes = /^(?:tool|function|mcp)[-_]?(?:call|use|result|response|return|output|request|invocation)/i;
const exchangeKeys = [
	...["functionCall", "functionResponse", "toolUse", "toolResult"],
	...["function_call", "function_response", "tool_use", "tool_result"],
	...["toolCalls", "toolUses", "toolResults", "tool_calls", "tool_uses", "tool_results"],
];
/** Whether a value is a call or a result of a tool, in any of the shapes that programs use. */
function isExchange(value) {
	if (!isJsonObject(value)) return false;
	const { type, role } = value;
	if (typeof type === "string" && exchangeTypes.test(type)) return true;
	if (role === "tool" || role === "function") return true;
	return exchangeKeys.some((key) => typeof value[key] === "object" && Object.keys(value[key] ?? {}).length > 0);
}
