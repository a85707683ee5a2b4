import { createAsciiPieces } from "./ascii-pieces.ts";
import { cl100kPieceEnd } from "./cl100k-piece-end.ts";
import type { Encoding } from "./create-counter.ts";
import { o200kPieceEnd } from "./o200k-piece-end.ts";
import { readTokenTable, type TableName } from "./read-token-table.ts";

/** Reads an encoding's table (see `readTokenTable`) and puts its way of splitting beside it. */
export function readEncoding(name: TableName): Encoding {
	const table = readTokenTable(name);
	return name === "o200k_base"
		? { table, asciiPieces: createAsciiPieces(o200kPattern), pieceEnd: o200kPieceEnd }
		: { table, asciiPieces: createAsciiPieces(cl100kPattern), pieceEnd: cl100kPieceEnd };
}

const o200kPattern = { splitsAtCapitals: true, contractsWords: true, slashesAfterLineEnds: true };
const cl100kPattern = { splitsAtCapitals: false, contractsWords: false, slashesAfterLineEnds: false };
