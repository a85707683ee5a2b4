import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../src/errors.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { type TruncateOutcome, truncateText, truncateToShow } from "../../src/operations/truncate.ts";
import {
	bytesToHold,
	charsCheck,
	headShareOf,
	limitCheck,
	nameOfLimit,
} from "../../src/operations/truncation-limit.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";

const countTokens = await loadCounter("o200k_base");
const policy = policyOf({ locale: "en" });
const text = Array.from({ length: 600 }, (_, index) => `line ${index} says one more thing`).join("\n");

/** Shown with a report of so many words. */
const withReport = (full: number, brief: number) => ({
	full: ({ text }: TruncateOutcome) => [`${text}\n${"word ".repeat(full)}`, text],
	brief: ({ text }: TruncateOutcome) => [`${text}\n${"word ".repeat(brief)}`],
});

const shown = (maxTokens: number, full: number, brief: number, given = policy) =>
	truncateToShow({ text, policy: given, maxTokens }, withReport(full, brief));

describe("a text that is shown with a report", () => {
	it("fills its limit with the report", async () => {
		for (const [maxTokens, full, form] of [
			[1_000, 100, "full"],
			[1_000, 480, "full"],
			[1_000, 520, "brief"],
			[1_000, 5_000, "brief"],
		] as const) {
			const { outcome, form: chosen } = await shown(maxTokens, full, 20);
			expect([full, chosen]).toEqual([full, form]);
			const size = Math.max(...withReport(full, 20)[chosen](outcome).map(countTokens));
			expect(size).toBeLessThanOrEqual(maxTokens);
			expect(size).toBeGreaterThan(maxTokens * 0.9);
			expect(outcome.report.truncated).toBe(true);
		}
	});

	it("has the full report up to exactly half of its limit", async () => {
		const sizes = Array.from({ length: 12 }, async (_, index) => {
			const { outcome, form } = await shown(400, 194 + index, 20);
			const whole = Math.max(
				...withReport(194 + index, 20)
					.full(outcome)
					.map(countTokens),
			);
			return { form, report: whole - countTokens(outcome.text) };
		});
		const ofFull = (await Promise.all(sizes)).flatMap(({ form, report }) => (form === "full" ? [report] : []));
		expect(Math.max(...ofFull)).toBe(200);
	});

	it("stays whole where it fits, and is cut to a limit in characters without the report", async () => {
		const { outcome, form } = await shown(100_000, 100, 20);
		expect(outcome).toMatchObject({ text, report: { truncated: false } });
		expect(form).toBe("full");
		const inChars = await truncateToShow({ text, policy, maxChars: 900 }, withReport(5_000, 20));
		expect(inChars.form).toBe("full");
		expect(inChars.outcome).toEqual(await truncateText({ text, policy, maxChars: 900 }));
	});

	it("is refused under a limit without room, with the least that works", async () => {
		const error = await shown(30, 100, 20).then(
			() => expect.unreachable(),
			(thrown) => thrown,
		);
		expect(error).toMatchObject({ code: "invalid_argument" });
		const [, least = ""] = /the smallest that works here is (\d+); got 30\./.exec(error.message) ?? [];
		const { outcome, form } = await shown(Number(least), 100, 20);
		expect(form).toBe("brief");
		expect(countTokens(withReport(100, 20).brief(outcome)[0] ?? "")).toBeLessThanOrEqual(Number(least));
		await expect(shown(Number(least) - 1, 100, 20)).rejects.toThrow(`\`max_tokens\``);
	});

	it("is kept in the archive, or not where that is lost and the policy allows it", async () => {
		const archive = await openArchive({ where: "memory" });
		if (!archive) throw new Error("Expected an archive.");
		const request = { text, policy, maxTokens: 500, archive };
		const { outcome } = await truncateToShow(request, withReport(100, 20));
		expect((await archive.get(outcome.report.ref ?? "")).text).toBe(text);
		const lost = new PalimpsestError("archive_unavailable", "full");
		const full = { ...archive, put: () => Promise.reject(lost) };
		await expect(truncateToShow({ ...request, archive: full }, withReport(100, 20))).rejects.toBe(lost);
		const without = policyOf({ locale: "en", on_archive_failure: "mask_without_recall" });
		const cut = await truncateToShow({ ...request, policy: without, archive: full }, withReport(100, 20));
		expect(cut.outcome.report.truncated).toBe(true);
		expect("ref" in cut.outcome.report).toBe(false);
		for (const mistake of [new TypeError("A mistake."), new PalimpsestError("invalid_argument", "Not this one.")]) {
			const broken = { ...archive, put: () => Promise.reject(mistake) };
			await expect(truncateText({ ...request, policy: without, archive: broken })).rejects.toBe(mistake);
		}
	});
});

describe("a limit", () => {
	const most = { maxChars: 1, maxTokens: 1 };

	it("has the name under which it was given", () => {
		const tokens = { kind: "tokens", most: 1 } as const;
		const chars = { kind: "chars", most: 1 } as const;
		const ends = { kind: "head_tail", maxChars: 1 } as const;
		expect(nameOfLimit(tokens, {})).toBe("truncate.max_tokens");
		expect(nameOfLimit(tokens, { maxTokens: 1 })).toBe("max_tokens");
		for (const limit of [chars, ends]) {
			expect(nameOfLimit(limit, {})).toBe("truncate.max_chars");
			expect(nameOfLimit(limit, { maxChars: 1 })).toBe("max_chars");
		}
		expect(nameOfLimit(tokens, { ...most, limitName: "--most" })).toBe("--most");
	});

	it("is held in memory up to the bytes that it may need, and at least eight megabytes", () => {
		const least = 8 * 1024 * 1024;
		expect(bytesToHold({ kind: "tokens", most: 65_536 }, policy)).toBe(least);
		expect(bytesToHold({ kind: "tokens", most: 65_537 }, policy)).toBe(128 * 65_537);
		expect(bytesToHold({ kind: "chars", most: 1_000 }, policy)).toBe(least);
		expect(bytesToHold({ kind: "chars", most: 4_000_000 }, policy)).toBe(12_000_000);
		expect(bytesToHold({ kind: "head_tail", maxChars: 1_000 }, policy)).toBe(least);
		expect(bytesToHold({ kind: "head_tail", maxChars: 4_000_000 }, policy)).toBe(3 * (4_000_000 + 65_536));
		const long = policyOf({ truncate: { max_chars: 9_000_000, head_chars: 3_000_000, tail_chars: 2_000_000 } });
		expect(bytesToHold({ kind: "head_tail", maxChars: 10 }, long)).toBe(3 * (5_000_000 + 65_536));
	});

	it("shares its room between the ends as the policy does", () => {
		const share = (head_chars: number, tail_chars: number) =>
			headShareOf({ truncate: { ...policy.truncate, head_chars, tail_chars } });
		expect([share(3, 1), share(0, 5), share(5, 0), share(0, 0)]).toEqual([0.75, 0, 1, undefined]);
	});

	it("counts characters, or tokens of the model at their upper end", async () => {
		const chars = charsCheck(3);
		expect(chars).toMatchObject({ unit: "chars", most: 3, mostChars: 3 });
		expect([chars.fits("abc"), chars.fits("abcd"), chars.sizeOf("é😀"), chars.countTokens("é😀")]).toEqual([
			...[true, false, 3, 6],
		]);
		expect(await limitCheck({ kind: "chars", most: 3 }, policy)).toMatchObject({ unit: "chars", most: 3 });
		const words = "one two three four";
		const tokens = await limitCheck({ kind: "tokens", most: 4 }, policy);
		expect(tokens).toMatchObject({ unit: "tokens", most: 4, mostChars: 32 });
		expect([tokens.sizeOf(words), tokens.fits(words), tokens.fits(`${words} five`)]).toEqual([4, true, false]);
		expect(tokens.fits(" ".repeat(513))).toBe(false);
		const claude = policyOf({ guard: { model: "claude-opus-4-8" } });
		const scaled = await limitCheck({ kind: "tokens", most: 7 }, claude);
		expect(scaled.countTokens(words)).toBe(Math.ceil(4 * 1.95));
		expect(scaled.fits(words)).toBe(false);
	});
});
