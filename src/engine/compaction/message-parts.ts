import { locateCallArguments } from "../call-arguments.ts";
import type { PairedResult } from "../pairing.ts";
import { cleanValue, writeMediaPlaceholder } from "../placeholder.ts";
import { type MediaNode, type Message, resultText } from "../transcript.ts";
import { cleanText } from "./clean-text.ts";
import { neutraliseSpecialTokens } from "./special-tokens.ts";

/** A part of a message as a summary's prompt shows it. */
export interface MessagePart {
	readonly kind: "text" | "call" | "result";
	/** What stands before the text: the tool's name, and whether it failed; empty for a text. */
	readonly label: string;
	/** Well-formed, without control characters or special tokens. */
	readonly text: string;
}

const order: Readonly<Record<MessagePart["kind"], number>> = { text: 0, call: 1, result: 2 };

/**
 * The parts of a message: what it says, then its calls, then its results, since formats count them in orders of their
 * own. Reasoning is left out. `paired` are the results that it holds.
 */
export function messageParts(message: Message, paired: readonly PairedResult[]): MessagePart[] {
	const parts: MessagePart[] = [];
	const add = (kind: MessagePart["kind"], label: string, text: string) => {
		const shown = neutraliseSpecialTokens(cleanText(text)).trim();
		if (shown !== "" || kind !== "text") parts.push({ kind, label, text: shown });
	};
	const { counted, calls } = message;
	const thoughts = message.thinking.map((block) => block.text);
	const places = locateCallArguments(message);
	const callAt = new Map(places.map((place, call) => [place, call]));
	let nextCall = 0;
	const addCallsBefore = (end: number) => {
		// One that the format counts otherwise is shown by its name.
		for (const skipped of calls.slice(nextCall, end)) add("call", nameOf(skipped.name), "");
		nextCall = end;
	};
	for (let index = 0; index < counted.length; index += 1) {
		const call = callAt.get(index + 1);
		if (call !== undefined) {
			addCallsBefore(call);
			index += 1;
			add("call", nameOf(calls[call]?.name), counted[index] ?? "");
			nextCall = call + 1;
			continue;
		}
		const text = counted[index] ?? "";
		const thought = thoughts.indexOf(text);
		if (thought === -1) add("text", "", text);
		else thoughts.splice(thought, 1);
	}
	addCallsBefore(calls.length);
	const mediaInResults = message.results.flatMap((result) => result.media);
	if (message.mediaTokens > mediaInResults.reduce((sum, media) => sum + media.tokens, 0)) add("text", "", "[media]");
	for (const { result, call } of paired) {
		const failed = result.isError === true ? " (error)" : "";
		const text = [resultText(result), ...result.media.map(describeMedia)].filter((one) => one !== "").join("\n");
		add("result", `${nameOf(call?.name)}${failed}`, text);
	}
	return parts.toSorted((a, b) => order[a.kind] - order[b.kind]);
}

function nameOf(name: string | undefined): string {
	return neutraliseSpecialTokens(cleanValue(name ?? "")) || "?";
}

function describeMedia(media: MediaNode): string {
	const wording = { mediaPlaceholder: "[media: {media}]", unknownTool: "?" };
	return writeMediaPlaceholder(wording, { media, toolCallId: "", toolName: undefined });
}
