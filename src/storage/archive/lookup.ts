import { wrongArgument } from "../../engine/policy/errors.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Listing } from "./archive.ts";
import type { About, Driver } from "./driver.ts";
import { ambiguous, formsOfRef, hashPrefixOfRef, nearRefs, prefixesNear, refOfHash, tidyRef } from "./reference.ts";

/** The hash of the original under a reference as a model wrote it. @throws PalimpsestError `original_not_found`. */
export async function resolveRef(driver: Driver, given: string): Promise<string> {
	requireString(given, "`ref`");
	const tidied = tidyRef(given);
	const prefix = hashPrefixOfRef(tidied);
	const [hash, another] = prefix === undefined ? [] : await driver.hashesFrom([prefix]);
	if (hash === undefined) throw await nothingUnder(driver, tidied, prefix !== undefined);
	if (another !== undefined) throw ambiguous();
	return hash;
}

/** The error of an unknown reference, with those that are nearest to it. */
export async function nothingUnder(driver: Driver, given: string, isWhole: boolean): Promise<PalimpsestError> {
	const near = nearRefs(given);
	const consider = (hash: string) => {
		for (const ref of formsOfRef(refOfHash(hash))) near.consider(ref);
	};
	for (const hash of await driver.hashesFrom(prefixesNear(given))) consider(hash);
	let compared = 0;
	for await (const hash of driver.hashes()) {
		if (compared === mostCompared) break;
		compared += 1;
		consider(hash);
	}
	const nearest = near.nearest().filter((ref) => ref !== given);
	const reason = isWhole
		? "No original is kept under this reference: it was altered, or the original has expired or was never kept here."
		: "This reference was altered or shortened.";
	const advice =
		nearest.length === 0
			? "Copy the reference from the placeholder, character by character, or ask by tool_call_id."
			: `Nearest to it: ${nearest.join(", ")}.`;
	return new PalimpsestError("original_not_found", `${reason} ${advice}`);
}

/** The best record of an original of this size. */
export async function bestListing(
	driver: Driver,
	{
		hash,
		chars,
		bytes,
		now,
	}: { readonly hash: string; readonly chars: number; readonly bytes: number; readonly now: number },
): Promise<Listing> {
	const abouts = await driver.aboutsOf(hash);
	// The record of a tool call says more than that of a truncated text. Of several, the oldest counts.
	const [first] = abouts.toSorted(
		(a, b) => Number(a.toolCallId === undefined) - Number(b.toolCallId === undefined) || a.archivedAt - b.archivedAt,
	);
	const redactions = Math.max(0, ...abouts.map((about) => about.redactions));
	// A crash can lose the record of a text, but not the text.
	const known = first ?? { kind: "text", archivedAt: now };
	return listingOf(hash, { ...known, chars, bytes, redactions });
}

export const listingOf = (hash: string, about: About): Listing => ({ ref: refOfHash(hash), ...about });

export function requireString(value: unknown, name: string): void {
	if (typeof value !== "string") throw wrongArgument(name, "a string", value);
}

/** Hashes that are compared with an unknown reference, beside those that differ from it by little. */
const mostCompared = 5_000;
