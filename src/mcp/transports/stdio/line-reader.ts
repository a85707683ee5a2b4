/** A line that was passed over for its length. */
export interface OversizedLine {
	/** Bytes of the whole line, its break included. */
	readonly bytes: number;
	/** Its first and last characters, a few hundred of each. */
	readonly head: string;
	readonly tail: string;
}

/** How long a line may be, and who takes it. */
export interface LineReaderOptions {
	/** Bytes, line break included. */
	readonly largest: number;
	/** Takes each line without its line feed, in pieces; a carriage return before it stays. */
	readonly onLine: (pieces: readonly Buffer[]) => void;
	readonly onOversized: (line: OversizedLine) => void;
}

const lineFeed = 0x0a;
const edgeLength = 300;

/** Bytes up to which small chunks are put together, so that chunks of a few bytes do not become a piece each. */
const smallestPiece = 32 * 1024;

/**
 * Reads lines from chunks cut anywhere: answers with what takes a chunk. Each byte is searched once and, where chunks are
 * small, copied once, as it comes, so that the work is linear in the size of a line; the SDK's reader copies and searches
 * all that it holds at every chunk of 64 KiB. A line over the limit is passed over with no more of it kept than its ends,
 * and the next one is read as usual.
 */
export function createLineReader({ largest, onLine, onOversized }: LineReaderOptions): (chunk: Buffer) => void {
	let pieces: Buffer[] = [];
	let small: Buffer[] = [];
	let smallBytes = 0;
	let bytes = 0;
	let ends: { readonly head: string; tail: Buffer } | undefined;

	const gather = (): void => {
		const [first] = small;
		if (first === undefined) return;
		pieces.push(small.length === 1 ? first : Buffer.concat(small, smallBytes));
		small = [];
		smallBytes = 0;
	};

	const take = (part: Buffer): void => {
		bytes += part.length;
		if (ends !== undefined) {
			ends.tail = lastBytes(ends.tail, part);
			return;
		}
		small.push(part);
		smallBytes += part.length;
		if (smallBytes >= smallestPiece || bytes > largest) gather();
		if (bytes <= largest) return;
		// No piece but the last is smaller than an end.
		ends = { head: pieces[0]?.toString("utf8", 0, edgeLength) ?? "", tail: lastBytes(...pieces.slice(-2)) };
		pieces = [];
	};

	const endLine = (): void => {
		gather();
		const line = pieces;
		const passedOver = ends === undefined ? undefined : { bytes, head: ends.head, tail: ends.tail.toString("utf8") };
		pieces = [];
		bytes = 0;
		ends = undefined;
		if (passedOver) onOversized(passedOver);
		else onLine(line);
	};

	return (chunk) => {
		let start = 0;
		for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, start)) {
			// The line feed counts too, for which there must be room even where the rest of the line fits.
			bytes += 1;
			take(chunk.subarray(start, at));
			endLine();
			start = at + 1;
		}
		if (start < chunk.length) take(chunk.subarray(start));
	};
}

function lastBytes(...parts: readonly Buffer[]): Buffer {
	return Buffer.concat(parts.map((part) => part.subarray(-edgeLength))).subarray(-edgeLength);
}
