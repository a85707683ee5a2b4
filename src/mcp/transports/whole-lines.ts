import { Transform } from "node:stream";

/** A line that was passed over for its length. */
export interface OversizedLine {
	/** Bytes of the whole line. */
	readonly bytes: number;
	/** Its first and last characters, a few hundred of each. */
	readonly head: string;
	readonly tail: string;
}

/** How long a line may be, and whom to tell of one that is longer. */
export interface WholeLinesOptions {
	/** Bytes, line break included. */
	readonly largest: number;
	readonly onOversized: (line: OversizedLine) => void;
}

const newline = 0x0a;
const edgeBytes = 300;

/**
 * A stream that hands on each line whole and in one chunk. The SDK's reader copies and searches all that it holds at
 * every chunk of 64 KiB, so that 50 MB took it ten seconds; of whole lines it makes one copy. A line over the limit is
 * passed over, and the next one is read as usual.
 */
export function wholeLines({ largest, onOversized }: WholeLinesOptions): Transform {
	let parts: Buffer[] = [];
	let bytes = 0;
	let head: Buffer | undefined;
	let tail: Buffer = Buffer.alloc(0);

	const take = (part: Buffer): void => {
		bytes += part.length;
		if (bytes <= largest) {
			parts.push(part);
			return;
		}
		head ??= Buffer.concat([...parts.slice(0, 2), part]).subarray(0, edgeBytes);
		tail = Buffer.concat([parts.at(-1) ?? tail, part]).subarray(-edgeBytes);
		parts = [];
	};

	return new Transform({
		readableObjectMode: true,
		transform(chunk: Buffer, _encoding, done) {
			let start = 0;
			for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, start)) {
				take(chunk.subarray(start, at + 1));
				start = at + 1;
				if (head === undefined) this.push(Buffer.concat(parts));
				else onOversized({ bytes, head: head.toString("utf8"), tail: tail.toString("utf8") });
				parts = [];
				bytes = 0;
				head = undefined;
				tail = Buffer.alloc(0);
			}
			if (start < chunk.length) take(chunk.subarray(start));
			done();
		},
	});
}
