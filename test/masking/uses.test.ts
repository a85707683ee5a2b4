import { describe, expect, it } from "vitest";
import { findUses, wholeLines } from "../../src/masking/uses.ts";
import { clairvoyantRecall, measureRecall } from "../../src/replaying/recall.ts";
import { policyOf } from "../support/policy-of.ts";
import { historyOf, turnsOf } from "../support/replay-history.ts";
import { transcriptFrom } from "../support/transcripts.ts";

const line = "const total = prices.reduce(add, 0);";

const padding = "filler ".repeat(100);

/** Turn 0 shows a name and a line; turn 1 another name; turn 3 uses all three, turn 4 the first again. */
const document = turnsOf(
	[`see loadUserTable\n${line}\n${padding}`, `and saveUserTable ${padding}`, padding, padding, padding],
	["Looking.", "Looking on.", "Hm.", `I call loadUserTable and saveUserTable:\n  ${line}`, "loadUserTable again."],
);

const transcript = transcriptFrom(document);

describe("findUses", () => {
	it("counts a string when an answer first contains what stood only in results", () => {
		const { identifiers, lines } = findUses(transcript);
		const texts = identifiers.map((taken) => taken.map(({ text, holders }) => `${text} ${holders.join()}`));
		expect(texts[8]).toEqual(["loadUserTable 0", "saveUserTable 1"]);
		expect(texts.flat()).toHaveLength(2);
		expect(lines.flat()).toEqual([{ text: line, holders: [0] }]);
	});

	it("leaves out what stood in a message before", () => {
		const told = document.with(1, { role: "user", content: "Use loadUserTable." });
		const { identifiers } = findUses(transcriptFrom(told));
		expect(identifiers.flat().map(({ text }) => text)).toEqual(["saveUserTable"]);
	});

	it("says which results an answer came back to, and counts identifiers where they stood first", () => {
		const { touches, fresh } = findUses(transcript);
		expect(touches[8]?.map(({ result }) => result)).toEqual([0, 1]);
		expect(touches[8]?.[0]?.weight).toBeCloseTo(2);
		expect(fresh).toEqual([1, 1, 0, 0, 0]);
	});

	it("counts a path of a result's call that is named again as coming back to it", () => {
		const again = turnsOf([padding, padding, padding], ["a", "b", "As src/file-0.ts says."]);
		expect(findUses(transcriptFrom(again)).touches[6]).toEqual([{ result: 0, weight: 1 }]);
	});
});

describe("measureRecall", () => {
	const policy = policyOf({ mask: { keep_errors: false } });
	const history = historyOf(transcript, policy);
	const never = history.results.map(() => Number.POSITIVE_INFINITY);

	it("counts what the call was still sent", () => {
		expect(measureRecall(history, never)).toEqual({
			identifiers: { used: 2, inView: 2, inDigest: 0 },
			lines: { used: 1, inView: 1, inDigest: 0 },
		});
		// The call that uses them is the fourth, before message 8.
		expect(measureRecall(history, never.with(0, 8)).identifiers.inView).toBe(1);
		expect(measureRecall(history, never.with(0, 8)).lines.inView).toBe(0);
		expect(measureRecall(history, never.with(0, 9)).identifiers.inView).toBe(2);
	});

	it("counts what a digest shows apart", () => {
		const digesting = historyOf(transcript, policyOf({ mask: { keep_errors: false, digest_tokens: 40 } }));
		expect(measureRecall(digesting, never.with(0, 8)).identifiers).toEqual({ used: 2, inView: 1, inDigest: 1 });
	});

	it("counts whole items of a digest only: a name that is part of a longer one is not shown", () => {
		const masked = {
			...history,
			results: history.results.map((one) => ({ ...one, digest: ["exit 1", "loadUserTable.rows", "saveUserTable"] })),
		};
		const gone = history.results.map(() => 8);
		expect(measureRecall(masked, gone).identifiers).toEqual({ used: 2, inView: 0, inDigest: 1 });
	});

	it("knows the items of a digest, and that a result too short for one has none", () => {
		const policy = policyOf({ mask: { keep_errors: false, digest_tokens: 40 } });
		const digests = historyOf(transcript, policy).results.map(({ digest }) => digest);
		expect(digests).toEqual([["loadUserTable"], ["saveUserTable"], [], [], []]);
	});

	it("has a clairvoyant bound that keeps what pays: all where there is room, nothing where there is none", () => {
		const all = { inputTokens: 1_000_000, kind: "identifiers" } as const;
		expect(clairvoyantRecall(history, all)).toBe(2);
		expect(clairvoyantRecall(history, { ...all, inputTokens: 0 })).toBe(0);
		const some = Array.from({ length: 40 }, (_, step) =>
			clairvoyantRecall(history, { ...all, inputTokens: step * 100 }),
		);
		expect(some).toEqual(some.toSorted((a, b) => a - b));
		expect(some.some((count) => count > 0 && count < 2)).toBe(true);
	});
});

describe("wholeLines", () => {
	it("takes off indentation and line numbers, and reads escapes of JSON", () => {
		expect(wholeLines(`   12→\t${line}`)).toEqual(new Set([line]));
		expect(wholeLines(`12:${line}\n`)).toEqual(new Set([line]));
		expect(wholeLines(JSON.stringify({ text: `x\n\t${line}\ny` }))).toEqual(new Set([line]));
		expect(wholeLines(JSON.stringify({ text: 'x\nprint("a whole line of it")\ny' }))).toEqual(
			new Set(['print("a whole line of it")']),
		);
	});

	it("leaves out short lines and data", () => {
		expect(wholeLines("return null;\n}\n").size).toBe(0);
		expect(wholeLines("x".repeat(1_001)).size).toBe(0);
	});
});
