/** The beginning of a text, of at most so many bytes, without half a character. */
export function firstBytes(text: string, most: number): { readonly text: string; readonly bytes: number } {
	// Three bytes for a lone surrogate, as it is stored.
	const all = Buffer.byteLength(text, "utf8");
	if (all <= most) return { text, bytes: all };
	let [low, high] = [0, text.length];
	while (high - low > 1) {
		const middle = (low + high) >>> 1;
		if (Buffer.byteLength(text.slice(0, middle), "utf8") <= most) low = middle;
		else high = middle;
	}
	const splits = /[\uD800-\uDBFF]/.test(text[low - 1] ?? "") && /[\uDC00-\uDFFF]/.test(text[low] ?? "");
	const first = text.slice(0, splits ? low - 1 : low);
	return { text: first, bytes: Buffer.byteLength(first, "utf8") };
}
