import type { ExcerptSource } from "../../engine/stream/compose-excerpt.ts";
import { readFailureLines } from "../../engine/stream/failure-lines.ts";
import { readEnds } from "../../engine/stream/head-and-tail.ts";

/** What is kept of an output as it passes. */
export interface OutputReader {
	readonly push: (piece: string) => void;
	readonly source: () => ExcerptSource;
}

/** Longest line that is kept as a whole where it tells of a failure, in characters. */
const longestLine = 16_000;

/** Reads an output of any length for an excerpt of at most so many characters. */
export function readOutput(mostChars: number): OutputReader {
	const ends = readEnds({ headChars: mostChars + 1, tailChars: mostChars + 1 });
	const failures = readFailureLines({ longestLine: Math.min(longestLine, Math.max(1_000, mostChars)) });
	return {
		push(piece) {
			ends.push(piece);
			failures.push(piece);
		},
		source: () => ({ ends: ends.ends(), failures: failures.end() }),
	};
}
