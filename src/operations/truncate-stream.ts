import type { Archive, Original, OriginalWriter } from "../archive/archive.ts";
import { PalimpsestError } from "../errors.ts";
import { fillTemplate } from "../masking/template.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import type { TruncationStrategy } from "../truncation/draft.ts";
import { cutEnds, endsNeeded, readEnds } from "../truncation/head-tail.ts";
import { readPassing, shortenPassed } from "../truncation/stream.ts";
import type { Log } from "./edit-record.ts";
import {
	budgetOf,
	type HeldShortening,
	hasFailed,
	type KeptOutput,
	type RunEnding,
	recallNotice,
	shortenHeld,
	wordingOf,
} from "./shorten-held.ts";
import { textLibraries } from "./text-libraries.ts";
import {
	bytesToHold,
	excerptStrategy,
	headShareOf,
	type LimitCheck,
	limitCheck,
	limitTooSmall,
	logTruncation,
	type StreamLimit,
} from "./truncation-limit.ts";

/**
 * Shortens an output of any length. What is short enough to be held is treated as a text is; of anything longer no more
 * is held than its excerpt may need, while the whole goes into the archive.
 *
 * @throws PalimpsestError `archive_unavailable` where an output that is held cannot be archived, unless the policy or
 * `letThrough` says otherwise; `invalid_argument` where the limit is named and too small to say that something is left out.
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
		passing = await startPassing(request);
		for (const one of held) await passing.write(one);
		held = [];
	}
	return passing === undefined ? shortenWhole({ ...request, bytes: Buffer.concat(held) }) : passing.end();
}

/** Starts to shorten an output that is too long to be held. */
async function startPassing(request: StreamRequest) {
	const { policy, limit, archive, toolCall, ending, command, log, limitName } = request;
	const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
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
			const given = limit.kind === "head_tail" ? limit.maxChars : limit.most;
			if (limitName !== undefined && least !== undefined && given < least)
				throw limitTooSmall({ name: limitName, given, least });
			logTruncation(log, chars, text.length);
			return { kind: "shortened", text, failure };
		},
	};
}

interface PassingExcerpt {
	readonly push: (text: string) => void;
	/** `leastLimit` is the least limit with which it says that something is left out; `undefined` where it does. */
	readonly end: (
		kept: KeptOutput | undefined,
		ending: RunEnding | undefined,
	) => { readonly text: string; readonly leastLimit?: number | undefined };
}

/** What `truncateText` makes of a text, of any length. */
function headTail(maxChars: number, policy: Policy): PassingExcerpt {
	const { head_chars: headChars, tail_chars: tailChars } = policy.truncate;
	const limits = { maxChars, headChars, tailChars };
	const reader = readEnds(endsNeeded(limits));
	return {
		push: reader.push,
		end(kept) {
			const isWhole = kept !== undefined && kept.firstBytes === undefined;
			const template = wordings(policy, isWhole ? "archived" : "not_archived").truncateMarker;
			// A marker that names a reference promises the whole.
			const beginning = isWhole || kept === undefined ? "" : `[${recallNotice(policy.locale, kept).trim()}\n\n`;
			const marker = fillTemplate(template, { ref: isWhole ? kept.ref : "-" }) + beginning;
			return cutEnds(reader.ends(), { ...limits, marker });
		},
	};
}

/** The lines that tell of failures and head and tail, by the selection for texts that are held. */
async function excerpt(
	limit: Exclude<StreamLimit, { readonly kind: "head_tail" }>,
	policy: Policy,
): Promise<PassingExcerpt> {
	const check = await limitCheck(limit, policy);
	const { keep_ansi: keepsAnsi } = policy.truncate;
	const passing = readPassing(check.mostChars, keepsAnsi ? undefined : textLibraries.stripAnsi);
	return {
		push: passing.push,
		end(kept, ending) {
			const { text, leastBudget } = shortenPassed(passing.end(), {
				budget: budgetOf(check),
				headShare: headShareOf(policy),
				hasFailed: hasFailed(ending),
				wording: wordingOf(policy.locale, kept, ending),
				ref: kept?.ref,
			});
			return { text, leastLimit: leastBudget };
		},
	};
}

/** An output within its limit, as it came, or shortened. */
type ShortenedOutput = (
	| { readonly kind: "whole"; readonly bytes: Buffer }
	| { readonly kind: "shortened"; readonly text: string }
) & {
	/** Why the whole could not be archived, where it should have been. */
	readonly failure?: PalimpsestError | undefined;
};

interface StreamRequest {
	readonly pieces: AsyncIterable<Buffer>;
	readonly policy: Policy;
	readonly limit: StreamLimit;
	/** How it is shortened where it is held, within a limit that is not `head_tail`; by default as the policy says, or `auto`. */
	readonly strategy?: TruncationStrategy | undefined;
	readonly focus?: string | undefined;
	/** Where the whole is kept, up to `mostArchivedBytes`. */
	readonly archive?: Archive | undefined;
	readonly toolCall?: AnsweredCall | undefined;
	/** How the command ended that put it out; asked once all of it has come. */
	readonly ending?: (() => Promise<RunEnding>) | undefined;
	/**
	 * Whether an output that is held comes as it is where its whole cannot be archived, in place of the error; with what
	 * was too long to be held, there is no such choice.
	 */
	readonly letThrough?: boolean | undefined;
	/** How the limit is called: one that is too small to say that something is left out is then refused. */
	readonly limitName?: string | undefined;
	/** How a shell calls this program, for the notice of how the whole is read; by default by its name. */
	readonly command?: string | undefined;
	readonly log?: Log | undefined;
}

/** Shortens an output that is held whole. Bytes that are no UTF-8 become U+FFFD where it is cut, and stay where it is not. */
async function shortenWhole(request: WholeRequest): Promise<ShortenedOutput> {
	try {
		return await shortenOrRefuse(request);
	} catch (error) {
		const isLost = error instanceof PalimpsestError && error.code === "archive_unavailable";
		if (!isLost || !request.letThrough) throw error;
		return { kind: "whole", bytes: request.bytes, failure: error };
	}
}

type WholeRequest = Omit<StreamRequest, "pieces"> & { readonly bytes: Buffer };

async function shortenOrRefuse(request: WholeRequest): Promise<ShortenedOutput> {
	const { bytes, policy, limit, archive, toolCall, ending, command, log } = request;
	const { strategy = excerptStrategy(policy), focus, limitName } = request;
	const text = bytes.toString("utf8");
	if (limit.kind === "head_tail") {
		const { truncateText } = await import("./truncate.ts");
		const asked = { maxChars: limit.maxChars, limitName };
		const cut = await truncateText({ text, policy, ...asked, archive, ...(log ? { log } : {}) });
		return cut.report.truncated ? { kind: "shortened", text: cut.text } : { kind: "whole", bytes };
	}
	// No token is shorter than a byte, so that most outputs need no tokenizer.
	if (limit.kind === "tokens" && policy.guard.model === null && bytes.length <= limit.most)
		return { kind: "whole", bytes };
	const check = await limitCheck(limit, policy);
	const how = { strategy, focus, keepAnsi: policy.truncate.keep_ansi, headShare: headShareOf(policy) };
	const shortened = await shortenText({ text, policy, check, archive, toolCall, ending, command, how, limitName });
	if (shortened === undefined) return { kind: "whole", bytes };
	logTruncation(log, text.length, shortened.length);
	return { kind: "shortened", text: shortened };
}

/**
 * The largest excerpt of a text within a limit, its whole archived first; `undefined` where the text fits as it is.
 *
 * @throws PalimpsestError `archive_unavailable` where the whole cannot be kept, unless the policy says otherwise.
 */
export async function shortenText(what: {
	readonly text: string;
	/** Whether a host had cut the text before it came, so that the archive holds only the part that came. */
	readonly isCut?: boolean;
	readonly policy: Pick<Policy, "locale" | "on_archive_failure">;
	readonly check: LimitCheck;
	readonly archive?: Archive | undefined;
	readonly toolCall?: AnsweredCall | undefined;
	readonly ending?: StreamRequest["ending"];
	readonly command?: StreamRequest["command"];
	readonly how?: HeldShortening | undefined;
	readonly limitName?: StreamRequest["limitName"];
}): Promise<string | undefined> {
	const { text, isCut = false, policy, check, archive, toolCall, ending, command, how, limitName } = what;
	if (check.fits(text)) return undefined;
	const ref = await keep(archive, policy, { text, toolCall });
	return shortenHeld({
		text,
		check,
		locale: policy.locale,
		kept: ref === undefined ? undefined : { ref, command, receivedChars: isCut ? text.length : undefined },
		ending: await ending?.(),
		input: toolCall?.input,
		how,
		limitName,
	});
}

async function keep(
	archive: Archive | undefined,
	policy: Pick<Policy, "on_archive_failure">,
	what: Pick<Parameters<typeof shortenText>[0], "text" | "toolCall">,
): Promise<string | undefined> {
	if (archive === undefined) return undefined;
	const { text, toolCall } = what;
	try {
		const [ref] = await archive.put([{ ...originalOf(toolCall), text }]);
		return ref;
	} catch (error) {
		const isLost = error instanceof PalimpsestError && error.code === "archive_unavailable";
		if (!isLost || policy.on_archive_failure !== "mask_without_recall") throw error;
		return undefined;
	}
}

/** Bytes of one output that are archived at most: of a longer one its beginning. */
const mostArchivedBytes = 64 * 1024 * 1024;

/**
 * Begins to keep an output in an archive as it passes; without one, keeps nothing. A failure ends that and is told at the
 * end, so that the output passes all the same.
 */
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
		write: async (piece: string) => {
			if (writer !== undefined) await attempt(() => writer?.write(piece));
		},
		async end(): Promise<{ readonly kept?: KeptOutput; readonly failure?: PalimpsestError | undefined }> {
			const written = await attempt(() => writer?.end());
			if (written === undefined) return { failure };
			const { ref, bytes, isWhole } = written;
			return { kept: isWhole ? { ref } : { ref, firstBytes: bytes } };
		},
	};
}

/** The tool call that an output answers. */
export interface AnsweredCall {
	readonly id: string | undefined;
	readonly name: string | undefined;
	/** Its arguments, as the host has them: what the agent was after. */
	readonly input: unknown;
}

function originalOf(toolCall: AnsweredCall | undefined): Omit<Original, "text"> {
	if (toolCall === undefined) return { kind: "text" };
	return { kind: "result", toolCallId: toolCall.id, toolName: toolCall.name };
}
