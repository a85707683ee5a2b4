import type { ExcerptNotices } from "../../engine/stream/compose-excerpt.ts";
import { fillTemplate } from "../../masking/template.ts";
import type { LocaleName } from "../../policy/names.ts";
import { excerptWordings, locales } from "../../policy/wordings.ts";

/** How a command that was run came to its end. */
export interface RunEnding {
	/** As a shell tells it: of a command that a signal ended, 128 and the signal's number. */
	readonly exitCode: number;
	/** Such as `SIGTERM`. */
	readonly signal?: string | undefined;
	/** How long it took, in ms. */
	readonly durationMs: number;
}

/** Whether a command is known to have failed. */
export function hasFailed(ending: RunEnding | undefined): boolean {
	return ending !== undefined && ending.exitCode !== 0;
}

/** Where the whole of an output is archived, or its beginning. */
export interface KeptOutput {
	readonly ref: string;
	/** Bytes of its beginning that are kept; `undefined` where all are. */
	readonly firstBytes?: number | undefined;
	/** Characters that are kept of an output that a host had cut before it came; `undefined` where none had. */
	readonly receivedChars?: number | undefined;
	/** How a shell calls this program; by default by its name. */
	readonly command?: string | undefined;
}

/** The notices of an excerpt in a locale. */
export function excerptNotices(what: {
	readonly locale: LocaleName;
	readonly kept?: KeptOutput | undefined;
	readonly ending?: RunEnding | undefined;
}): ExcerptNotices {
	const words = excerptWordings[what.locale];
	const ending = what.ending === undefined ? "[" : `[${endingNotice(what.locale, what.ending)} `;
	const short = ending + locales[what.locale].notices.short.slice(1);
	return { ...words, top: ending + words.top.slice(1) + recallNotice(what.locale, what.kept), short };
}

/** The longest short notice of a command that was run: no limit below it can say that something is left out. */
export function longestShortNotice(locale: LocaleName): string {
	const ending = { exitCode: 143, signal: "SIGTERM", durationMs: 1e8 };
	const notice = fillTemplate(excerptNotices({ locale, ending }).short, { omitted_chars: 1e12 });
	// JSON stays JSON.
	return JSON.stringify({ _truncated: notice });
}

/** How to read what is archived; where nothing is, the bracket that closes the notice. */
export function recallNotice(locale: LocaleName, kept: KeptOutput | undefined): string {
	if (kept === undefined) return "]";
	const { recall, recallPart, recallReceived } = excerptWordings[locale];
	const { ref, firstBytes, receivedChars, command = "palimpsest" } = kept;
	if (receivedChars !== undefined) return fillTemplate(recallReceived, { command, ref, received_chars: receivedChars });
	return firstBytes === undefined
		? fillTemplate(recall, { command, ref })
		: fillTemplate(recallPart, { command, ref, kept_bytes: firstBytes });
}

/** How a command ended and when, as a sentence. */
export function endingNotice(locale: LocaleName, { exitCode, signal, durationMs }: RunEnding): string {
	const { ending, exitCode: ofCode, signal: ofSignal } = excerptWordings[locale];
	const how = fillTemplate(signal === undefined ? ofCode : ofSignal, { code: exitCode, signal: signal ?? "" });
	return fillTemplate(ending, { ending: how, seconds: (durationMs / 1000).toFixed(1) });
}
