import { createHash } from "node:crypto";
import { distance } from "fastest-levenshtein";
import { PalimpsestError } from "../errors.ts";

/**
 * Such as `ku193re960gi257do532`: the first 60 bits of the SHA-256 of the stored text, times 43 (no other number is
 * valid). In o200k_base and in cl100k_base it always has 8 tokens; 16 hex digits have 9 to 15.
 */
export type Ref = string;

const consonants = "bdfghjklmnprstvwz";
const vowels = "aeiou";
const syllables = Array.from(consonants, (consonant) => Array.from(vowels, (vowel) => consonant + vowel)).flat();
const groups = 4;
const groupSize = syllables.length * 1000;
// A prime: no change of one character, and no swap of two neighbouring digits, makes another multiple.
const check = 43n;

export const hexDigitsOfRef = 15;
export const refLength = groups * 5;
export const refPattern = `(?:[${consonants}][${vowels}]\\d{3}){${groups}}`;
const exactly = new RegExp(`^${refPattern}$`);

export function refOfHash(hash: string): Ref {
	let number = BigInt(`0x${hash.slice(0, hexDigitsOfRef)}`) * check;
	let ref = "";
	while (ref.length < refLength) {
		const value = Number(number % BigInt(groupSize));
		number /= BigInt(groupSize);
		ref = `${syllables[Math.floor(value / 1000)]}${String(value % 1000).padStart(3, "0")}${ref}`;
	}
	return ref;
}

/** `undefined` if it is no ref, or was altered. */
export function hashPrefixOfRef(ref: Ref): string | undefined {
	if (!exactly.test(ref)) return undefined;
	let number = 0n;
	for (let start = 0; start < ref.length; start += 5) {
		const value = syllables.indexOf(ref.slice(start, start + 2)) * 1000 + Number(ref.slice(start + 2, start + 5));
		number = number * BigInt(groupSize) + BigInt(value);
	}
	if (number % check !== 0n) return undefined;
	const prefix = (number / check).toString(16).padStart(hexDigitsOfRef, "0");
	return prefix.length === hexDigitsOfRef ? prefix : undefined;
}

/** Undoes capitals, spaces, hyphens and quotes. */
export function tidyRef(given: string): string {
	const start = given.slice(0, 4 * refLength);
	return start.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

export function ambiguous(): PalimpsestError {
	const message =
		"Two different originals have the same reference, so that it stands for neither. Neither text was given or replaced.";
	return new PalimpsestError("ambiguous_reference", message);
}

const mostShown = 3;
const shortestPiece = 5;
// A ref has 20 characters: two of them are not this near to each other by chance.
const mostEdits = 5;

export function nearRefs(wanted: string): { readonly consider: (ref: Ref) => void; readonly nearest: () => Ref[] } {
	let best: { readonly ref: Ref; readonly edits: number }[] = [];
	const isShort = wanted.length >= shortestPiece && wanted.length < refLength;
	return {
		consider(ref) {
			const edits = isShort && ref.includes(wanted) ? 0 : distance(wanted, ref);
			if (edits > mostEdits || best.some((one) => one.ref === ref)) return;
			best = [...best, { ref, edits }].sort((a, b) => a.edits - b.edits).slice(0, mostShown);
		},
		nearest: () => best.map(({ ref }) => ref),
	};
}

/** For the names of files and keys, which may not hold every character of an id. */
export function callKey(toolCallId: string | undefined): string {
	if (toolCallId === undefined) return "none";
	return createHash("sha256").update(JSON.stringify(toolCallId)).digest("hex").slice(0, 16);
}

const allowed = /^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/;
const windowsDevices = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;

/** It becomes the name of a folder and part of keys. Throws PalimpsestError `invalid_argument`. */
export function checkNamespace(name: string): string {
	if (allowed.test(name) && !windowsDevices.test(name)) return name;
	const message =
		"Expected the archive's namespace to be 1 to 64 of a-z, 0-9, - and _, with a letter or digit first and last.";
	throw new PalimpsestError("invalid_argument", message);
}
