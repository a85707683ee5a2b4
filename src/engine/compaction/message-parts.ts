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
	let nextCall = 0;
	for (let index = 0; index < counted.length; index += 1) {
		const text = counted[index] ?? "";
		// Formats count a call as its name, then its arguments; one that they count otherwise is shown by its name.
		const found = calls.findIndex((call, at) => at >= nextCall && (call.name ?? "") === text);
		if (found !== -1 && index + 1 < counted.length) {
			for (const skipped of calls.slice(nextCall, found)) add("call", nameOf(skipped.name), "");
			add("call", nameOf(calls[found]?.name), counted[index + 1] ?? "");
			nextCall = found + 1;
			index += 1;
			continue;
		}
		const thought = thoughts.indexOf(text);
		if (thought === -1) add("text", "", text);
		else thoughts.splice(thought, 1);
	}
	for (const call of calls.slice(nextCall)) add("call", nameOf(call.name), "");
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
