import { asksPerson } from "../conversation/asking-tools.ts";
import { valueAt } from "../conversation/paths.ts";
import type { Message, Transcript } from "../conversation/transcript.ts";
import { locateCallArguments, pairResults } from "../conversation/turns.ts";
import { keepWithin, markWhole, writeWords } from "./kept-words.ts";
import { splitFrames } from "./summary.ts";

/** Tokens of the words in the summary of another program, whose window is unknown. */
const mostTokens = 4_000;

/** The words of people, for the summary of another program; `undefined` if there is nothing. */
export function usersWords(written: readonly string[]): string | undefined {
	const { texts } = keepWithin({
		texts: markWhole(written.flatMap(ownWords)),
		most: mostTokens,
		countTokens: (text) => text.length / 4,
		locale: "en",
	});
	return writeWords(texts, "en");
}

/** Lists the texts of people by message. Those that an earlier summary keeps are the texts of its message. */
export function usersTexts({ document, transcript }: Written): readonly (readonly string[])[] {
	return transcript.messages.map((message) => textsOfMessage(document, message));
}

/** By message, what people answered to a tool that asked them. Placeholders of earlier calls are left out. */
export function answersToTools(
	transcript: Transcript,
	isPlaceholder: (text: string) => boolean,
): readonly (readonly string[])[] {
	const answers: string[][] = transcript.messages.map(() => []);
	for (const { call, result, message } of pairResults(transcript)) {
		if (!asksPerson(call?.name)) continue;
		const texts = result.texts.map(({ text }) => text).filter((text) => !isPlaceholder(text));
		answers[message]?.push(...texts.flatMap(ownWords));
	}
	return answers;
}

interface Written {
	readonly document: unknown;
	readonly transcript: Transcript;
}

function textsOfMessage(document: unknown, message: Message): readonly string[] {
	const { role, sent, counted, paths, results } = message;
	if (role !== "user" || sent === false || counted.length === 0) return [];
	const own = new Set<string>();
	for (const path of paths) addStrings(valueAt(document, path), own);
	for (const { frame } of results.flatMap(({ texts }) => texts))
		if (frame && answers.test(frame.after)) own.add(frame.after);
	// The user of tau2-bench calls tools.
	const ofCalls = new Set(locateCallArguments(message).flatMap((at) => (at === undefined ? [] : [at - 1, at])));
	return counted.flatMap((text, index) => {
		if (ofCalls.has(index)) return [];
		const { own: before, frames } = splitFrames(text);
		return [...(own.has(text) ? ownWords(before) : []), ...frames.flatMap(({ words = [] }) => words)];
	});
}

/** Cline and Roo Code put the answer of a person after an observation. */
const answers = /<(?:feedback|user_message|answer|task)>/;

/** Neither names nor attached documents, nor JSON that a format counts as a whole. A value may be nested at any depth. */
function addStrings(value: unknown, own: Set<string>): void {
	const left = [value];
	while (left.length > 0) {
		const next = left.pop();
		if (typeof next === "string") own.add(next);
		else if (Array.isArray(next)) for (const item of next) left.push(item);
		else if (typeof next === "object" && next !== null && !isMarked(next)) {
			for (const [key, item] of Object.entries(next)) if (key !== "name" && key !== "source") left.push(item);
		}
	}
}

/** Claude Code, opencode and Codex mark the texts that they write in the user's name. */
function isMarked(value: object): boolean {
	return marks.some((mark) => (value as Record<string, unknown>)[mark] === true);
}

const marks = ["isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "synthetic", "ignored"];

/** The pieces of a text between the insertions of hosts. */
export function ownWords(text: string): string[] {
	if (hostsText.test(text)) return [];
	return piecesBetweenBlocks(text)
		.map((piece) => piece.trim())
		.filter((piece) => piece !== "");
}

/** Splits in linear time: an opening tag whose closing tag is missing is looked for once. */
function piecesBetweenBlocks(text: string): string[] {
	const pieces: string[] = [];
	const unclosed = new Set<string>();
	let from = 0;
	for (const { index, 0: opening, 1: name = "" } of text.matchAll(hostsTag)) {
		if (index < from || unclosed.has(name)) continue;
		const close = `</${name}>`;
		const end = text.indexOf(close, index + opening.length);
		if (end === -1) {
			unclosed.add(name);
			continue;
		}
		pieces.push(text.slice(from, index));
		from = end + close.length;
	}
	return [...pieces, text.slice(from)];
}

/** Opens a reminder, surroundings or an attached file, which no format tells from the words of a person. */
const hostsTag = new RegExp(
	`<(${[
		"system-reminder|current_datetime|(?:environment|session)_context|environment_(?:details|info)|user_instructions",
		"local-command-(?:stdout|stderr|caveat)|command-(?:name|message)|bash-(?:stdout|stderr)|task-notification|turn_aborted",
		"ide_(?:opened_file|selection|diagnostics)|file_content|attachments?|editorContext|reminderInstructions|workspace_info",
	].join("|")})(?: [^<>]{0,500})?>`,
	"g",
);

/** Lines of hosts, and headers of observations. */
const hostsText =
	/^\s*(?:\[Request interrupted by user[^\]\n]*\]\s*$|This session is being continued from a previous conversation|Caveat: The messages below were generated by the user while running local commands|# AGENTS\.md instructions for |\[[a-z_]+[^\n]{0,500}\] Result:\s*$)/;
