/**
 * A short name for an original, such as `ku193re960gi257do532`: what stands in placeholders and what a model asks by.
 *
 * Four times a syllable and three digits. It carries the first 60 bits of the SHA-256 of the stored text, times 43: a
 * multiple of 43 is whole, any other number was altered. In o200k_base and in cl100k_base each syllable between digits
 * is one token and so are three digits: 8 tokens, always the same ones, where 16 hex digits take 9 to 15.
 */
export type Ref = string;

const consonants = "bdfghjklmnprstvwz";
const vowels = "aeiou";
const syllables = Array.from(consonants, (consonant) => Array.from(vowels, (vowel) => consonant + vowel)).flat();
const groups = 4;
const groupSize = syllables.length * 1000;
// A prime, so that no other single character and no two neighbouring digits the other way round make a multiple.
const check = 43n;

/** How many hex digits of the SHA-256 a ref carries. */
export const hexDigitsOfRef = 15;
/** Characters of a ref. */
export const refLength = groups * 5;
/** What a ref looks like, for a regular expression. */
export const refPattern = `(?:[${consonants}][${vowels}]\\d{3}){${groups}}`;

const exactly = new RegExp(`^${refPattern}$`);

/** The ref of a stored text, from the SHA-256 (hex) of its bytes. */
export function refOfHash(hash: string): Ref {
	let number = BigInt(`0x${hash.slice(0, hexDigitsOfRef)}`) * check;
	let ref = "";
	for (let group = 0; group < groups; group += 1) {
		const value = Number(number % BigInt(groupSize));
		number /= BigInt(groupSize);
		ref = `${syllables[Math.floor(value / 1000)]}${String(value % 1000).padStart(3, "0")}${ref}`;
	}
	return ref;
}

/** The first hex digits of the SHA-256 that a ref stands for; `undefined` where it is no ref, or not as it was written. */
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

/** A ref as people and models write it: capitals, spaces, hyphens and quotes around it do not count. */
export function tidyRef(given: string): string {
	return given
		.slice(0, 4 * refLength)
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]/gu, "");
}
