/** The encodings of outputs: programs of Windows write UTF-16, with a byte order mark or without. */
type OutputEncoding = "utf-8" | "utf-16le" | "utf-16be";

/** Decodes an output. A byte order mark of UTF-16 is left out; bytes that are no UTF-8 become U+FFFD. */
export function decodeOutput(bytes: Uint8Array): string {
	const encoding = outputEncoding(bytes);
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	return encoding === "utf-8" ? buffer.toString("utf8") : new TextDecoder(encoding).decode(buffer);
}

const sampled = 4_096;
/** Least and most zeros at every second byte of the sample, as shares: a text in UTF-16 has mostly letters of Latin. */
const zeros = { least: 0.6, most: 0.05 };

/** The encoding of an output, by its first bytes. */
export function outputEncoding(bytes: Uint8Array): OutputEncoding {
	const [first, second, third] = bytes;
	if (first === 0xff && second === 0xfe && (bytes.length < 4 || third !== 0 || bytes[3] !== 0)) return "utf-16le";
	if (first === 0xfe && second === 0xff) return "utf-16be";
	const length = Math.min(bytes.length, sampled) & ~1;
	if (length < 8) return "utf-8";
	const found = [0, 0];
	for (let at = 0; at < length; at += 1) if (bytes[at] === 0) found[at % 2] = (found[at % 2] as number) + 1;
	const [even = 0, odd = 0] = found.map((count) => count / (length / 2));
	const encoding =
		odd > zeros.least && even < zeros.most ? "utf-16le" : even > zeros.least && odd < zeros.most ? "utf-16be" : "utf-8";
	if (encoding === "utf-8") return encoding;
	// Small numbers of two bytes look the same, so what it decodes to has to be text.
	const sample = new TextDecoder(encoding).decode(bytes.subarray(0, length));
	// biome-ignore lint/suspicious/noControlCharactersInRegex: it searches for control characters.
	const isText = !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f\ufffe\uffff]/.test(sample);
	return isText ? encoding : "utf-8";
}
