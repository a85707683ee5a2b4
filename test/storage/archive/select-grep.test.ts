import { setImmediate } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { CountTokens } from "../../../src/engine/conversation/measure.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import type { PartRequest, SelectedPart } from "../../../src/storage/archive/part.ts";
import { selectPart } from "../../../src/storage/archive/select.ts";

let countTokens: CountTokens = () => 0;
beforeAll(async () => {
	countTokens = await loadCounter("o200k_base");
});

async function* inPieces(text: string): AsyncGenerator<string> {
	for (let start = 0; start < text.length; start += 10_000) yield text.slice(start, start + 10_000);
}

const select = (text: string, request: PartRequest): Promise<SelectedPart> =>
	selectPart(request, { countTokens })(inPieces(text));

const log = Array.from({ length: 100 }, (_, index) => (index % 30 === 9 ? `error at ${index + 1}` : `ok ${index + 1}`));

describe("selecting by a pattern", () => {
	it("shows matches with context lines, numbered, in groups", async () => {
		const part = await select(log.join("\n"), { grep: "^error", context: 1 });
		expect(part.text).toBe(
			[
				...["9-ok 9", "10:error at 10", "11-ok 11", "--"],
				...["39-ok 39", "40:error at 40", "41-ok 41", "--"],
				...["69-ok 69", "70:error at 70", "71-ok 71", "--"],
				...["99-ok 99", "100:error at 100", ""],
			].join("\n"),
		);
		expect(part).toMatchObject({ matches: { found: 4, shown: 4 }, next: null, total: { lines: 100 } });
	});

	it("joins overlapping groups, and shows no line twice", async () => {
		const part = await select("x\na\nx\nb\nx", { grep: "[ab]", context: 1 });
		expect(part.text).toBe("1-x\n2:a\n3-x\n4:b\n5-x\n");
		expect((await select("a\na\nb", { grep: "a", context: 2 })).text).toBe("1:a\n2:a\n3-b\n");
	});

	it("searches only the given lines", async () => {
		const part = await select(log.join("\n"), { grep: "error", context: 0, lines: "30-80" });
		expect(part.text).toBe("40:error at 40\n--\n70:error at 70\n");
	});

	it("matches at the end of lines with CRLF, and ignores case on request", async () => {
		expect((await select("One\r\ntwo\r\n", { grep: "(?i)one$", context: 0 })).text).toBe("1:One\n");
	});

	it("reports that nothing matches", async () => {
		expect(await select("a\nb", { grep: "c" })).toMatchObject({
			text: "",
			shown: null,
			matches: { found: 0, shown: 0 },
			next: null,
		});
	});

	it("stays within the budget, counts all matches, and names the next position until all were shown", async () => {
		const text = Array.from({ length: 500 }, (_, index) => `match number ${index + 1}`).join("\n");
		let shown = 0;
		let asked = 0;
		for (let next: PartRequest | null = { grep: "match", context: 1 }; next !== null; asked += 1) {
			const part: SelectedPart = await select(text, { ...next, maxTokens: 300 });
			expect(part.tokens).toBeLessThanOrEqual(300);
			expect(part.matches?.found).toBe(500 - shown);
			shown += part.matches?.shown ?? 0;
			next = part.next;
		}
		expect(shown).toBe(500);
		expect(asked).toBeGreaterThan(5);
	});

	it("continues after a match larger than the budget, and names the rest of it", async () => {
		const text = [
			"one",
			`match ${"of many words ".repeat(10)}`,
			"three",
			"match",
			`match ${"and more ".repeat(20)}`,
		].join("\n");
		const seen: (number | undefined)[] = [];
		let next: PartRequest | null = { grep: "match", context: 0 };
		while (next?.grep !== undefined && seen.length < 10) {
			const part: SelectedPart = await select(text, { ...next, maxTokens: 10 });
			expect(part.matches?.shown).toBe(1);
			expect(part.tokens).toBeLessThanOrEqual(10);
			seen.push(part.shown?.lines.first);
			next = part.next;
		}
		expect(seen).toEqual([2, 4, 5]);
		expect((await select(text, next ?? {})).text).toBe(text.split("\n").at(-1));
	});

	it("continues within a very long line", async () => {
		const text = `short\n${`${"x".repeat(70_000)} needle `.repeat(12)}\nneedle\nlast`;
		const shown: string[] = [];
		let found = Number.POSITIVE_INFINITY;
		for (let next: PartRequest | null = { grep: "needle", lines: "2-3" }; next !== null; ) {
			const part: SelectedPart = await select(text, { ...next, maxTokens: 200 });
			expect(part.matches?.found).toBeLessThan(found);
			found = part.matches?.found ?? 0;
			shown.push(...(part.text.match(/needle/g) ?? []));
			next = part.next;
		}
		expect(shown.length).toBe(13);
	});

	it("searches only the given characters", async () => {
		const text = log.join("\n");
		const start = text.indexOf("error at 40");
		const part = await select(text, { grep: "error|ok", context: 0, chars: `${start + 3}-${start + 18}` });
		expect(part).toMatchObject({ text: "41:ok 41\n", matches: { found: 1, shown: 1 }, next: null });
		await expect(select(text, { grep: "x", chars: "9000-" })).rejects.toMatchObject({ code: "invalid_argument" });
		await expect(async () => select(text, { grep: "x", head: 2 })).rejects.toMatchObject({ code: "invalid_argument" });
	});

	it("shows the surroundings of a match in a long line, and where to read on", async () => {
		const text = `short\n${"x".repeat(50_000)}needle${"y".repeat(200_000)}needle😀`;
		const part = await select(text, { grep: "need(le)" });
		const [, line] = part.text.split("\n");
		expect(line).toBe(`2:[chars 49846-50172] ${"x".repeat(160)}needle${"y".repeat(160)}`);
		expect(part.text.length).toBeLessThan(1200);
		expect((await select(text, { chars: "50006-50012" })).text).toBe("needle");
	});

	it("is never blocked by a hostile pattern, and lets other work run", async () => {
		let seed = 1;
		const text = Array.from({ length: 300_000 }, () => {
			seed = (seed * 48_271) % 2_147_483_647;
			return seed % 2 === 0 ? "a" : "b";
		}).join("");
		for (const grep of ["(a+)+$", "(?:a|ab|b)*c[ab]", "a[ab]{200}[^ab]", "(.*)(.*)(.*)(.*)[c-d]x"]) {
			let turns = 0;
			let isOver = false;
			const counting = (async () => {
				while (!isOver) {
					await setImmediate();
					turns += 1;
				}
			})();
			const part = await select(text, { grep, context: 0 });
			isOver = true;
			await counting;
			expect(part.total.chars).toBe(300_000);
			expect(turns).toBeGreaterThanOrEqual(4);
		}
	});

	it("stops the search at its time limit, and names the next position", async () => {
		let time = 0;
		const elapsed = () => {
			time += 1000;
			return time;
		};
		const text = Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`).join("\n");
		const part = await selectPart({ grep: "line 4999" }, { countTokens, elapsed })(inPieces(text));
		expect(part).toMatchObject({ text: "", matches: { found: 0 }, total: { lines: 5000 } });
		const [from] = part.next?.lines?.split("-") ?? [];
		expect(Number(from)).toBeGreaterThan(500);
		expect((await select(text, part.next ?? {})).text).toContain("4999:line 4999");
	});
});
