import { findIdentifiers } from "../compaction/identifiers.ts";
import { type Message, resultText, type ToolResult } from "../transcript.ts";
import { wholeLines } from "./whole-lines.ts";

/** The identifiers and whole lines of a message or a result, each once. */
export interface Strings {
	readonly identifiers: readonly string[];
	readonly lines: readonly string[];
}

// The same messages come again with each call of a conversation that goes on.
const ofMessages = new WeakMap<Message, Strings>();
const ofResults = new WeakMap<ToolResult, Strings>();

/** What a message says itself: its texts and the arguments of its calls, not its results. */
export function stringsOfMessage(message: Message): Strings {
	let strings = ofMessages.get(message);
	if (!strings) {
		strings = stringsIn(message.counted);
		ofMessages.set(message, strings);
	}
	return strings;
}

/** What a tool result holds. */
export function stringsOfResult(result: ToolResult): Strings {
	let strings = ofResults.get(result);
	if (!strings) {
		strings = stringsIn([resultText(result)]);
		ofResults.set(result, strings);
	}
	return strings;
}

function stringsIn(texts: readonly string[]): Strings {
	const identifiers = new Set<string>();
	const lines = new Set<string>();
	for (const text of texts) {
		for (const one of findIdentifiers(text)) identifiers.add(one.text);
		for (const line of wholeLines(text)) lines.add(line);
	}
	return { identifiers: Array.from(identifiers), lines: Array.from(lines) };
}
