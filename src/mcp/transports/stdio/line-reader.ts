import { StringDecoder } from "node:string_decoder";

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
	/** Takes each line without its line feed; a carriage return before it stays. */
	readonly onLine: (line: string) => void;
	readonly onOversized: (line: OversizedLine) => void;
}

const lineFeed = 0x0a;
const edgeLength = 300;

/** Bytes that are gathered before they are decoded, so that chunks of a few bytes do not become a string each. */
const smallestPiece = 32 * 1024;

/**
 * Reads lines of UTF-8 from chunks cut anywhere: answers with what takes a chunk. Each byte is searched once and decoded
 * once, as it comes, so that the work is linear in the size of a line and mostly done before its end is there; the SDK's
 * reader copies and searches all that it holds at every chunk of 64 KiB. A line over the limit is passed over with no
 * more of it kept than its ends, and the next one is read as usual.
 */
export function createLineReader({ largest, onLine, onOversized }: LineReaderOptions): (chunk: Buffer) => void {
	const decoder = new StringDecoder("utf8");
	let parts: Buffer[] = [];
	let undecoded = 0;
	let text = "";
	let bytes = 0;
	let ends: { readonly head: string; tail: Buffer } | undefined;

	const decode = (): void => {
		const [first] = parts;
		if (first === undefined) return;
		text += decoder.write(parts.length === 1 ? first : Buffer.concat(parts, undecoded));
		parts = [];
		undecoded = 0;
	};

	const take = (part: Buffer): void => {
		bytes += part.length;
		if (ends !== undefined) {
			ends.tail = lastBytes(ends.tail, part);
			return;
		}
		parts.push(part);
		undecoded += part.length;
		if (undecoded >= smallestPiece || bytes > largest) decode();
		if (bytes <= largest) return;
		ends = { head: copyOf(text.slice(0, edgeLength)), tail: lastBytes(Buffer.from(text.slice(-edgeLength))) };
		text = "";
	};

	const endLine = (): void => {
		decode();
		const line = text + decoder.end();
		const passedOver = ends === undefined ? undefined : { bytes, head: ends.head, tail: ends.tail.toString("utf8") };
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
