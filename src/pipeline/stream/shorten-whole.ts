import type { Archive } from "../../archive/archive.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Policy } from "../../policy/schema.ts";
import { excerptStrategy } from "../cut-of-call.ts";
import { type AnsweredCall, originalOf } from "./answered-call.ts";
import { type LimitCheck, limitCheck } from "./limit-check.ts";
import { type HeldShortening, shortenHeld } from "./shorten-held.ts";
import type { ShortenedOutput, StreamRequest } from "./shortened-output.ts";

/** Shortens an output that is held whole. Bytes that are no UTF-8 become U+FFFD where it is cut, and stay where it is not. */
export async function shortenWhole(request: WholeRequest): Promise<ShortenedOutput> {
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
		const { truncateText } = await import("../truncate-text.ts");
		const asked = { maxChars: limit.maxChars, limitName };
		const cut = await truncateText({ text, policy, ...asked, archive, ...(log ? { log } : {}) });
		return cut.report.truncated ? { kind: "shortened", text: cut.text } : { kind: "whole", bytes };
	}
	// No token is shorter than a byte, so that most outputs need no tokenizer.
	if (limit.kind === "tokens" && policy.guard.model === null && bytes.length <= limit.most)
		return { kind: "whole", bytes };
	const check = await limitCheck(limit, policy);
	const { head_chars: head, tail_chars: tail, keep_ansi: keepAnsi } = policy.truncate;
	const how = { strategy, focus, keepAnsi, headShare: head + tail === 0 ? undefined : head / (head + tail) };
	const shortened = await shortenText({ text, policy, check, archive, toolCall, ending, command, how, limitName });
	if (shortened === undefined) return { kind: "whole", bytes };
	log?.({
		level: "warning",
		message: `Truncated a text (${text.length} → ${shortened.length} chars)`,
		data: { event: "truncated", chars_before: text.length, chars_after: shortened.length },
	});
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
