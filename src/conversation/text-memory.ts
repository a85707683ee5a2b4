/**
 * Remembers a fact about each text between calls, since a conversation that grew by a turn holds the same texts again:
 * `guard` of 1 MB then takes 30 ms in place of 80 (`npm run bench -- guard`). The fact must follow from the text alone,
 * so that a full memory can be thrown away. A memory holds 16 conversations of 1 MB.
 */
export function createTextMemory<Fact>(mostChars = 16_000_000) {
	const facts = new Map<string, Fact>();
	let chars = 0;
	return {
		find: (text: string): Fact | undefined => facts.get(text),
		remember(text: string, fact: Fact): void {
			if (!facts.has(text)) chars += text.length;
			facts.set(text, fact);
		},
		isFull: () => chars >= mostChars,
	};
}

export type TextMemory<Fact> = ReturnType<typeof createTextMemory<Fact>>;
