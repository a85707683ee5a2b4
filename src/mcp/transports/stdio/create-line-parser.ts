import { type HeldLine, longestBefore, type ReadLine, readOn, readWhole } from "./held-line.ts";

/** How much of earlier lines is held; past it the one that was longest unused goes. */
export interface LineParserLimits {
	readonly lines: number;
	/** Bytes of the lines that are held; what was read of them takes about as much again. */
	readonly bytes: number;
	/** Bytes of the shortest line that is held; one that is shorter is read faster than it is looked up. */
	readonly shortest: number;
}

export const lineParserLimits: LineParserLimits = { lines: 4, bytes: 32_000_000, shortest: 64_000 };

/** Reads lines of JSON, each by what is known of those before. */
export interface LineParser {
	/**
	 * What `JSON.parse` gives for a line of UTF-8, which comes in pieces. Messages may be the same objects as in an earlier
	 * answer: nobody may change them. The lists and objects around them are new.
	 *
	 * @throws SyntaxError as `JSON.parse` does.
	 */
	readonly parse: (pieces: readonly Buffer[]) => unknown;
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
	let bytes = 0;
	let continued = 0;

	const forget = (line: HeldLine | undefined): void => {
		if (!line) return;
		lines = lines.filter((other) => other !== line);
		bytes -= line.bytes.length;
	};
	const hold = (line: HeldLine): void => {
		while (lines.length >= limits.lines || bytes + line.bytes.length > limits.bytes) forget(lines[0]);
		lines = [...lines, line];
		bytes += line.bytes.length;
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

	function parse(pieces: readonly Buffer[]): unknown {
		const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
		const line = Buffer.concat(pieces, size);
		if (size < limits.shortest || size > limits.bytes) return JSON.parse(line.toString("utf8"));
		const { message, held } = read(line);
		if (held) hold(held);
		return message;
	}

	return { parse, held: () => ({ lines: lines.length, bytes, continued }) };
}
