/** Token ranks by the token's bytes, each byte one character (latin1). */
export type RankTable = ReadonlyMap<string, number>;

/**
 * Turns the list that gpt-tokenizer ships (index = rank; a string, or bytes where they are no UTF-8) into a table that
 * can be asked about any sequence of bytes. Takes some 30 MB and 100 ms: build it only when a text needs it.
 */
export function createRankTable(tokens: readonly (string | readonly number[])[]): RankTable {
	const table = new Map<string, number>();
	tokens.forEach((token, rank) => {
		table.set(typeof token === "string" ? toByteString(token) : String.fromCharCode(...token), rank);
	});
	return table;
}

/** The UTF-8 bytes of a text, one character each. */
export function toByteString(text: string): string {
	return Buffer.from(text, "utf8").toString("latin1");
}
