/** Ways through JSON in UTF-8, in bytes. */
export interface JsonScan {
	readonly skipBlanks: (from: number) => number;
	/** From where a value begins. It stops looking at `end`, and calls `onComma` for each comma within the value. */
	readonly skipValue: (from: number, end?: number, onComma?: () => void) => number;
	/** Goes through an object's members; `visit` answers with the place behind a value that it passed itself. */
	readonly members: (from: number, visit: (key: string, value: number) => number | undefined) => number;
	/** From behind one of a list's values to the bracket that closes the list. */
	readonly listEnd: (from: number) => number;
}

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Bytes of a string that are looked at one by one. */
const nearBytes = 32;

/**
 * Goes through JSON in UTF-8 without reading it. Every function takes a place and answers with the place behind what it
 * passed; in a text that is no JSON that means nothing.
 */
export function scanJson(bytes: Uint8Array): JsonScan {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const skipBlanks = (from: number): number => {
		let at = from;
		// Beside blanks a byte order mark, which is only let through at the beginning of a body.
		while (at < bytes.length && (isBlank(bytes[at]) || (at < 3 && (bytes[at] ?? 0) > 0x7f))) at += 1;
		return at;
	};
	const skipString = (from: number): number => {
		let at = from + 1;
		// Most strings are short; for the long ones, which are most of the text, a native search is ten times as fast.
		for (const near = Math.min(at + nearBytes, bytes.length); at < near; ) {
			const byte = bytes[at];
			if (byte === quote) return at + 1;
			at += byte === backslash ? 2 : 1;
		}
		for (let begin = at; ; ) {
			const found = buffer.indexOf(quote, begin);
			if (found < 0) return bytes.length;
			let escapes = 0;
			while (found - escapes > at && bytes[found - escapes - 1] === backslash) escapes += 1;
			if (escapes % 2 === 0) return found + 1;
			begin = found + 1;
			at = begin;
		}
	};
	const skipValue = (from: number, end = bytes.length, onComma?: () => void): number => {
		let at = from;
		let depth = 0;
		while (at < end && at < bytes.length) {
			const byte = bytes[at];
			if (byte === quote) {
				at = skipString(at);
				if (depth === 0) return at;
				continue;
			}
			if (byte === openBrace || byte === openBracket) depth += 1;
			else if (byte === closeBrace || byte === closeBracket) {
				// The end of what is around a number or word.
				if (depth === 0) return at;
				depth -= 1;
				if (depth === 0) return at + 1;
			} else if (depth === 0 && (byte === comma || isBlank(byte))) return at;
			else if (byte === comma) onComma?.();
			at += 1;
		}
		return at;
	};
	const members = (from: number, visit: (key: string, value: number) => number | undefined): number => {
		if (bytes[from] !== openBrace) return Math.max(skipValue(from), from + 1);
		let at = skipBlanks(from + 1);
		while (at < bytes.length && bytes[at] === quote) {
			const afterKey = skipString(at);
			const key = textOfKey(buffer.subarray(at, afterKey));
			at = skipBlanks(afterKey);
			if (bytes[at] !== colon) break;
			const value = skipBlanks(at + 1);
			at = skipBlanks(visit(key, value) ?? skipValue(value));
			if (bytes[at] === comma) at = skipBlanks(at + 1);
		}
		return at + 1;
	};
	const listEnd = (from: number): number => {
		let at = skipBlanks(from);
		while (bytes[at] === comma) at = skipBlanks(skipValue(skipBlanks(at + 1)));
		return at;
	};
	return { skipBlanks, skipValue, members, listEnd };
}

function isBlank(byte: number | undefined): boolean {
	return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Longest key that is looked at: `arguments` with each of its letters escaped. */
const longestKey = 60;

function textOfKey(bytes: Buffer): string {
	if (bytes.length > longestKey) return "";
	// Keys are compared with ASCII names only. To decode each takes ten times as long, and a client may send many.
	if (!bytes.includes(backslash)) return bytes.toString("latin1", 1, bytes.length - 1);
	try {
		return String(JSON.parse(bytes.toString()));
	} catch {
		return "";
	}
}
