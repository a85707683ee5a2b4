import type { RequestId } from "@modelcontextprotocol/sdk/types.js";
import { createJoinedChunks } from "../operations/http/body.ts";

/** The length and the ends of a line that is too long. */
export interface OversizedLine {
	readonly bytes: number;
	readonly head: string;
	readonly tail: string;
}

const lineFeed = 0x0a;
const edgeLength = 300;

/** Reads lines in linear time; the SDK's reader copies all it holds at every chunk. Keeps only the ends of a line that is too long. */
export function createLineReader(options: {
	readonly largest: number;
	readonly onLine: (line: string) => void;
	readonly onOversized: (line: OversizedLine) => void;
}): (chunk: Buffer) => void {
	const { largest, onLine, onOversized } = options;
	return createByteLineReader({ largest, onLine: (line) => onLine(line.toString()), onOversized }).read;
}

/** The same for the bytes of lines, without their line feed. */
export function createByteLineReader(options: {
	readonly largest: number;
	readonly onLine: (line: Buffer) => void;
	/** Gets a line that is too long in parts, its line feed included. */
	readonly onPart?: (part: Buffer) => void;
	readonly onOversized: (line: OversizedLine) => void;
}) {
	const { largest, onLine, onPart, onOversized } = options;
	let chunks = createJoinedChunks();
	let skipped: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined;

	const take = (part: Buffer): void => {
		if (skipped) {
			skipped.bytes += part.length;
			skipped.tail = lastBytes(skipped.tail, part);
			onPart?.(part);
		} else if (chunks.length() + part.length < largest) chunks.add(part);
		else {
			const held = chunks.bytes();
			const head = Buffer.concat([held.subarray(0, edgeLength), part.subarray(0, edgeLength)]);
			skipped = { head, tail: lastBytes(held, part), bytes: held.length + part.length };
			chunks = createJoinedChunks();
			onPart?.(held);
			onPart?.(part);
		}
	};
	const endLine = (): void => {
		if (skipped) {
			const { bytes, head, tail } = skipped;
			skipped = undefined;
			onPart?.(Buffer.of(lineFeed));
			onOversized({ bytes: bytes + 1, head: head.toString("utf8", 0, edgeLength), tail: tail.toString() });
			return;
		}
		const line = chunks.bytes();
		chunks = createJoinedChunks();
		onLine(line);
	};

	return {
		read(chunk: Buffer): void {
			let start = 0;
			for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, start)) {
				const part = chunk.subarray(start, at);
				start = at + 1;
				// A line within one chunk needs no copy.
				if (!skipped && chunks.length() === 0 && part.length < largest) onLine(part);
				else {
					take(part);
					endLine();
				}
			}
			if (start < chunk.length) take(chunk.subarray(start));
		},
		/** The line that has begun, unless it is too long. */
		rest: () => chunks.bytes(),
	};
}

const lastBytes = (...parts: readonly Buffer[]) =>
	Buffer.concat(parts.map((part) => part.subarray(-edgeLength))).subarray(-edgeLength);

const id = String.raw`"id"\s*:\s*("[^"\\]*"|-?\d+)`;
/** A member whose value holds no escapes and no quotes, so that a pattern can pass over it. */
const word = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"`;

const idAtStart = new RegExp(String.raw`^\s*\{\s*(?:${word}\s*,\s*)*${id}\s*,`);
const idAtEnd = new RegExp(String.raw`[^\\]${id}\s*(?:,\s*${word}\s*)*\}\s*$`);
const response = new RegExp(String.raw`^\s*\{\s*(?:(?:${word}|${id})\s*,\s*)*"(?:result|error)"\s*:`);

/** Clients write the id before or after the large part. `undefined` for a response, which needs no answer. */
export function findRequestId({ head, tail }: Pick<OversizedLine, "head" | "tail">): RequestId | undefined {
	return response.test(head) ? undefined : findId({ head, tail });
}

export function findId({ head, tail }: Pick<OversizedLine, "head" | "tail">): RequestId | undefined {
	const found = (idAtStart.exec(head) ?? idAtEnd.exec(tail))?.[1];
	return found === undefined ? undefined : (JSON.parse(found) as RequestId);
}
