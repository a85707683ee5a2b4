import { createHash } from "node:crypto";
import { distance } from "fastest-levenshtein";
import { PalimpsestError } from "../errors.ts";

/**
 * Names a stored text by the beginning of its SHA-256. The short form, such as `fra193ke`, has the first 32 bits in 8
 * characters: 3 or 4 tokens of o200k_base and cl100k_base. If another text of the namespace has these bits too, the text
 * that came later gets the long form, such as `ku193re960gi257do532`: 60 bits, times 43 (no other number is valid), in 20
 * characters and always 8 tokens. The long form of every text can be read, and was the only one in older versions.
 */
export type Ref = string;

// Without q, x and z, which make more tokens. 23^5 * 1000 numbers are enough for 32 bits.
const letters = "abcdefghijklmnoprstuvwy";
const shortForm = [letters, letters, letters, ...Array.from("ddd", () => "0123456789"), letters, letters];
const shortPattern = `[${letters}]{3}\\d{3}[${letters}]{2}`;

/** Hex digits of the hash in a short and in a long ref. */
export const hexDigitsOfRef = { short: 8, long: 15 } as const;

export function refOfHash(hash: string): Ref {
	let number = Number.parseInt(hash.slice(0, hexDigitsOfRef.short), 16);
	let ref = "";
	for (const symbols of shortForm.toReversed()) {
		ref = `${symbols[number % symbols.length]}${ref}`;
		number = Math.floor(number / symbols.length);
	}
	return ref;
}

const consonants = "bdfghjklmnprstvwz";
const vowels = "aeiou";
const syllables = Array.from(consonants, (consonant) => Array.from(vowels, (vowel) => consonant + vowel)).flat();
const groups = 4;
const groupSize = syllables.length * 1000;
// A prime, so that no changed character and no swap of neighbouring digits gives another multiple.
const check = 43n;
const longLength = groups * 5;
const longPattern = `(?:[${consonants}][${vowels}]\\d{3}){${groups}}`;

export function longRefOfHash(hash: string): Ref {
	let number = BigInt(`0x${hash.slice(0, hexDigitsOfRef.long)}`) * check;
	let ref = "";
	while (ref.length < longLength) {
		const value = Number(number % BigInt(groupSize));
		number /= BigInt(groupSize);
		ref = `${syllables[Math.floor(value / 1000)]}${String(value % 1000).padStart(3, "0")}${ref}`;
	}
	return ref;
}

export const refPattern = `(?:${shortPattern}|${longPattern})`;
const exactly = { short: new RegExp(`^${shortPattern}$`), long: new RegExp(`^${longPattern}$`) };

/** The first 8 or 15 hex digits of the hash; `undefined` if it is not a ref, or was altered. */
export function hashPrefixOfRef(ref: Ref): string | undefined {
	if (exactly.short.test(ref)) return prefixOfShort(ref);
	return exactly.long.test(ref) ? prefixOfLong(ref) : undefined;
}

function prefixOfShort(ref: Ref): string | undefined {
	let number = 0;
	for (const [at, symbols] of shortForm.entries())
		number = number * symbols.length + symbols.indexOf(ref[at] as string);
	const prefix = number.toString(16).padStart(hexDigitsOfRef.short, "0");
	return prefix.length === hexDigitsOfRef.short ? prefix : undefined;
}

function prefixOfLong(ref: Ref): string | undefined {
	let number = 0n;
	for (let start = 0; start < ref.length; start += 5) {
		const value = syllables.indexOf(ref.slice(start, start + 2)) * 1000 + Number(ref.slice(start + 2, start + 5));
		number = number * BigInt(groupSize) + BigInt(value);
	}
	if (number % check !== 0n) return undefined;
	const prefix = (number / check).toString(16).padStart(hexDigitsOfRef.long, "0");
	return prefix.length === hexDigitsOfRef.long ? prefix : undefined;
}

/** Removes capitals, spaces, hyphens and quotes. */
export function tidyRef(given: string): string {
	const start = given.slice(0, 4 * longLength);
	return start.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}

export function ambiguous(): PalimpsestError {
	const message =
		"Two different originals have the same reference, so it identifies neither. Nothing was read or replaced.";
	return new PalimpsestError("ambiguous_reference", message);
}

const mostShown = 3;
const shortestPiece = 5;
/** Two refs of this length are not this similar by chance. */
const mostEdits = (length: number) => (length > longLength / 2 ? 5 : 2);

export function nearRefs(wanted: string): { readonly consider: (ref: Ref) => void; readonly nearest: () => Ref[] } {
	let best: { readonly ref: Ref; readonly edits: number }[] = [];
	return {
		consider(ref) {
			const isPiece = wanted.length >= shortestPiece && wanted.length < ref.length && ref.includes(wanted);
			const edits = isPiece ? 0 : distance(wanted, ref);
			if (edits > mostEdits(ref.length) || best.some((one) => one.ref === ref)) return;
			best = [...best, { ref, edits }].sort((a, b) => a.edits - b.edits).slice(0, mostShown);
		},
		nearest: () => best.map(({ ref }) => ref),
	};
}

/** A name for files and keys, which cannot contain every character of an id. */
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
