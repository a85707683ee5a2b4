import { scaleTokens } from "../engine/conversation/measure.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { type ImageOfPart, imageOfPart, longestImagePart } from "../formats/media.ts";
import type { Archive, Listing } from "../storage/archive/archive.ts";
import { leastMaxTokens, type PartRequest, type SelectedPart, usualMaxTokens } from "../storage/archive/part.ts";
import { refPattern } from "../storage/archive/reference.ts";
import { selectPart } from "../storage/archive/select.ts";
import { placeholderReaderOf } from "../storage/restore/recognise.ts";
import { tokenMeter } from "./count.ts";

export type RecalledListing = ReturnType<typeof describeListing>;

export interface NextPart {
	readonly ref: string;
	readonly lines?: string;
	readonly chars?: string;
	readonly grep?: string;
	readonly context?: number;
	readonly max_tokens?: number;
}

export interface RecalledPart extends RecalledListing {
	readonly text: string;
	readonly tokens: number;
	readonly total: SelectedPart["total"];
	/** Lines count from 1, with both ends; characters from 0, without the end. Null if nothing is shown. */
	readonly shown: SelectedPart["shown"];
	readonly matches?: { readonly found: number; readonly shown: number };
	readonly left_out_chars: number;
	/** Null if everything requested is shown. */
	readonly next: NextPart | null;
}

export type Recalled =
	| { readonly kind: "part"; readonly part: RecalledPart }
	| { readonly kind: "image"; readonly listing: RecalledListing; readonly image: ImageOfPart }
	| { readonly kind: "several"; readonly originals: readonly RecalledListing[]; readonly leftOut: number };

interface RecallRequest extends PartRequest {
	readonly archive: Archive;
	readonly policy: Policy;
	/** Takes precedence over `toolCallId`. */
	readonly ref?: string | undefined;
	readonly toolCallId?: string | undefined;
	/** Whether a small image is returned as an image if all of it is requested. */
	readonly showsImages?: boolean | undefined;
	/** A line put before the text. It counts towards `maxTokens`, and leaves at least half of them to the text. */
	readonly describe?: ((part: RecalledPart) => string) | undefined;
}

const mostListed = 50;

/** An original or a part of it; lists the originals, oldest first, if the tool call has several. */
export async function recallOriginal(request: RecallRequest): Promise<Recalled> {
	const { archive, policy, ref, toolCallId, showsImages = false, describe, ...part } = request;
	const { meter, estimate } = await tokenMeter(policy, policy.guard.model ?? undefined);
	const countTokens = (text: string) => scaleTokens({ tokens: meter.countTokens(text) }, estimate.scale).tokens;
	const selecting = (maxTokens = part.maxTokens) => selectPart({ ...part, maxTokens }, { countTokens });
	const select = selecting();

	if (ref === undefined && toolCallId === undefined) {
		const message = "Expected `ref`, copied from the placeholder, or `tool_call_id`.";
		throw new PalimpsestError("invalid_argument", message);
	}
	const named = ref === undefined ? await originalsOf(archive, toolCallId as string) : [];
	if (named.length > 1) {
		const originals = named.slice(0, mostListed).map(describeListing);
		return { kind: "several", originals, leftOut: named.length - originals.length };
	}
	const wanted = named[0]?.ref ?? writtenRef(ref as string, policy);
	const { listing, value } = await archive.read(wanted, select);
	// These are records for restoring, not originals.
	if (listing.kind === "places") throw nothingKept();
	// Several calls may have the same result; describe the call that was asked for.
	const described = describeListing(named[0] ?? listing);

	const asksForAll = Object.values(part).every((value) => value === undefined);
	if (showsImages && asksForAll && listing.kind === "media" && listing.chars <= longestImagePart) {
		const image = imageOfPart((await archive.get(wanted)).text);
		if (image) return { kind: "image", listing: described, image };
	}
	const { maxTokens } = part;
	let recalled = recalledPart(described, value, maxTokens);
	if (describe) {
		const limit = maxTokens ?? usualMaxTokens;
		const least = Math.max(leastMaxTokens, Math.ceil(limit / 2));
		const overBy = () => countTokens(`${describe(recalled)}\n${recalled.text}`) - limit;
		// A shorter part may need a longer line, that names the rest.
		for (let [room, over] = [limit, overBy()]; over > 0 && room > least; over = overBy()) {
			room = Math.max(least, room - over);
			recalled = recalledPart(described, (await archive.read(wanted, selecting(room))).value, maxTokens);
		}
	}
	return { kind: "part", part: recalled };
}

function recalledPart(
	described: RecalledListing,
	{ matches, leftOutChars, next, ...selected }: SelectedPart,
	maxTokens: number | undefined,
): RecalledPart {
	return {
		...described,
		...selected,
		...(matches ? { matches } : {}),
		left_out_chars: leftOutChars,
		next: next && nextPart(described.ref, { ...next, maxTokens }),
	};
}

async function originalsOf(archive: Archive, toolCallId: string): Promise<Listing[]> {
	const listings = (await archive.find(toolCallId)).filter(({ kind }) => kind !== "places");
	const originals = [...new Map(listings.map((listing) => [listing.ref, listing])).values()];
	if (originals.length === 0) throw nothingKept();
	return originals;
}

function nothingKept(): PalimpsestError {
	const message =
		"No original is kept under this reference or id. Copy it from the placeholder, character by character. An original that was never archived here, or has expired, cannot be recalled.";
	return new PalimpsestError("original_not_found", message);
}

/** Copied by a model, perhaps with text around it. Names in a placeholder come from tools, so only its own field counts. */
function writtenRef(given: string, policy: Policy): string {
	if (typeof given !== "string") return given;
	const placeholder = placeholderReaderOf(policy)(given.trim());
	if (placeholder?.ref !== undefined && placeholder.isRefCertain) return placeholder.ref;
	const introduced = new Set(Array.from(given.matchAll(introducedRef), ([, ref = ""]) => ref.toLowerCase()));
	if (introduced.size > 1) {
		const message = "Expected one reference; got several. Copy one reference, without the text around it.";
		throw new PalimpsestError("ambiguous_reference", message);
	}
	const named = given.replace(/^.*?(?:r[eé]f\s*=|original:\/\/|#)/isu, "");
	return wholeRef.exec(named)?.[0] ?? named;
}

// A short placeholder has its reference after a number sign.
const introducedRef = /(?:r[eé]f\s*=|original:\/\/|#(?=[a-z0-9]{8}))\s*([a-z0-9-]*)/giu;
const wholeRef = new RegExp(`^${refPattern}(?![a-z0-9])`, "i");

export function describeListing(listing: Listing) {
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
