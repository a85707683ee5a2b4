import { afterAll, describe, expect, it } from "vitest";
import { resultText } from "../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { detectError, structuralError } from "../../src/engine/masking/errors.ts";
import { resultTargets } from "../../src/engine/masking/judge-results.ts";
import type { CallTarget } from "../../src/engine/masking/targets.ts";
import { hasRealData } from "../support/real-conversations.ts";
import { realTranscripts } from "./real-transcripts.ts";

/** What a detector says of results whose flag is known. */
interface Tally {
	results: number;
	errors: number;
	found: number;
	wrong: number;
	/** Characters of results that are taken for errors and are none, which masking would keep. */
	wrongChars: number;
	chars: number;
}

const tallies = new Map<string, { structural: Tally; words: Tally }>();
const start = (): Tally => ({ results: 0, errors: 0, found: 0, wrong: 0, wrongChars: 0, chars: 0 });

function add(tally: Tally, { isError, isFound, chars }: { isError: boolean; isFound: boolean; chars: number }): void {
	tally.results += 1;
	tally.chars += chars;
	if (isError) tally.errors += 1;
	if (isFound && isError) tally.found += 1;
	if (isFound && !isError) {
		tally.wrong += 1;
		tally.wrongChars += chars;
	}
}

const precision = ({ found, wrong }: Tally) => found / Math.max(1, found + wrong);
const recall = ({ found, errors }: Tally) => found / Math.max(1, errors);

/**
 * The flag of a result where the format has one: Claude Code sets `is_error` where a call failed, and often leaves it out
 * where none did.
 */
function flagOf(format: string, isError: boolean | undefined): boolean | undefined {
	return isError ?? (format === "claude-code" ? false : undefined);
}

describe.skipIf(!hasRealData)("errors among real results, found without the flag", () => {
	let conversation = 0;
	for (const { format, transcript } of realTranscripts()) {
		conversation += 1;
		const targets = resultTargets(transcript);
		const half = conversation % 2 === 0 ? "(one half)" : "(other half)";
		for (const [place, { result }] of pairResults(transcript).entries()) {
			const target = targets[place] as CallTarget;
			const isError = flagOf(format, result.isError);
			if (isError === undefined) continue;
			const text = resultText(result);
			const structural = structuralError({ result: { ...result, isError: undefined }, target }) !== undefined;
			const words = detectError(text) !== undefined;
			for (const row of [format, half, "(all)"]) {
				const both = tallies.get(row) ?? { structural: start(), words: start() };
				tallies.set(row, both);
				add(both.structural, { isError, isFound: structural, chars: text.length });
				add(both.words, { isError, isFound: words, chars: text.length });
			}
		}
	}

	it.each(["(all)", "(one half)", "(other half)", "claude-code", "pi"])(
		"both figures are better than with the word rules: %s",
		(row) => {
			const { structural, words } = tallies.get(row) ?? { structural: start(), words: start() };
			expect(structural.errors).toBeGreaterThan(20);
			expect(precision(structural)).toBeGreaterThan(Math.max(0.6, precision(words)));
			expect(recall(structural)).toBeGreaterThan(Math.max(0.9, recall(words)));
			expect(structural.wrongChars).toBeLessThan(words.wrongChars / 10);
		},
	);

	afterAll(() => {
		const share = (value: number) => value.toFixed(2).padStart(5);
		const lines = [...tallies].map(([row, { structural, words }]) => {
			const kept = (tally: Tally) =>
				`${((100 * tally.wrongChars) / Math.max(1, tally.chars)).toFixed(1).padStart(5)} %`;
			const figures = [structural, words].map(
				(tally) => `${share(precision(tally))} ${share(recall(tally))} ${kept(tally)}`,
			);
			return `${row.padEnd(20)} ${`${structural.results}`.padStart(6)} ${`${structural.errors}`.padStart(6)}   ${figures.join("   ")}`;
		});
		const head = `${"".padEnd(20)} ${"results".padStart(6)} errors   structural: precision, recall, chars kept in vain   words: the same`;
		process.stdout.write(`${[head, ...lines].join("\n")}\n`);
	});
});
