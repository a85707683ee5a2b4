import { createHash } from "node:crypto";
import { distance } from "fastest-levenshtein";
import { PalimpsestError } from "../../errors.js";
/** Hex digits of the hash in a ref. */
export const hexDigitsOfRef = 15;
const form = {
	symbols: Array.from({ length: 12 }, () => "abcdefghijklmnopqrstuvwxyz234567"),
	hexDigits: hexDigitsOfRef,
	factor: 1n,
};
const [digits, letters] = ["0123456789", "abcdefghijklmnoprstuvwy"];
const syllable = ["bdfghjklmnprstvwz", "aeiou", digits, digits, digits];
/** What older versions wrote for the same texts, such as `noy195ut` and `ve798re306ji825wo179`. These are still read. */
const earlierForms = [
	{ symbols: [letters, letters, letters, digits, digits, digits, letters, letters], hexDigits: 8, factor: 1n },
	{ symbols: [...syllable, ...syllable, ...syllable, ...syllable], hexDigits: hexDigitsOfRef, factor: 43n },
];
const forms = [form, ...earlierForms];
export function refOfHash(hash) {
	return write(hash, form);
}
/** The ref itself, then what older versions wrote for the same text. */
export function formsOfRef(ref) {
	const prefix = read(ref, form);
	return prefix === undefined ? [ref] : forms.map((one) => write(prefix, one));
}
const patternOf = ({ symbols }) => symbols.map((some) => `[${some}]`).join("");
/** A ref in any form. */
export const refPattern = `(?:${forms.map(patternOf).join("|")})`;
/** The first 15 hex digits of the hash, or 8 in one of the older forms; `undefined` if it is not a ref, or was altered. */
export function hashPrefixOfRef(ref) {
	for (const one of forms) {
		if (ref.length === one.symbols.length) return read(ref, one);
	}
	return undefined;
}
function write(hash, { symbols, hexDigits, factor }) {
	let number = BigInt(`0x${hash.slice(0, hexDigits)}`) * factor;
	let ref = "";
	for (const some of symbols.toReversed()) {
		const base = BigInt(some.length);
		ref = `${some[Number(number % base)]}${ref}`;
		number /= base;
	}
	return ref;
}
function read(ref, { symbols, hexDigits, factor }) {
	let number = 0n;
	for (const [at, some] of symbols.entries()) {
		const value = some.indexOf(ref[at] ?? " ");
		if (value === -1) return undefined;
		number = number * BigInt(some.length) + BigInt(value);
	}
	const prefix = (number / factor).toString(16).padStart(hexDigits, "0");
	return number % factor === 0n && prefix.length === hexDigits ? prefix : undefined;
}
const longestGiven = 80;
/** Removes capitals, spaces, hyphens and quotes. */
export function tidyRef(given) {
	const start = given.slice(0, longestGiven);
	return start.toLowerCase().replace(/[^\p{L}\p{N}]/gu, "");
}
export function ambiguous() {
	const message =
		"Two different originals have the same reference, so it identifies neither. Nothing was read or replaced.";
	return new PalimpsestError("ambiguous_reference", message);
}
const mostShown = 3;
const shortestPiece = 5;
/** Two refs of this length are not this similar by chance. */
const mostEdits = (length) => Math.floor(length / 4);
export function nearRefs(wanted) {
	let best = [];
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
const hexOfPiece = 6;
/** What the hashes of refs begin with that differ from this one by one character or the order of two, or that begin with it. */
export function prefixesNear(wanted) {
	const near = new Set();
	const add = (ref) => {
		const prefix = hashPrefixOfRef(ref);
		if (prefix?.length === hexDigitsOfRef) near.add(prefix);
	};
	const splits = Array.from({ length: wanted.length + 1 }, (_, at) => [wanted.slice(0, at), wanted.slice(at)]);
	for (const { symbols } of forms) {
		const more = symbols.length - wanted.length;
		if (Math.abs(more) > 1) continue;
		for (const [before, after] of splits) {
			if (more === -1) add(before + after.slice(1));
			if (more === 0) add(`${before}${after[1] ?? ""}${after[0] ?? ""}${after.slice(2)}`);
			for (const symbol of more < 0 ? [] : (symbols[before.length] ?? [])) add(before + symbol + after.slice(1 - more));
		}
	}
	// Two bits of the last character may belong to the next digit.
	const begun = wanted.length < form.symbols.length ? read(wanted.padEnd(form.symbols.length, "a"), form) : undefined;
	const digits = Math.floor((wanted.length * 5) / 4);
	return begun === undefined || digits < hexOfPiece ? [...near] : [...near, begun.slice(0, digits)];
}
/** A name for files and keys, which cannot contain every character of an id. */
export function callKey(toolCallId) {
	if (toolCallId === undefined) return "none";
	return createHash("sha256").update(JSON.stringify(toolCallId)).digest("hex").slice(0, 16);
}
const allowed = /^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/;
const windowsDevices = /^(?:con|prn|aux|nul|com\d|lpt\d)$/;
/** It becomes the name of a folder and part of keys. Throws PalimpsestError `invalid_argument`. */
export function checkNamespace(name) {
	if (allowed.test(name) && !windowsDevices.test(name)) return name;
	const message =
		"Expected the archive's namespace to be 1 to 64 of a-z, 0-9, - and _, with a letter or digit first and last.";
	throw new PalimpsestError("invalid_argument", message);
}
