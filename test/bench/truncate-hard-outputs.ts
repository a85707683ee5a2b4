/** A kind of output that is hard to cut. */
export interface HardOutput {
	readonly kind: string;
	/** How often its unit stands in it. */
	readonly size: number;
	readonly make: (size: number) => string;
}

const repeated = (unit: string) => (size: number) => unit.repeat(size);
const numbered = (line: (index: number) => string) => (size: number) =>
	Array.from({ length: size }, (_, index) => line(index)).join("\n");

export const hardOutputs: readonly HardOutput[] = [
	{ kind: "one line of 5 MB", size: 350_000, make: repeated("word and word ") },
	{ kind: "5 MB of one letter", size: 5_000_000, make: repeated("a") },
	{ kind: "5 million empty lines", size: 5_000_000, make: repeated("\n") },
	{ kind: "1 MB of one emoji", size: 40_000, make: repeated("👨‍👩‍👧‍👦") },
	{ kind: "1 MB of flags", size: 125_000, make: repeated("🇫🇷") },
	{ kind: "a letter with 500 000 marks", size: 500_000, make: (size) => `e${"\u0301".repeat(size)}` },
	{ kind: "lone surrogates", size: 500_000, make: repeated("\ud83d") },
	{ kind: "NULs", size: 500_000, make: repeated("\0") },
	{ kind: "mixed encodings", size: 60_000, make: repeated("caf\u00c3\u00a9 \ufffd\ufffd ok\n") },
	{ kind: "deep JSON", size: 200_000, make: (size) => "[".repeat(size) + "]".repeat(size) },
	{
		kind: "a long list of JSON",
		size: 50_000,
		make: (size) => `[${numbered((id) => `{"id":${id},"name":"thing ${id}"},`)(size)}0]`,
	},
	{ kind: "unclosed escape sequences", size: 200_000, make: repeated("\u001b]") },
	{ kind: "carriage returns", size: 200_000, make: repeated("10 %\r") },
	{ kind: "distinct errors", size: 60_000, make: numbered((index) => `error: thing ${index.toString(36)} failed`) },
	{
		kind: "lines of a log",
		size: 100_000,
		make: numbered((index) => `2026-03-01T10:00:00Z INFO request ${index} served in ${index % 97} ms`),
	},
	{
		kind: "lines of code",
		size: 100_000,
		make: numbered((index) => `\tconst thing${index} = makeThing(input[${index}], options);`),
	},
	{
		kind: "a diff",
		size: 60_000,
		make: (size) =>
			`diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1,9 +1,9 @@\n${numbered((index) => `${index % 3 === 0 ? "+" : " "}const thing${index} = makeThing(${index});`)(size)}`,
	},
	{
		kind: "rows of a table",
		size: 100_000,
		make: (size) => `id,name,total\n${numbered((index) => `${index},thing ${index},${index % 7}`)(size)}`,
	},
];
