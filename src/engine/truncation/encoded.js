import { fillTemplate } from "../masking/template.js";

/** Shorter runs may be keys, hashes or signatures, which agents use. */
const leastChars = 600;
const sampled = 2_000;
/** The least number of different characters in a sample: words and fillers have fewer. */
const leastVariety = { base64: 40, hex: 12 };
/** The starts of well-known formats. */
const formatsBy = {
	base64: [
		[/^iVBORw0KGg/, "PNG"],
		[/^\/9j\//, "JPEG"],
		[/^R0lGOD/, "GIF"],
		[/^UklGR.{9,11}V0VCU/, "WebP"],
		[/^UklGR/, "WAV"],
		[/^Qk[0-3]/, "BMP"],
		[/^JVBERi0/, "PDF"],
		[/^UEsDB/, "ZIP"],
		[/^H4sI/, "gzip"],
		[/^f0VMR/, "ELF"],
		[/^SUQz|^\/\/[tu]/, "MP3"],
		[/^.{5,6}[mnZ]0eX/, "MP4"],
		[/^T2dnUw/, "Ogg"],
		[/^PHN2Z/, "SVG"],
	],
	hex: [
		[/^89504e47/i, "PNG"],
		[/^ffd8ff/i, "JPEG"],
		[/^47494638/i, "GIF"],
		[/^25504446/i, "PDF"],
		[/^504b0304/i, "ZIP"],
		[/^1f8b08/i, "gzip"],
		[/^7f454c46/i, "ELF"],
	],
};
/** Base64, base64url or hexadecimal digits. */
const isDigit = new Uint8Array(128);
for (const digit of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_=-") {
	isDigit[digit.charCodeAt(0)] = 1;
}
/** Finds long runs of encoded bytes in a range of a text, in order. In JSON they may have escaped line ends and slashes. */
export function findEncoded(text, from = 0, to = text.length) {
	const found = [];
	// A run over this length contains every such position of its stretch, so that most characters are not read.
	for (let at = from + leastChars - 1; at < to; at += leastChars) {
		if (!isPart(text, at)) continue;
		let start = at;
		while (start > from && isPart(text, start - 1)) start -= 1;
		let end = at + 1;
		while (end < to && isPart(text, end)) end += 1;
		at += Math.floor((end - at) / leastChars) * leastChars;
		// A run inside a JSON string may begin inside an escape.
		if (text[start] === "\\") start += 2;
		else if (text[start - 1] === "\\") start += text[start] === "u" ? 5 : 1;
		if (end - start < leastChars) continue;
		const kind = kindOf(text.slice(start, Math.min(end, start + sampled)).replace(/\\[nr]/g, ""));
		if (kind === undefined) continue;
		const format = formatsBy[kind].find(([form]) => form.test(text.slice(start, start + 40)))?.[1];
		found.push({ start, end, kind, format });
	}
	return found;
}
/** Whether a character is a digit or part of an escaped line end or slash. */
function isPart(text, at) {
	const code = text.charCodeAt(at);
	return isDigit[code] === 1 || (code === 92 && /[nr/]/.test(text[at + 1] ?? ""));
}
function kindOf(sample) {
	const variety = new Set(sample).size;
	if (/^(?:[0-9a-f]+|[0-9A-F]+)$/.test(sample)) return variety >= leastVariety.hex ? "hex" : undefined;
	const isMixed = [/[a-z]/, /[A-Z]/, /\d/].every((form) => form.test(sample));
	// Names in a row have hyphens or underscores where base64 has digits and capitals.
	const others = sample.match(/[A-Z\d]/g)?.length ?? 0;
	return isMixed && variety >= leastVariety.base64 && others > sample.length / 4 ? "base64" : undefined;
}
/** The mark in place of encoded bytes: what they are and how long. */
export function encodedMark({ kind, format, start, end }, wording) {
	const name = wording.kinds[kind];
	return fillTemplate(wording.dataInside, {
		kind: format === undefined ? name : `${name} (${format})`,
		omitted_chars: end - start,
	});
}
