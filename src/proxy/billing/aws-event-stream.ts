import { objectOf, stringAt } from "../../formats/json-text/value.ts";

/** The start of a frame: its length and the length of its headers, four bytes each, and a checksum of both. */
const preludeBytes = 12;
const checksumBytes = 4;

/**
 * Reads the events of Bedrock in AWS's binary stream, and passes the JSON of each on. A frame holds it, or, for Anthropic's API,
 * `{"bytes": "<base64>"}` (https://docs.aws.amazon.com/AmazonS3/latest/API/RESTSelectObjectAppendix.html has the frames).
 * Skips a frame over `mostBytes`, and all after one that is none. Checksums are the client's to check.
 */
export function createAwsEventReader(take: (text: string) => void, mostBytes: number) {
	// Joined only when all of a frame is there: it may come in very many pieces.
	let pieces: Buffer[] = [];
	let size = 0;
	let needed = preludeBytes;
	let toSkip = 0;
	let isBroken = false;
	const hold = (rest: Buffer, bytes = preludeBytes) => {
		[pieces, size, needed] = [[rest], rest.length, bytes];
	};
	return {
		push(piece: Buffer): void {
			if (isBroken) return;
			const rest = piece.subarray(Math.min(toSkip, piece.length));
			toSkip -= piece.length - rest.length;
			pieces.push(rest);
			size += rest.length;
			if (size < needed) return;
			let held = Buffer.concat(pieces);
			while (held.length >= preludeBytes) {
				const length = held.readUInt32BE(0);
				const start = preludeBytes + held.readUInt32BE(4);
				if (start + checksumBytes > length) {
					isBroken = true;
					held = Buffer.alloc(0);
				} else if (length > mostBytes) {
					toSkip = Math.max(0, length - held.length);
					held = held.subarray(Math.min(length, held.length));
				} else if (held.length < length) {
					hold(held, length);
					return;
				} else {
					const text = eventIn(held.subarray(start, length - checksumBytes));
					held = held.subarray(length);
					if (text !== undefined) take(text);
				}
			}
			hold(held);
		},
		end: () => undefined,
	};
}

function eventIn(payload: Buffer): string | undefined {
	try {
		const text = payload.toString("utf8");
		const bytes = stringAt(objectOf(JSON.parse(text)), "bytes");
		return bytes === undefined ? text : Buffer.from(bytes, "base64").toString("utf8");
	} catch {
		return undefined;
	}
}
