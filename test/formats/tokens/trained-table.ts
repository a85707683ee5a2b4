import { createPieceBytes } from "../../../src/formats/tokens/piece-cache.ts";
import { tokenFile } from "../../../src/formats/tokens/prepare-table.ts";
import { type TokenTable, tableOfFile } from "../../../src/formats/tokens/table.ts";
import { type Draw, pick } from "./random-text.ts";

/** tiktoken's lines of tokens, each byte one character. */
export function linesOf(tokens: readonly string[]): string {
	return tokens.map((token, rank) => `${Buffer.from(token, "latin1").toString("base64")} ${rank}\n`).join("");
}

/** The 256 single bytes, which are the first tokens of each table. */
const singles = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));

/** The file of the tokens given, behind the 256 single bytes. */
export function fileOf(tokens: readonly string[]): Uint8Array<ArrayBuffer> {
	const all = [...singles, ...tokens];
	return tokenFile(linesOf(all), all.length);
}

/** The table of the same. */
export function tableOf(tokens: readonly string[]): TokenTable {
	return tableOfFile(fileOf(tokens)) as TokenTable;
}

/** Tokens as training makes them, over few letters: each what merging makes of two that were there before. */
export function trainedTokens(draw: Draw, letters: string, size: number): string[] {
	const known = [...letters];
	const tokens: string[] = [];
	for (let tries = 0; tokens.length < size && tries < 20 * size; tries++) {
		const token = pick(known, draw) + pick(known, draw);
		if (token.length > 40 || known.includes(token)) continue;
		if (mergePlainly(token, [...tokens, token]) !== 1) continue;
		known.push(token);
		tokens.push(token);
	}
	return tokens;
}

/** A text's bytes as a counter holds them. */
export function viewOf(text: string): DataView {
	const bytes = Buffer.from(text, "latin1");
	const held = createPieceBytes(bytes.length);
	held.bytes.set(bytes);
	return held.view;
}

/** Byte-pair merging as the definition has it. */
export function mergePlainly(piece: string, tokens: readonly string[]): number {
	const ranks = new Map(tokens.map((token, rank) => [token, rank]));
	const parts = [...piece];
	for (;;) {
		let best = Number.POSITIVE_INFINITY;
		let at = -1;
		for (let index = 0; index + 1 < parts.length; index++) {
			const rank = ranks.get(`${parts[index]}${parts[index + 1]}`) ?? Number.POSITIVE_INFINITY;
			if (rank < best) {
				best = rank;
				at = index;
			}
		}
		if (at < 0) return parts.length;
		parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
	}
}
