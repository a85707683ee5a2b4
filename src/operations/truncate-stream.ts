import { fillTemplate } from "../engine/masking/template.ts";
import type { LocaleName } from "../engine/policy/names.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { excerptWordings, locales, type NoticeWordings, wordings } from "../engine/policy/wordings.ts";
import type { TruncationBudget, TruncationStrategy } from "../engine/truncation/draft.ts";
import { focusOfCall } from "../engine/truncation/focus.ts";
import { cutEnds, endsNeeded, readEnds } from "../engine/truncation/head-tail.ts";
import { readPassing, shortenPassed } from "../engine/truncation/stream.ts";
import { truncateOutput } from "../engine/truncation/truncate.ts";
import { PalimpsestError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Archive, Original, OriginalWriter } from "../storage/archive/archive.ts";
import { decodeOutput, outputEncoding } from "../storage/files/text-encoding.ts";
import { textLibraries } from "./text-libraries.ts";
import {
	bytesToHold,
	type ExcerptLimit,
	excerptStrategy,
	headShareOf,
	type LimitCheck,
	limitCheck,
	limitTooSmall,
	logTruncation,
	type StreamLimit,
} from "./truncation-limit.ts";

interface StreamRequest {
	readonly pieces: AsyncIterable<Buffer>;
	readonly policy: Policy;
	readonly limit: StreamLimit;
	/** The strategy for a short output, within a limit that is not `head_tail`; by default as the policy says, or `auto`. */
	readonly strategy?: TruncationStrategy | undefined;
	readonly focus?: string | undefined;
	readonly archive?: Archive | undefined;
	readonly toolCall?: AnsweredCall | undefined;
	/** How the command ended; called once all of its output is read. */
	readonly ending?: (() => Promise<RunEnding>) | undefined;
	/** Whether a short output that cannot be archived is returned unchanged, instead of the error. */
	readonly letThrough?: boolean | undefined;
	/** The name of the limit. If given, a limit without room for the notice is refused. */
	readonly limitName?: string | undefined;
	readonly command?: string | undefined;
	readonly log?: Log | undefined;
}

interface AnsweredCall {
	readonly id: string | undefined;
	readonly name: string | undefined;
	/** Its arguments, which show the subject of the search. */
	readonly input: unknown;
}

type ShortenedOutput = (
	| { readonly kind: "whole"; readonly bytes: Buffer }
	| { readonly kind: "shortened"; readonly text: string }
) & {
	readonly failure?: PalimpsestError | undefined;
};

/**
 * Holds a short output, and of a longer one only the excerpt. Throws PalimpsestError `archive_unavailable` for a short
 * output, unless the policy or `letThrough` allows it; `invalid_argument` if a named limit is too small.
 */
export async function shortenStream(request: StreamRequest): Promise<ShortenedOutput> {
	const most = bytesToHold(request.limit, request.policy);
	let held: Buffer[] = [];
	let heldBytes = 0;
	let passing: Awaited<ReturnType<typeof startPassing>> | undefined;
	for await (const bytes of request.pieces) {
		if (passing !== undefined) {
			await passing.write(bytes);
			continue;
		}
		held.push(bytes);
		heldBytes += bytes.length;
		if (heldBytes <= most) continue;
		passing = await startPassing(request, Buffer.concat(held));
		for (const one of held) await passing.write(one);
		held = [];
	}
	return passing === undefined ? shortenWhole(request, Buffer.concat(held)) : passing.end();
}

/** Shortens a short output. Bytes that are not UTF-8 become U+FFFD if it is cut, and stay if it is not. */
async function shortenWhole(request: StreamRequest, bytes: Buffer): Promise<ShortenedOutput> {
	const { policy, limit, log, focus, strategy = excerptStrategy(policy), ...shared } = request;
	const whole = { kind: "whole", bytes } as const;
	// No token is shorter than a byte, so that most outputs need no tokenizer.
	if (limit.kind === "tokens" && policy.guard.model === null && bytes.length <= limit.most) return whole;
	const text = decodeOutput(bytes);
	try {
		if (limit.kind === "head_tail") {
			const { truncateText } = await import("./truncate.ts");
			const { archive, limitName } = shared;
			const cut = await truncateText({ text, policy, maxChars: limit.maxChars, limitName, archive, log });
			return cut.report.truncated ? { kind: "shortened", text: cut.text } : whole;
		}
		const how = { strategy, focus, keepAnsi: policy.truncate.keep_ansi, headShare: headShareOf(policy) };
		const shortened = await shortenText({ ...shared, text, policy, check: await limitCheck(limit, policy), how });
		if (shortened === undefined) return whole;
		logTruncation(log, text.length, shortened.length);
		return { kind: "shortened", text: shortened };
	} catch (error) {
		if (!isArchiveUnavailable(error) || !request.letThrough) throw error;
		return { ...whole, failure: error };
	}
}

/** The largest excerpt of a text, which is archived first; `undefined` if the text fits. Throws as `shortenStream` does. */
export async function shortenText(
	what: Pick<StreamRequest, "archive" | "toolCall" | "ending" | "command" | "limitName"> & {
		readonly text: string;
		/** Whether a host has cut the text, so that only the received part is archived. */
		readonly isCut?: boolean;
		readonly policy: Pick<Policy, "locale" | "on_archive_failure">;
		readonly check: LimitCheck;
		readonly how?: {
			readonly strategy?: TruncationStrategy;
			/** By default the arguments of the call. */
			readonly focus?: string | undefined;
			readonly keepAnsi?: boolean;
			/** Share of the start in the text that `head_tail` keeps. */
			readonly headShare?: number | undefined;
			/** Given as `undefined`, pages are cut as text: loading the library for pages takes time. */
			readonly htmlToText?: undefined;
		};
	},
): Promise<string | undefined> {
	const { text, isCut = false, policy, check, archive, toolCall, command, how, limitName } = what;
	if (check.fits(text)) return undefined;
	const refs = await archive?.put([{ ...originalOf(toolCall), text }]).catch((error) => {
		if (!isArchiveUnavailable(error) || policy.on_archive_failure !== "mask_without_recall") throw error;
		return undefined;
	});
	const ref = refs?.[0];
	const kept = ref === undefined ? undefined : { ref, command, receivedChars: isCut ? text.length : undefined };
	const ending = await what.ending?.();
	const { text: shorter, leastBudget: least } = truncateOutput({
		...textLibraries,
		...how,
		text,
		budget: truncationBudget(check),
		strategy: how?.strategy ?? "auto",
		focus: how?.focus ?? focusOfCall({ input: toolCall?.input }),
		hasFailed: hasFailed(ending),
		wording: wordingOf(policy.locale, kept, ending),
		ref,
	});
	if (limitName !== undefined && least !== undefined) {
		throw limitTooSmall({ name: limitName, given: check.most, least });
	}
	return shorter;
}

function isArchiveUnavailable(error: unknown): error is PalimpsestError {
	return error instanceof PalimpsestError && error.code === "archive_unavailable";
}

function originalOf(toolCall: AnsweredCall | undefined): Omit<Original, "text"> {
	if (toolCall === undefined) return { kind: "text" };
	return { kind: "result", toolCallId: toolCall.id, toolName: toolCall.name };
}

function truncationBudget({ unit, most, countTokens }: LimitCheck): TruncationBudget {
	return unit === "tokens" ? { unit, max: most, countTokens } : { unit, max: most };
}

// ---- Outputs that are too long to be held ----

/** `first` are its first bytes, which tell the encoding. */
async function startPassing(request: StreamRequest, first: Buffer) {
	const { policy, limit, archive, toolCall, ending, command, log, limitName } = request;
	const encoding = outputEncoding(first);
	const decoder = new TextDecoder(encoding, { ignoreBOM: encoding === "utf-8" });
	const archiving = await archiveStream(archive, originalOf(toolCall));
	const passing = await (limit.kind === "head_tail" ? headTail(limit.maxChars, policy) : excerpt(limit, policy));
	let chars = 0;
	const take = async (text: string): Promise<void> => {
		chars += text.length;
		passing.push(text);
		await archiving.write(text);
	};
	return {
		write: (bytes: Buffer) => take(decoder.decode(bytes, { stream: true })),
		async end(): Promise<ShortenedOutput> {
			await take(decoder.decode());
			const { kept, failure } = await archiving.end();
			const { text, leastLimit: least } = passing.end(kept && { ...kept, command }, await ending?.());
			if (limitName !== undefined && least !== undefined) {
				const given = limit.kind === "head_tail" ? limit.maxChars : limit.most;
				throw limitTooSmall({ name: limitName, given, least });
			}
			logTruncation(log, chars, text.length);
			return { kind: "shortened", text, failure };
		},
	};
}

/** The same as `truncateText` returns. */
function headTail(maxChars: number, policy: Policy) {
	const { head_chars: headChars, tail_chars: tailChars } = policy.truncate;
	const limits = { maxChars, headChars, tailChars };
	const reader = readEnds(endsNeeded(limits));
	return {
		push: reader.push,
		end(kept: ArchivedOutput | undefined) {
			const isWhole = kept !== undefined && kept.firstBytes === undefined;
			const template = wordings(policy, isWhole ? "archived" : "not_archived").truncateMarker;
			// A marker that names a reference promises all of the original.
			const beginning = isWhole || kept === undefined ? "" : `[${recallNotice(policy.locale, kept).trim()}\n\n`;
			const marker = fillTemplate(template, { ref: isWhole ? kept.ref : "-" }) + beginning;
			return cutEnds(reader.ends(), { ...limits, marker });
		},
	};
}

async function excerpt(limit: ExcerptLimit, policy: Policy) {
	const check = await limitCheck(limit, policy);
	const { keep_ansi: keepsAnsi } = policy.truncate;
	const passing = readPassing(check.mostChars, keepsAnsi ? undefined : textLibraries.stripAnsi);
	return {
		push: passing.push,
		end(kept: ArchivedOutput | undefined, ending: RunEnding | undefined) {
			const { text, leastBudget } = shortenPassed(passing.end(), {
				budget: truncationBudget(check),
				headShare: headShareOf(policy),
				hasFailed: hasFailed(ending),
				wording: wordingOf(policy.locale, kept, ending),
				ref: kept?.ref,
			});
			return { text, leastLimit: leastBudget };
		},
	};
}

/** Only this much of the beginning of an output is archived. */
const mostArchivedBytes = 64 * 1024 * 1024;

/** Archives an output in pieces. A failure ends the archiving and is returned at the end, so that the output still passes. */
async function archiveStream(archive: Archive | undefined, original: Omit<Original, "text">) {
	let writer: OriginalWriter | undefined;
	let failure: PalimpsestError | undefined;
	const attempt = async <T>(act: () => Promise<T> | undefined): Promise<T | undefined> => {
		try {
			return await act();
		} catch (error) {
			if (!(error instanceof PalimpsestError)) throw error;
			failure = error;
			const broken = writer;
			writer = undefined;
			await broken?.discard().catch(() => {});
			return undefined;
		}
	};
	writer = await attempt(() => archive?.putInPieces(original, mostArchivedBytes));
	return {
		write: (piece: string) => attempt(() => writer?.write(piece)),
		async end(): Promise<{ readonly kept?: ArchivedOutput; readonly failure?: PalimpsestError | undefined }> {
			const written = await attempt(() => writer?.end());
			if (written === undefined) return { failure };
			const { ref, bytes, isWhole } = written;
			return { kept: isWhole ? { ref } : { ref, firstBytes: bytes } };
		},
	};
}

// ---- Notices ----

export interface RunEnding {
	/** As in a shell: 128 and the signal's number if a signal ended the command. */
	readonly exitCode: number;
	readonly signal?: string | undefined;
	readonly durationMs: number;
}

function hasFailed(ending: RunEnding | undefined): boolean {
	return ending !== undefined && ending.exitCode !== 0;
}

interface ArchivedOutput {
	readonly ref: string;
	/** Set if only this many bytes of the beginning are archived. */
	readonly firstBytes?: number | undefined;
	/** Set if a host had cut the output to this many characters. */
	readonly receivedChars?: number | undefined;
	readonly command?: string | undefined;
}

function wordingOf(
	locale: LocaleName,
	kept: ArchivedOutput | undefined,
	ending: RunEnding | undefined,
): NoticeWordings {
	const { notices } = locales[locale];
	const before = ending === undefined ? "[" : `[${endingNotice(locale, ending)} `;
	const stop = locale === "zh" ? "。" : ".";
	const behind = `${kept === undefined ? "" : stop}${recallNotice(locale, kept)}`;
	const changed = (notice: string) => `${before}${notice.slice(1, -1)}${behind}`;
	const [notice, whole, html] = [changed(notices.notice), changed(notices.whole), changed(notices.html)];
	const short = `${before}${notices.short.slice(1)}`;
	const shortArchived = `${before}${locales[locale].archived.notices.short.slice(1)}`;
	const archived = { archived: notice, wholeArchived: whole, htmlArchived: html, shortArchived };
	return { ...notices, notice, whole, html, short, ...archived };
}

export function longestShortNotice(locale: LocaleName): string {
	const ending = { exitCode: 143, signal: "SIGTERM", durationMs: 1e8 };
	const ref = "0".repeat(12);
	const notice = fillTemplate(wordingOf(locale, undefined, ending).shortArchived, { omitted_chars: 1e12, ref });
	// JSON stays JSON.
	return JSON.stringify({ _truncated: notice });
}

/** How to read an archived output, with the bracket that closes the notice. */
function recallNotice(locale: LocaleName, kept: ArchivedOutput | undefined): string {
	if (kept === undefined) return "]";
	const { recall, recallPart, recallReceived } = excerptWordings[locale];
	const { ref, firstBytes, receivedChars, command = "palimpsest" } = kept;
	if (receivedChars !== undefined) return fillTemplate(recallReceived, { command, ref, received_chars: receivedChars });
	if (firstBytes !== undefined) return fillTemplate(recallPart, { command, ref, kept_bytes: firstBytes });
	return fillTemplate(recall, { command, ref });
}

/** A sentence such as "Ended with exit code 1 after 2.0 s." */
export function endingNotice(locale: LocaleName, { exitCode, signal, durationMs }: RunEnding): string {
	const { ending, exitCode: ofCode, signal: ofSignal } = excerptWordings[locale];
	const how = fillTemplate(signal === undefined ? ofCode : ofSignal, { code: exitCode, signal: signal ?? "" });
	return fillTemplate(ending, { ending: how, seconds: (durationMs / 1000).toFixed(1) });
}
