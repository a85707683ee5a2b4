import { StringDecoder } from "node:string_decoder";

/** A line of UTF-8: its bytes in pieces, or its text where it is long. */
export type Line = readonly Buffer[] | string;

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
	/** Bytes past which a line is decoded as it comes, so that it is not in memory as bytes and as text. Default: none. */
	readonly largestInBytes?: number;
	/** Takes each line without its line feed; a carriage return before it stays. */
	readonly onLine: (line: Line) => void;
	readonly onOversized: (line: OversizedLine) => void;
}

const lineFeed = 0x0a;
const edgeLength = 300;

/** Bytes up to which small chunks are put together, so that chunks of a few bytes do not become a piece each. */
const smallestPiece = 32 * 1024;

/** Bytes that are decoded at once: V8 moves a shorter string at each collection of young garbage. */
const smallestDecoded = 256 * 1024;

/**
 * Reads lines from chunks cut anywhere: answers with what takes a chunk. Each byte is searched once, as it comes, copied
 * once at most where chunks are small, and decoded once where the line is long, so that the work is linear in the size of
 * a line; the SDK's reader copies and searches all that it holds at every chunk of 64 KiB. A line over the limit is passed
 * over with no more of it kept than its ends, and the next one is read as usual.
 */
export function createLineReader(options: LineReaderOptions): (chunk: Buffer) => void {
	const { largest, largestInBytes = Number.POSITIVE_INFINITY, onLine, onOversized } = options;
	const decoder = new StringDecoder("utf8");
	let pieces: Buffer[] = [];
	let undecoded = 0;
	let text = "";
	let small: Buffer[] = [];
	let smallBytes = 0;
	let bytes = 0;
	let ends: { readonly head: string; tail: Buffer } | undefined;

	const decode = (): void => {
		if (undecoded > 0) text += decoder.write(Buffer.concat(pieces, undecoded));
		pieces = [];
		undecoded = 0;
	};

	const gather = (): void => {
		const [first] = small;
		if (first === undefined) return;
		pieces.push(small.length === 1 ? first : Buffer.concat(small, smallBytes));
		undecoded += smallBytes;
		small = [];
		smallBytes = 0;
		if (bytes > largestInBytes && undecoded >= smallestDecoded) decode();
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
		decode();
		ends = { head: copyOf(text.slice(0, edgeLength)), tail: lastBytes(Buffer.from(text.slice(-edgeLength))) };
		text = "";
	};

	const endLine = (): void => {
		gather();
		if (bytes > largestInBytes) decode();
		const decoded = text + decoder.end();
		const line = decoded === "" ? pieces : decoded;
		const passedOver = ends === undefined ? undefined : { bytes, head: ends.head, tail: ends.tail.toString("utf8") };
		pieces = [];
		undecoded = 0;
		text = "";
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

/** The same text on its own: a slice would keep all of the long text alive. */
function copyOf(text: string): string {
	return Buffer.from(text).toString("utf8");
}
