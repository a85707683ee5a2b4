import { type HeldLine, longestBefore, type ReadLine, readOn, readWhole } from "./held-line.ts";
import type { Line } from "./line-reader.ts";

/** How much of earlier lines is held; past it the one that was longest unused goes. */
export interface LineParserLimits {
	readonly lines: number;
	/** Bytes of the lines that are held; what was read of them takes about as much again. */
	readonly bytes: number;
	/** Bytes of the shortest line that is held; one that is shorter is read faster than it is looked up. */
	readonly shortest: number;
	/** Bytes of the longest, at most `bytes`: to hold it, it is in memory as bytes and as text while it is read. */
	readonly longest: number;
}

export const lineParserLimits: LineParserLimits = {
	lines: 4,
	bytes: 16_000_000,
	shortest: 64_000,
	longest: 4_000_000,
};

/** Reads lines of JSON, each by what is known of those before. */
export interface LineParser {
	/**
	 * What `JSON.parse` gives for a line; for one that is a text already, by it alone. Messages may be the same objects as
	 * in an earlier answer: nobody may change them. The lists and objects around them are new.
	 *
	 * @throws SyntaxError as `JSON.parse` does.
	 */
	readonly parse: (line: Line) => unknown;
	/** What is held now. */
	readonly held: () => {
		readonly lines: number;
		readonly bytes: number;
		/** Lines of which a part was not read again, since the beginning. */
		readonly continued: number;
	};
}

/**
 * Starts a parser for the lines of one client. A client that sends a conversation again and again, each time with one
 * more message, sends what it sent before byte by byte, and reading that again is most of what the server does for such a
 * call. So where the list in `params.arguments.messages` begins with the very bytes that were in that list in an earlier
 * line, the messages that were read then are taken, and only what is around them and behind them is read.
 */
export function createLineParser(limits: LineParserLimits = lineParserLimits): LineParser {
	// The longest unused first.
	let lines: readonly HeldLine[] = [];
	let heldBytes = 0;
	let continued = 0;

	const forget = (line: HeldLine | undefined): void => {
		if (!line) return;
		lines = lines.filter((other) => other !== line);
		heldBytes -= line.bytes.length;
	};
	const hold = (line: HeldLine): void => {
		const isFull = () => lines.length >= limits.lines || heldBytes + line.bytes.length > limits.bytes;
		while (lines.length > 0 && isFull()) forget(lines[0]);
		lines = [...lines, line];
		heldBytes += line.bytes.length;
	};
	const read = (line: Buffer): ReadLine => {
		const before = longestBefore(lines, line);
		const read = before && readOn(line, before);
		if (!read) return readWhole(line);
		continued += 1;
		// A conversation that goes on takes the place of what it was.
		forget(before);
		return read;
	};

	function parse(line: Line): unknown {
		if (typeof line === "string") return JSON.parse(line);
		const bytes = Buffer.concat(line);
		if (bytes.length < limits.shortest || bytes.length > limits.longest) return JSON.parse(bytes.toString("utf8"));
		const { message, held } = read(bytes);
		if (held) hold(held);
		return message;
	}

	return { parse, held: () => ({ lines: lines.length, bytes: heldBytes, continued }) };
}
