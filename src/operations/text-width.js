/** The columns of a text in a terminal, by estimate: East Asian letters and emoji take two. */
export function columnsOf(text) {
	if (isAscii(text)) return text.length;
	return Array.from(signs.segment(text), ({ segment }) => columnsOfSign(segment)).reduce((sum, one) => sum + one, 0);
}
/** Cuts at the beginning, because paths differ at their ends. */
export function endOf(text, longest) {
	if (columnsOf(text) <= longest) return text;
	const kept = [];
	let left = longest - 1;
	for (const { segment } of [...signs.segment(text)].reverse()) {
		left -= columnsOfSign(segment);
		if (left < 0) break;
		kept.unshift(segment);
	}
	return `…${kept.join("")}`;
}
const isAscii = (text) => /^[\x20-\x7e]*$/.test(text);
/** One sign may be several characters. */
const signs = new Intl.Segmenter("en", { granularity: "grapheme" });
const wide =
	/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\u3000-\u303e\u3041-\u33ff\uff01-\uff60\uffe0-\uffe6\p{Emoji_Presentation}]|\ufe0f/u;
const halfWidth = /^[\uff61-\uffdc]/;
function columnsOfSign(sign) {
	if (/^[\p{M}\p{Cf}\p{Cc}]+$/u.test(sign)) return 0;
	return wide.test(sign) && !halfWidth.test(sign) ? 2 : 1;
}
