import { describe, expect, it } from "vitest";
import { findUses } from "../../../src/engine/masking/uses.ts";
import { measureRecall } from "../../../src/engine/replaying/recall.ts";
import { policyOf } from "../../support/policy-of.ts";
import { historyOf, turnsOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const line = "const total = prices.reduce(add, 0);";

const padding = "filler ".repeat(100);

/** Turn 0 shows a name and a line; turn 1 another name; turn 3 uses all three, turn 4 the first again. */
const document = turnsOf(
	[`see loadUserTable\n${line}\n${padding}`, `and saveUserTable ${padding}`, padding, padding, padding],
	["Looking.", "Looking on.", "Hm.", `I call loadUserTable and saveUserTable:\n  ${line}`, "loadUserTable again."],
);

const transcript = transcriptFrom(document);

describe("findUses", () => {
	it("counts a string when an answer first contains text that was only in results", () => {
		const { identifiers, lines } = findUses(transcript);
		const texts = identifiers.map((taken) => taken.map(({ text, holders }) => `${text} ${holders.join()}`));
		expect(texts[8]).toEqual(["loadUserTable 0", "saveUserTable 1"]);
		expect(texts.flat()).toHaveLength(2);
		expect(lines.flat()).toEqual([{ text: line, holders: [0] }]);
	});

	it("finds a line among white space, line numbers, other lines and escapes", () => {
		const used = [
			"x".repeat(20),
			"const total = prices.reduce(add, 0);",
			`${"z".repeat(900)} the end.`,
			'print("a whole line", "of it")',
		];
		const around = [
			"|",
			"\t |\t",
			"| \v\f\r",
			"|\u00a0",
			"  12→\t|",
			"| é",
			"7: | \n",
			"{\n|\n}",
			"{\r\n|\r\n}",
			'{"a":"b\\n|\\n"}',
		];
		for (const one of used) {
			for (const text of [...around.map((sides) => sides.replace("|", one)), JSON.stringify({ a: `b\n\t${one}\n` })]) {
				const { lines } = findUses(transcriptFrom(turnsOf([text, padding], ["", `Now:\n  ${one}`])));
				const expected = text.includes("é") ? [] : [{ text: one, holders: [0] }];
				expect(lines.flat(), JSON.stringify(text)).toEqual(expected);
			}
		}
	});

	it("omits text that an earlier message contained", () => {
		const told = document.with(1, { role: "user", content: "Use loadUserTable." });
		const { identifiers } = findUses(transcriptFrom(told));
		expect(identifiers.flat().map(({ text }) => text)).toEqual(["saveUserTable"]);
	});

	it("names the results that an answer used, and counts identifiers by their first result", () => {
		const { touches, fresh } = findUses(transcript);
		expect(touches[8]?.map(({ result }) => result)).toEqual([0, 1]);
		expect(touches[8]?.[0]?.weight).toBeCloseTo(2);
		expect(fresh).toEqual([1, 1, 0, 0, 0]);
	});

	it("leaves out the reminders that Claude Code puts after a result", () => {
		const left = "Tokens left in this session: 118204 of 200000";
		const reminder = `<system-reminder>\n<total_tokens>${left}</total_tokens>\n</system-reminder>`;
		const outputs = [`see loadUserTable ${padding}\n\n${reminder}`, `${line}\n${reminder}\n${reminder}\n`];
		const { identifiers, lines, fresh } = findUses(
			transcriptFrom(turnsOf([...outputs, padding], ["", "", `loadUserTable, 118204\n${left}\n${line}`])),
		);
		expect(identifiers.flat()).toEqual([{ text: "loadUserTable", holders: [0] }]);
		expect(lines.flat()).toEqual([{ text: line, holders: [1] }]);
		expect(fresh).toEqual([1, 0, 0]);
	});

	it("reads messages of the user that name a path of a call, and thousands of names", () => {
		const asked = { role: "user", content: "Look at src/file-0.ts again." };
		const names = Array.from({ length: 2_100 }, (_, index) => `name_${index}`);
		const told = [
			...turnsOf([names.join(" "), padding]),
			asked,
			{ role: "assistant", content: names.toReversed().join(" ") },
		];
		const { touches, identifiers, fresh } = findUses(transcriptFrom(told));
		expect(touches[6]).toEqual([]);
		expect(identifiers[7]?.map(({ text }) => text)).toEqual(names.toReversed());
		expect(touches[7]).toEqual([{ result: 0, weight: 2_100 }]);
		expect(fresh).toEqual([2_100, 0]);
	});

	it("counts a repeated path of a result's call as a use of it", () => {
		const again = turnsOf([padding, padding, padding], ["a", "b", "As src/file-0.ts says."]);
		expect(findUses(transcriptFrom(again)).touches[6]).toEqual([{ result: 0, weight: 1 }]);
	});

	it("does not count a repeated name that is not a path", () => {
		const named = JSON.stringify(turnsOf([padding, padding], ["a", "As loadUserTable says."]));
		const again = JSON.parse(named.replace("src/file-0.ts", "loadUserTable")) as unknown[];
		expect(findUses(transcriptFrom(again)).touches[4]).toEqual([]);
	});

	it("counts a use of the last eight results that share a path or a name", () => {
		const same = JSON.stringify(turnsOf(Array(9).fill(`see loadUserTable ${padding}`), Array(9).fill("")));
		const told = JSON.parse(same.replaceAll(/file-\d/g, "file-0")) as unknown[];
		const touchesOf = (content: string) => {
			const { identifiers, touches } = findUses(transcriptFrom([...told, { role: "assistant", content }]));
			return [identifiers[20], touches[20]];
		};
		const last = (weight: number) => [1, 2, 3, 4, 5, 6, 7, 8].map((result) => ({ result, weight }));
		const held = { text: "loadUserTable", holders: [0, 1, 2, 3, 4, 5, 6, 7, 8] };
		expect(touchesOf("loadUserTable")).toEqual([[held], last(1 / 9)]);
		expect(touchesOf("src/file-0.ts")).toEqual([[], last(1)]);
	});
});

describe("measureRecall", () => {
	const policy = policyOf({ mask: { keep_errors: false } });
	const history = historyOf(transcript, policy);
	const never = history.results.map(() => Number.POSITIVE_INFINITY);

	it("counts strings still present at the call", () => {
		expect(measureRecall(history, never)).toEqual({
			identifiers: { used: 2, inView: 2, inDigest: 0 },
			lines: { used: 1, inView: 1, inDigest: 0 },
		});
		// The call that uses them is the fourth, before message 8.
		expect(measureRecall(history, never.with(0, 8)).identifiers.inView).toBe(1);
		expect(measureRecall(history, never.with(0, 8)).lines.inView).toBe(0);
		expect(measureRecall(history, never.with(0, 9)).identifiers.inView).toBe(2);
	});

	it("counts strings shown by a digest separately", () => {
		const digesting = historyOf(transcript, policyOf({ mask: { keep_errors: false, digest_tokens: 40 } }));
		expect(measureRecall(digesting, never.with(0, 8)).identifiers).toEqual({ used: 2, inView: 1, inDigest: 1 });
	});

	it("counts only complete items of a digest: a name that is part of a longer one is not shown", () => {
		const masked = {
			...history,
			results: history.results.map((one) => ({ ...one, digest: ["exit 1", "loadUserTable.rows", "saveUserTable"] })),
		};
		const gone = history.results.map(() => 8);
		expect(measureRecall(masked, gone).identifiers).toEqual({ used: 2, inView: 0, inDigest: 1 });
	});

	it("counts the items of a digest, and none for a result that is too short for one", () => {
		const policy = policyOf({ mask: { keep_errors: false, digest_tokens: 40 } });
		const digests = historyOf(transcript, policy).results.map(({ digest }) => digest);
		expect(digests).toEqual([["loadUserTable"], ["saveUserTable"], [], [], []]);
	});
});

/** The lines of a result that an answer takes when it repeats the text. */
function linesOf(text: string): string[] {
	const { lines } = findUses(transcriptFrom(turnsOf([text, padding], ["", text])));
	return lines.flat().map((taken) => taken.text);
}

describe("the lines that an answer can use", () => {
	it("removes indentation and line numbers, and decodes JSON escapes", () => {
		expect(linesOf(`   12→\t${line}`)).toEqual([line]);
		expect(linesOf(`12:${line}\n`)).toEqual([line]);
		expect(linesOf(JSON.stringify({ text: `x\n\t${line}\ny` }))).toEqual([line]);
		expect(linesOf(JSON.stringify({ text: 'x\nprint("a whole line of it")\ny' }))).toEqual([
			'print("a whole line of it")',
		]);
	});

	it("takes lines of 20 to 1000 characters, without numbers of up to seven digits before them", () => {
		const of = (length: number) => "x".repeat(length);
		expect([19, 20, 1_000, 1_001].map((length) => linesOf(of(length)).length)).toEqual([0, 1, 1, 0]);
		expect(linesOf(`  ${of(18)}  `)).toEqual([]);
		expect([...linesOf(`12: ${of(19)}`), ...linesOf(`12: ${of(20)}`)]).toEqual([of(20)]);
		for (const number of ["0:", "1:", "9:", "1234567:", "   12→", "7\t", "7|", "7   |", "7  |"]) {
			expect(linesOf(`${number} ${of(20)}`), number).toEqual([of(20)]);
		}
		for (const start of ["12345678:", "a7:", "7;", "7    |", "7 :", "x|"]) {
			expect(linesOf(`${start} ${of(20)}`), start).toEqual([`${start} ${of(20)}`]);
		}
	});

	it("splits at line ends of any kind, also escaped", () => {
		const [a, b] = ["a".repeat(25), "b".repeat(25)];
		for (const end of ["\n", "\r\n", "\\n", "\\r\\n"]) expect(linesOf(`${a}${end}${b}`)).toEqual([a, b]);
		expect(linesOf(`${a}\r${b}`)).toEqual([`${a}\r${b}`]);
		expect(linesOf(`\\t${a}\\tb`)).toEqual([`${a}\tb`]);
	});

	it("omits short lines and data", () => {
		expect(linesOf("return null;\n}\n")).toEqual([]);
		expect(linesOf("x".repeat(1_001))).toEqual([]);
	});
});
