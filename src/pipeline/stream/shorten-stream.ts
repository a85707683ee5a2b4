import { composeExcerpt } from "../../engine/stream/compose-excerpt.ts";
import { cutEnds, endsNeeded, leastLimitOf } from "../../engine/stream/cut-ends.ts";
import { readEnds } from "../../engine/stream/head-and-tail.ts";
import { fillTemplate } from "../../masking/template.ts";
import type { Policy } from "../../policy/schema.ts";
import { wordings } from "../../policy/wordings.ts";
import { limitTooSmall } from "../cut-of-call.ts";
import { originalOf } from "./answered-call.ts";
import { archiveStream } from "./archive-stream.ts";
import { excerptNotices, hasFailed, type KeptOutput, type RunEnding, recallNotice } from "./excerpt-notices.ts";
import { limitCheck } from "./limit-check.ts";
import { readOutput } from "./read-output.ts";
import { shortenWhole } from "./shorten-whole.ts";
import type { ShortenedOutput, StreamRequest } from "./shortened-output.ts";
import { bytesToHold, type StreamLimit } from "./stream-limit.ts";

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
	let passing: Passing | undefined;
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

/** An output that is too long to be held. */
interface Passing {
	readonly write: (bytes: Buffer) => Promise<void>;
	readonly end: () => Promise<ShortenedOutput>;
}

async function startPassing(request: StreamRequest): Promise<Passing> {
	const { policy, limit, archive, toolCall, ending, command, log, limitName } = request;
	const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	const archiving = await archiveStream(archive, originalOf(toolCall));
	const excerpt = await (limit.kind === "head_tail" ? headTail(limit.maxChars, policy) : largest(limit, policy));
	let chars = 0;
	const take = async (text: string): Promise<void> => {
		chars += text.length;
		excerpt.push(text);
		await archiving.write(text);
	};
	return {
		write: (bytes) => take(decoder.decode(bytes, { stream: true })),
		async end() {
			await take(decoder.decode());
			const { kept, failure } = await archiving.end();
			const { text, leastLimit: least } = excerpt.end(kept && { ...kept, command }, await ending?.());
			const given = limit.kind === "head_tail" ? limit.maxChars : limit.most;
			if (limitName !== undefined && given < least) throw limitTooSmall({ name: limitName, given, least });
			log?.({
				level: "warning",
				message: `Truncated a text (${chars} → ${text.length} chars)`,
				data: { event: "truncated", chars_before: chars, chars_after: text.length },
			});
			return { kind: "shortened", text, failure };
		},
	};
}

/** What is made of an output while it passes. */
interface PassingExcerpt {
	readonly push: (text: string) => void;
	readonly end: (kept: KeptOutput | undefined, ending: RunEnding | undefined) => PassedExcerpt;
}

interface PassedExcerpt {
	readonly text: string;
	/** The least limit with which it says that something is left out. */
	readonly leastLimit: number;
}

/** What `truncateText` makes of a text, of any length. */
function headTail(maxChars: number, policy: Policy): PassingExcerpt {
	const { head_chars: headChars, tail_chars: tailChars } = policy.truncate;
	const limits = { maxChars, headChars, tailChars };
	const reader = readEnds(endsNeeded({ ...limits, marker: "" }));
	return {
		push: reader.push,
		end(kept) {
			const isWhole = kept !== undefined && kept.firstBytes === undefined;
			const template = wordings(policy, isWhole ? "archived" : "not_archived").truncateMarker;
			// A marker that names a reference promises the whole.
			const beginning = isWhole || kept === undefined ? "" : `[${recallNotice(policy.locale, kept).trim()}\n\n`;
			const marker = fillTemplate(template, { ref: isWhole ? kept.ref : "-" }) + beginning;
			const ends = reader.ends();
			const leastLimit = leastLimitOf(ends, { ...limits, marker });
			return { text: cutEnds(ends, { ...limits, marker }).text, leastLimit };
		},
	};
}

async function largest(
	limit: Exclude<StreamLimit, { readonly kind: "head_tail" }>,
	policy: Policy,
): Promise<PassingExcerpt> {
	const { fits, mostChars, sizeOf } = await limitCheck(limit, policy);
	const reader = readOutput(mostChars);
	return {
		push: reader.push,
		end(kept, ending) {
			const source = { ...reader.source(), hasFailed: hasFailed(ending) };
			const notices = excerptNotices({ locale: policy.locale, kept, ending });
			const shortest = fillTemplate(notices.short, { omitted_chars: source.ends.chars });
			return { text: composeExcerpt(source, notices, fits).text, leastLimit: sizeOf(shortest) };
		},
	};
}
