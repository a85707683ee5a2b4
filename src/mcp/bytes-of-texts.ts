/** Texts as UTF-8 in bytes of their own, one behind the other: none is copied to be put together first. */
export function bytesOfTexts(texts: readonly string[]): Buffer {
	const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
	let at = 0;
	for (const text of texts) at += bytes.write(text, at);
	return bytes;
}
