import type { Archive, Listing, OriginalKind } from "../archive/archive.ts";
import type { PartRequest, SelectedPart } from "../archive/part.ts";
import { refPattern } from "../archive/reference.ts";
import { selectPart } from "../archive/select.ts";
import { scaleTokens } from "../conversation/measure.ts";
import { PalimpsestError } from "../errors.ts";
import { type ImageOfPart, imageOfPart, longestImagePart } from "../formats/media.ts";
import type { Policy } from "../policy/schema.ts";
import { tokenMeter } from "./count.ts";
import { placeholderReaderOf } from "./find-original.ts";

/** What is known of an original. */
export interface RecalledListing {
	readonly ref: string;
	/** `result`, `text`, `arguments`: a text. `group`: the JSON of a list of messages. `media`: the JSON of a part. */
	readonly kind: OriginalKind;
	readonly tool_call_id?: string;
	readonly tool_name?: string;
	/** Characters (UTF-16 code units) of all of it. */
	readonly chars: number;
	/** ISO 8601, UTC. */
	readonly archived_at: string;
	/** Places replaced before it was stored; the rest is as it was. */
	readonly redactions: number;
}

/** How to ask for what was left out: the arguments of the next call. */
export interface NextPart {
	readonly ref: string;
	readonly lines?: string;
	readonly chars?: string;
	readonly grep?: string;
	readonly context?: number;
	readonly max_tokens?: number;
}

/** A part of an original, or all of it. */
export interface RecalledPart extends RecalledListing {
	readonly text: string;
	readonly tokens: number;
	readonly total: SelectedPart["total"];
	/** Lines from 1 on with both ends, characters from 0 on without the end; null where nothing is shown. */
	readonly shown: SelectedPart["shown"];
	/** Only for `grep`: lines that match, and those of them shown. */
	readonly matches?: { readonly found: number; readonly shown: number };
	/** Characters that were asked for and are not shown. */
	readonly left_out_chars: number;
	/** Null where all that was asked for is shown. */
	readonly next: NextPart | null;
}

/** What a recall found. */
export type Recalled =
	| { readonly kind: "part"; readonly part: RecalledPart }
	| { readonly kind: "image"; readonly listing: RecalledListing; readonly image: ImageOfPart }
	| { readonly kind: "several"; readonly originals: readonly RecalledListing[]; readonly leftOut: number };

/** Which original to recall, and what of it. */
export interface RecallRequest extends PartRequest {
	readonly archive: Archive;
	readonly policy: Policy;
	/** As it stands in a placeholder. Where it is given, it alone decides. */
	readonly ref?: string | undefined;
	readonly toolCallId?: string | undefined;
	/** Whether a small image that is asked for whole comes as an image. */
	readonly showsImages?: boolean | undefined;
}

/** The most originals that are listed for one tool call. */
const mostListed = 50;

/**
 * Recalls an archived original, or the part of it that is asked for. Of several originals under one tool call it lists
 * all, oldest first, instead of guessing.
 *
 * @throws PalimpsestError `invalid_argument`; `original_not_found`; `ambiguous_reference`; `archive_unavailable`.
 */
export async function recallOriginal(request: RecallRequest): Promise<Recalled> {
	const { archive, policy, ref, toolCallId, showsImages = false, ...part } = request;
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const countTokens = (text: string) => scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale).tokens;
	const select = selectPart(part, { countTokens });

	if (ref === undefined && toolCallId === undefined) {
		throw new PalimpsestError(
			"invalid_argument",
			"Expected `ref`, as it stands in the placeholder, or `tool_call_id`.",
		);
	}
	const named = ref === undefined ? await originalsOf(archive, toolCallId ?? "") : [];
	if (named.length > 1) {
		const originals = named.slice(0, mostListed).map(describe);
		return { kind: "several", originals, leftOut: named.length - originals.length };
	}
	const wanted = ref === undefined ? (named[0]?.ref ?? "") : writtenRef(ref, policy);
	const { listing, value } = await archive.read(wanted, select);
	// These belong to restoring and are no original of anything.
	if (listing.kind === "places") throw nothingKept();
	// One text may have answered many calls; the one that was asked by is meant.
	const described = describe(named[0] ?? listing);

	const asksForAll = Object.values(part).every((value) => value === undefined);
	if (showsImages && asksForAll && listing.kind === "media" && listing.chars <= longestImagePart) {
		const image = imageOfPart((await archive.get(wanted)).text);
		if (image) return { kind: "image", listing: described, image };
	}
	const { matches, leftOutChars, next, ...selected } = value;
	return {
		kind: "part",
		part: {
			...described,
			...selected,
			...(matches ? { matches } : {}),
			left_out_chars: leftOutChars,
			next: next && nextPart(described.ref, { ...next, maxTokens: part.maxTokens }),
		},
	};
}

/** What is kept for a call, each text once. */
async function originalsOf(archive: Archive, toolCallId: string): Promise<Listing[]> {
	const listings = (await archive.find(toolCallId)).filter(({ kind }) => kind !== "places");
	const originals = [...new Map(listings.map((listing) => [listing.ref, listing])).values()];
	if (originals.length === 0) throw nothingKept();
	return originals;
}

function nothingKept(): PalimpsestError {
	return new PalimpsestError(
		"original_not_found",
		"No original is kept under that. Copy the reference from the placeholder, character by character; what was never archived here, or has expired, cannot be recalled.",
	);
}

/**
 * The reference in what a model may copy with it: a whole placeholder, or some text around `ref=…`, `réf=…` or
 * `original://…`. Names and ids in a placeholder come from tools, so that of a whole one only our own field counts.
 *
 * @throws PalimpsestError `ambiguous_reference` where several stand in it and nothing tells which is meant.
 */
function writtenRef(given: string, policy: Policy): string {
	if (typeof given !== "string") return given;
	const placeholder = placeholderReaderOf(policy)(given.trim());
	if (placeholder?.ref !== undefined && placeholder.isRefCertain) return placeholder.ref;
	const introduced = new Set(Array.from(given.matchAll(introducedRef), ([, ref = ""]) => ref.toLowerCase()));
	if (introduced.size > 1) {
		throw new PalimpsestError(
			"ambiguous_reference",
			"Expected one reference; several stand in what was given. Copy the one that is meant, and nothing around it.",
		);
	}
	const named = given.replace(/^.*?(?:r[eé]f\s*=|original:\/\/)/isu, "");
	return wholeRef.exec(named)?.[0] ?? named;
}

const introducedRef = /(?:r[eé]f\s*=|original:\/\/)\s*([a-z0-9-]*)/giu;

/** One that was copied as it stands, whatever stands behind it. */
const wholeRef = new RegExp(`^${refPattern}(?![a-z0-9])`, "i");

function describe(listing: Listing): RecalledListing {
	const { ref, kind, toolCallId, toolName, chars, archivedAt, redactions } = listing;
	return {
		ref,
		kind,
		...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
		...(toolName === undefined ? {} : { tool_name: toolName }),
		chars,
		archived_at: new Date(archivedAt).toISOString(),
		redactions,
	};
}

function nextPart(ref: string, { lines, chars, grep, context, maxTokens }: PartRequest): NextPart {
	const given = { lines, chars, grep, context, max_tokens: maxTokens };
	return { ref, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}
