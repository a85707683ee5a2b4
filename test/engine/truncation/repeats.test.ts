import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { localeNames } from "../../../src/engine/policy/names.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { withNumberShifted } from "../../../src/engine/truncation/repeat-lines.ts";
import { leastRun, leaveOutRepeats, type Repeat, startRepeatFinder } from "../../../src/engine/truncation/repeats.ts";
import { isReferenceLine } from "../../../src/storage/restore/recognise.ts";
import { policyOf } from "../../support/policy-of.ts";

const { repeats: wording } = wordings(policyOf({ locale: "en" }), "archived");
const codeLine = (number: number) => `const value${number} = compute(${number}, "of the ${(number * 7919) % 1000}");`;
const file = (lines: number, from = 0) =>
	Array.from({ length: lines }, (_, index) => `${codeLine(from + index)}\n`).join("");
const numbered = (text: string, from: number, write = (number: number) => `${String(number).padStart(6)}\t`) =>
	text
		.split("\n")
		.map((line, index) => (line === "" ? line : write(from + index) + line))
		.join("\n");

function sent(text: string, ...earlier: readonly string[]) {
	const finder = startRepeatFinder(isReferenceLine);
	for (const one of earlier) finder.add(one);
	const repeats = finder.find(text, (source) => earlier[source] as string);
	const nameOf = (source: number) => `read_file, call_${source}`;
	return { repeats, text: leaveOutRepeats(text, repeats, { wording, nameOf, ref: "0123456789ab" }) };
}

/** The whole text, from what was sent in its place and the texts that it names. */
function putBack(shown: string, repeats: readonly Repeat[], sources: readonly string[]): string {
	const waiting = [...repeats];
	const lines = shown.split("\n").flatMap((line) => {
		if (waiting.length === 0 || !isReferenceLine(line)) return [line];
		const { from, to, source, sourceFrom, shift } = waiting.shift() as Repeat;
		const its = (sources[source] as string).split("\n").slice(sourceFrom - 1, sourceFrom + to - from);
		return its.map((one) => withNumberShifted(one, shift));
	});
	expect(waiting).toEqual([]);
	return lines.join("\n");
}

describe("lines that were sent before", () => {
	it("leaves one line in the place of a result that was sent as a whole", () => {
		expect(sent(file(40), file(40)).text).toBe(
			"[lines 1–40 (ref=0123456789ab): unchanged, the same as lines 1–40 of the result of read_file, call_0]\n",
		);
	});

	it("shows what changed, and says where the rest stands", () => {
		const before = file(60);
		const after = before.replace(codeLine(30), "const changed = true;");
		expect(sent(after, before).text).toBe(
			[
				"[lines 1–30 (ref=0123456789ab): unchanged, the same as lines 1–30 of the result of read_file, call_0]",
				"const changed = true;",
				"[lines 32–60: unchanged, the same as lines 32–60 of the result of read_file, call_0]",
				"",
			].join("\n"),
		);
	});

	it.each([
		["Claude Code", (number: number) => `${String(number).padStart(6)}→`],
		["cat -n", (number: number) => `${String(number).padStart(6)}\t`],
		["opencode", (number: number) => `${String(number).padStart(5, "0")}| `],
		["Codex", (number: number) => `L${number}: `],
		["a plain number", (number: number) => `${number}: `],
	])("does not count the line numbers of %s, and says by how much they differ", (_, write) => {
		const before = numbered(file(120, 500), 1, write);
		const after = numbered(`// new\n// lines\n${file(120, 500)}`, 1, write);
		const { repeats, text } = sent(after, before);
		expect(repeats).toEqual([{ from: 3, to: 122, source: 0, sourceFrom: 1, shift: 2 }]);
		expect(text).toContain("; line numbers 2 higher]");
		expect(putBack(text, repeats, [before])).toBe(after);
	});

	it("does not take times for line numbers", () => {
		const log = (hour: number) =>
			Array.from({ length: 30 }, (_, index) => `${hour}: request ${index} of the client was served\n`).join("");
		expect(sent(log(13), log(12)).repeats).toEqual([]);
	});

	it("keeps lines that report a failure", () => {
		const run = `${file(20)}FAILED tests/test_views.py::test_login - AssertionError: 401\n${file(20, 100)}`;
		expect(sent(run, run).text.split("\n")).toEqual([
			"[lines 1–20 (ref=0123456789ab): unchanged, the same as lines 1–20 of the result of read_file, call_0]",
			"FAILED tests/test_views.py::test_login - AssertionError: 401",
			"[lines 22–41: unchanged, the same as lines 22–41 of the result of read_file, call_0]",
			"",
		]);
	});

	it("leaves out no run under the least lines and characters", () => {
		expect(sent(file(leastRun.lines - 1), file(leastRun.lines - 1)).repeats).toEqual([]);
		const short = Array.from({ length: 30 }, (_, index) => `row ${index}\n`).join("");
		expect(short.length).toBeLessThan(leastRun.chars);
		expect(sent(short, short).repeats).toEqual([]);
	});

	it("never points to a line that stands for others", () => {
		const first = file(60);
		const second = sent(`${file(1, 900)}${first}`, first).text;
		const third = `${file(1, 900)}${first}`;
		expect(sent(third, second).repeats).toEqual([]);
		expect(sent(third, first, second).repeats).toEqual([{ from: 2, to: 61, source: 0, sourceFrom: 1, shift: 0 }]);
		// A tool may print what was sent.
		const log = `${second}\n${file(60, 2_000)}`;
		for (const { from, to } of sent(log, log).repeats) {
			expect(
				log
					.split("\n")
					.slice(from - 1, to)
					.some(isReferenceLine),
			).toBe(false);
		}
	});

	it("looks at the latest of equal texts, and at none that is gone", () => {
		const finder = startRepeatFinder(isReferenceLine);
		const numbers = [file(40), file(40), file(40)].map((text) => finder.add(text));
		expect(finder.find(file(40), () => file(40))[0]?.source).toBe(numbers[2]);
		finder.remove(2);
		expect(finder.find(file(40), () => file(40))[0]?.source).toBe(numbers[1]);
	});

	it.each(localeNames)("says it in one line, in %s", (locale) => {
		const { repeats } = wordings(policyOf({ locale }), "archived");
		const finder = startRepeatFinder(isReferenceLine);
		finder.add(numbered(file(40), 1));
		const text = numbered(file(40), 8);
		const ref = "0123456789ab";
		const shown = leaveOutRepeats(
			text,
			finder.find(text, () => numbered(file(40), 1)),
			{ wording: repeats, nameOf: () => "read, call_1", ref },
		);
		expect(shown).toMatch(/^\[.*0123456789ab.*1–40.*7.*\]\n$/);
		expect(isReferenceLine(shown.trimEnd())).toBe(true);
	});
});

describe("texts that are left whole", () => {
	const whole = {
		"one line of 5 MB": "x".repeat(5_000_000),
		"a million equal lines": "the same line\n".repeat(1_000_000),
		"carriage returns alone": Array.from({ length: 20_000 }, (_, index) => `frame ${index} of a bar\r`).join(""),
		"binary text": Array.from({ length: 20_000 }, (_, index) => `\u0001\u0002${index}\u0000\u0005 bytes\n`).join(""),
		"blank lines": "\n".repeat(100_000),
	};
	it.each(Object.entries(whole))("%s", (_, text) => {
		expect(sent(text, text).repeats).toEqual([]);
	});
});

const word = fc.constantFrom("alpha", "beta", "gamma", "  delta", "{", "}", "return", "ε→ζ", "12: x", "", "\r");
const someLine = fc.array(word, { minLength: 2, maxLength: 9 }).map((words) => words.join(" "));
const someText = fc.array(someLine, { minLength: 40, maxLength: 120 }).map((lines) => lines.join("\n"));
const change = fc.record({ at: fc.nat(200), gone: fc.nat(4), added: fc.array(someLine, { maxLength: 3 }) });
const session = fc.record({
	first: someText,
	changes: fc.array(fc.tuple(fc.array(change, { maxLength: 3 }), fc.constantFrom(0, 1, 1, 1, 2)), {
		minLength: 1,
		maxLength: 8,
	}),
	forgets: fc.array(fc.nat(8), { maxLength: 3 }),
});
const counted = { texts: 0, runs: 0, shifted: 0, chars: 0, left: 0 };

test.prop([session], { numRuns: 300 })("the whole comes back from what was sent", ({ first, changes, forgets }) => {
	const finder = startRepeatFinder(isReferenceLine);
	const shown: string[] = [];
	let text = first;
	for (const [edits, form] of changes) {
		const lines = text.split("\n");
		for (const { at, gone, added } of edits) lines.splice(at % lines.length, gone, ...added);
		text = lines.join("\n");
		const read = form === 1 ? numbered(text, 1) : form === 2 ? numbered(text, 95, (number) => `${number}→`) : text;
		const repeats = finder.find(read, (source) => shown[source] as string);
		const left = leaveOutRepeats(read, repeats, {
			wording,
			nameOf: (source) => `read, call_${source}`,
			ref: undefined,
		});
		expect(putBack(left, repeats, shown)).toBe(read);
		for (const { from, to, source, sourceFrom, shift } of repeats) {
			expect(forgets).not.toContain(source);
			expect(to - from + 1).toBeGreaterThanOrEqual(leastRun.lines);
			const its = (shown[source] as string).split("\n").slice(sourceFrom - 1, sourceFrom + to - from);
			expect(its.some(isReferenceLine)).toBe(false);
			counted.runs += 1;
			if (shift !== 0) counted.shifted += 1;
		}
		shown.push(left);
		const source = finder.add(left);
		if (forgets.includes(source)) finder.remove(source);
		counted.texts += 1;
		counted.chars += read.length;
		counted.left += left.length;
	}
});

afterAll(() => {
	expect(counted.runs).toBeGreaterThan(200);
	expect(counted.shifted).toBeGreaterThan(10);
	expect(counted.left).toBeLessThan(0.8 * counted.chars);
});
