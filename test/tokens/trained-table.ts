import { createPieceBytes } from "../../src/tokens/piece-cache.ts";
import { createTokenTable } from "../../src/tokens/prepare-table.ts";
import type { TokenTable } from "../../src/tokens/table.ts";
import { type Draw, pick } from "./random-text.ts";

/** A table of the tokens given, each byte one character, behind the 256 single bytes. */
export function tableOf(tokens: readonly string[]): TokenTable {
	const all = [...Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte)), ...tokens];
	const bytes = Buffer.from(all.join(""), "latin1");
	const held = createPieceBytes(bytes.length);
	held.bytes.set(bytes);
	const starts = new Int32Array(all.length + 1);
	for (const [rank, token] of all.entries()) starts[rank + 1] = (starts[rank] ?? 0) + token.length;
	return createTokenTable(held, starts);
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
