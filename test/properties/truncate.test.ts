import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { type HeadTailLimits, truncateHeadTail } from "../../src/engine/truncation/head-tail.ts";
import { anyCharacter } from "../support/any-character.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { textOfLength } from "../support/sample-text.ts";

const seen = { cut: 0, bareHead: 0, overLimit: 0, surrogates: 0, loneSurrogates: 0, twice: 0 };

const markers = fc.constantFrom(
	"\n\n... [{omitted_chars} characters truncated] ...\n\n",
	"\n\n[... {omitted_chars} caractères omis ...]\n\n",
	"\n\n[... contenu tronqué ...]\n\n",
	"<{omitted_chars}/{original_chars}>",
	"…",
	"$&{omitted_chars}",
);
const pieces = fc.constantFrom(
	"🦊",
	"a",
	"é",
	"\n",
	"<5/9>",
	"…",
	"\n\n[... 12 caractères omis ...]\n\n",
	"\n\n[... contenu tronqué ...]\n\n",
	"0",
	"读",
);
const wellFormed = fc.oneof(
	fc.integer({ min: 0, max: 600 }).map(textOfLength),
	fc
		.tuple(fc.array(pieces, { maxLength: 150 }), fc.integer({ min: 1, max: 4 }))
		.map(([parts, times]) => parts.join("").repeat(times)),
	fc.string({ unit: "binary-ascii", maxLength: 300 }),
);
const halves = fc
	.array(fc.constantFrom("\ud83d", "\udd8a", "🦊", "a", "<"), { maxLength: 400 })
	.map((parts) => parts.join(""));
const texts = fc.oneof(wellFormed, wellFormed, fc.string({ unit: anyCharacter, maxLength: 200 }), halves);
const anyLimits: fc.Arbitrary<HeadTailLimits> = fc.record({
	maxChars: fc.oneof(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 320 })),
	headChars: fc.integer({ min: 0, max: 150 }),
	tailChars: fc.integer({ min: 0, max: 150 }),
	marker: markers,
});
// As in docs/strategies.md#large-results: head and tail fill the limit, so the marker exceeds it.
const fullLimits = fc
	.tuple(anyLimits, fc.integer({ min: 0, max: 20 }))
	.map(([limit, spare]) => ({ ...limit, maxChars: limit.headChars + limit.tailChars + spare }));
const limits = fc.oneof(anyLimits, fullLimits);

const fill = (marker: string, omitted: number, original: number) =>
	marker.split("{omitted_chars}").join(`${omitted}`).split("{original_chars}").join(`${original}`);

test.prop([texts, limits], { numRuns: numberOfCases(6_000) })("keeps the promises of truncation", (text, limit) => {
	const cut = truncateHeadTail(text, limit);
	expect(cut.originalChars).toBe(text.length);
	expect(cut.text.length, "never longer").toBeLessThanOrEqual(text.length);
	if (text.isWellFormed()) expect(cut.text.isWellFormed(), "never half a character").toBe(true);
	else seen.loneSurrogates += cut.truncated ? 1 : 0;
	if (text.length <= limit.maxChars) expect(cut.truncated).toBe(false);
	if (!cut.truncated) {
		expect(cut).toMatchObject({ text, omittedChars: 0, omitted: undefined });
		return;
	}
	seen.cut += 1;
	expect(cut.text.length, "a cut text is shorter").toBeLessThan(text.length);
	const { start, end } = cut.omitted ?? { start: -1, end: -1 };
	expect(cut.omittedChars).toBe(end - start);
	const [head, tail] = [text.slice(0, start), text.slice(end)];
	const isBareHead = cut.text === head && tail === "";
	if (isBareHead) seen.bareHead += 1;
	else
		expect(cut.text, "head and tail of the input around a marker").toBe(
			head + fill(limit.marker, end - start, text.length) + tail,
		);
	if (cut.text.length > limit.maxChars) {
		seen.overLimit += 1;
		expect(head.length).toBeGreaterThanOrEqual(limit.headChars - 1);
		expect(tail.length).toBeGreaterThanOrEqual(limit.tailChars - 1);
		expect(limit.headChars + limit.tailChars).toBeLessThanOrEqual(limit.maxChars);
	}
	if (text.includes("🦊")) seen.surrogates += 1;
});

test.prop([texts, limits], { numRuns: numberOfCases(6_000) })(
	"truncating twice equals truncating once",
	(text, limit) => {
		const once = truncateHeadTail(text, limit);
		const twice = truncateHeadTail(once.text, limit);
		expect(twice.text).toBe(once.text);
		if (once.truncated) seen.twice += 1;
	},
);

afterAll(() => {
	expect(seen.cut).toBeGreaterThan(leastOfCases(800));
	expect(seen.twice).toBeGreaterThan(leastOfCases(800));
	expect(seen.bareHead).toBeGreaterThan(leastOfCases(100));
	expect(seen.overLimit).toBeGreaterThan(leastOfCases(200));
	expect(seen.surrogates).toBeGreaterThan(leastOfCases(100));
	expect(seen.loneSurrogates).toBeGreaterThan(leastOfCases(30));
});
