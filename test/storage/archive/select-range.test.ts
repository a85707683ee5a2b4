import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { CountTokens } from "../../../src/engine/conversation/measure.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import type { PartRequest, SelectedPart } from "../../../src/storage/archive/part.ts";
import { selectPart } from "../../../src/storage/archive/select.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";
import { anyText, wordyText } from "./texts.ts";

let countTokens: CountTokens = () => 0;
beforeAll(async () => {
	countTokens = await loadCounter("o200k_base");
});

async function* cut(text: string, size: number): AsyncGenerator<string> {
	for (let start = 0; start < text.length; start += size) yield text.slice(start, start + size);
}

const select = (text: string, request: PartRequest, size = 1000): Promise<SelectedPart> =>
	selectPart(request, { countTokens })(cut(text, size));

const numbered = Array.from({ length: 300 }, (_, index) => `line ${index + 1}\n`).join("");

describe("selecting lines", () => {
	it("returns all lines that fit", async () => {
		expect(await select("one\r\ntwo\n\nfour", {})).toEqual({
			text: "one\r\ntwo\n\nfour",
			tokens: countTokens("one\r\ntwo\n\nfour"),
			total: { lines: 4, chars: 14 },
			shown: { lines: { first: 1, last: 4 }, chars: { start: 0, end: 14 } },
			matches: null,
			leftOutChars: 0,
			next: null,
		});
		expect(await select("", {})).toMatchObject({ text: "", total: { lines: 0, chars: 0 }, shown: null, next: null });
	});

	it("returns a range, a single line and an open range", async () => {
		expect((await select(numbered, { lines: "120-122" })).text).toBe("line 120\nline 121\nline 122\n");
		expect((await select(numbered, { lines: " 7 " })).text).toBe("line 7\n");
		expect((await select(numbered, { lines: "299-" })).text).toBe("line 299\nline 300\n");
		expect((await select(numbered, { lines: "300-900" })).next).toBeNull();
		expect((await select(numbered, { head: 2 })).text).toBe("line 1\nline 2\n");
		expect((await select(numbered, { tail: 2 })).text).toBe("line 299\nline 300\n");
		expect((await select(numbered, { tail: 1000 })).text).toBe(numbered);
	});

	it("returns complete lines within the budget, and says how to continue", async () => {
		const first = await select(numbered, { lines: "100-200", maxTokens: 50 });
		expect(first.tokens).toBeLessThanOrEqual(50);
		expect(first.shown?.lines.first).toBe(100);
		expect(first.text.endsWith("\n")).toBe(true);
		const last = first.shown?.lines.last ?? 0;
		expect(first.next).toEqual({ lines: `${last + 1}-200` });
		const tail = await select(numbered, { tail: 100, maxTokens: 50 });
		expect(tail.shown?.lines.last).toBe(300);
		expect(tail.next).toEqual({ lines: `201-${(tail.shown?.lines.first ?? 0) - 1}` });
	});

	it("cuts one huge line between characters, and continues by characters", async () => {
		const text = `short\n${"😀é".repeat(100_000)}\nlast`;
		const first = await select(text, { lines: "2", maxTokens: 100 });
		expect(first.text.length).toBeGreaterThan(50);
		expect(first.text.isWellFormed()).toBe(true);
		expect(first.next).toEqual({ chars: `${6 + first.text.length}-300007` });
		const second = await select(text, { ...first.next, maxTokens: 100 });
		expect(first.text + second.text).toBe(text.slice(6, 6 + first.text.length + second.text.length));
		const end = await select(text.slice(0, -5), { tail: 1, maxTokens: 100 });
		expect(text.slice(0, -5).endsWith(end.text) && end.text.length > 50 && end.text.isWellFormed()).toBe(true);
		expect(end.next).toEqual({ chars: `6-${300_006 - end.text.length}` });
	});

	it("never splits a character at the end of a range", async () => {
		expect((await select("a😀b", { chars: "2-3" })).text).toBe("😀");
		expect((await select("a😀b", { chars: "0-2" })).text).toBe("a😀");
		expect((await select("a😀b", { chars: "3-" })).text).toBe("b");
	});

	it("returns the complete text over any number of calls", async () => {
		const seen = { asked: 0, byChars: 0, byLines: 0 };
		const lineText = fc.oneof(
			anyText,
			fc.integer({ min: 1, max: 400 }).map((length) => wordyText(length, length)),
		);
		await fc.assert(
			fc.asyncProperty(
				fc.array(lineText, { minLength: 1, maxLength: 12 }),
				fc.integer({ min: 10, max: 60 }),
				fc.integer({ min: 1, max: 200 }),
				async (lines, maxTokens, size) => {
					const text = lines.join("\n");
					let read = "";
					for (let next: PartRequest | null = {}; next !== null; ) {
						const part: SelectedPart = await select(text, { ...next, maxTokens }, size);
						expect(part.tokens).toBeLessThanOrEqual(maxTokens);
						expect(part.text.length > 0 || text === "").toBe(true);
						expect(part.text).toBe(text.slice(part.shown?.chars.start ?? 0, part.shown?.chars.end ?? 0));
						expect(part.leftOutChars > 0).toBe(part.next !== null);
						read += part.text;
						next = part.next;
						if (next === null) continue;
						seen.asked += 1;
						seen[next.chars === undefined ? "byLines" : "byChars"] += 1;
						if (next.chars !== undefined) next = { chars: `${next.chars.split("-")[0]}-` };
					}
					expect(read).toBe(text);
				},
			),
			{ numRuns: numberOfCases(300) },
		);
		expect(seen.byChars).toBeGreaterThan(leastOfCases(100));
		expect(seen.byLines).toBeGreaterThan(leastOfCases(100));
	});

	it("returns the end of the text as tail, within the budget", async () => {
		let short = 0;
		await fc.assert(
			fc.asyncProperty(
				fc.array(anyText, { maxLength: 12 }),
				fc.integer({ min: 1, max: 15 }),
				fc.integer({ min: 10, max: 60 }),
				async (lines, tail, maxTokens) => {
					const text = lines.join("\n");
					const part = await select(text, { tail, maxTokens }, 7);
					expect(text.endsWith(part.text)).toBe(true);
					expect(part.tokens).toBeLessThanOrEqual(maxTokens);
					const asked =
						text
							.match(/[^\n]*\n|[^\n]+$/g)
							?.slice(-tail)
							.join("") ?? "";
					expect(part.text.length + part.leftOutChars).toBe(asked.length);
					if (part.leftOutChars > 0) short += 1;
				},
			),
			{ numRuns: 500 },
		);
		expect(short).toBeGreaterThan(50);
	});

	it("refuses an invalid part, and names the valid ones", async () => {
		const wrong: PartRequest[] = [
			{ lines: "5-2" },
			{ lines: "0-2" },
			{ lines: "-5" },
			{ lines: "a" },
			{ chars: "5-5" },
			{ chars: "5" },
			{ head: 0 },
			{ tail: 1.5 },
			{ maxTokens: 9 },
			{ head: 1, tail: 1 },
			{ chars: "0-5", lines: "1", grep: "x" },
			{ context: 1 },
			{ grep: "x", context: 101 },
			{ grep: "" },
			{ grep: "(" },
			{ grep: "(?=a)b" },
			{ grep: "(a)\\1" },
			{ grep: "x".repeat(1001) },
			{ grep: "(?:a{0,40}){25}" },
			{ lines: "301" },
			{ chars: `${numbered.length}-` },
		];
		for (const request of wrong) {
			const refusal = await (async () => select(numbered, request))().catch((error: unknown) => error);
			expect(refusal, JSON.stringify(request)).toMatchObject({
				code: "invalid_argument",
				message: expect.stringContaining("Expected"),
			});
		}
	});
});
