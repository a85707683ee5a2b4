import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { locales } from "../../src/policy/wordings.ts";
import { truncateHeadTail } from "../../src/truncation/head-tail.ts";
import { ref, shorten } from "./shorten.ts";

let cuts = 0;
const markers = Object.values(locales).flatMap((locale) => [
	locale.truncation_marker,
	locale.archived.truncation_marker,
]);

test.prop(
	[
		fc.string({ unit: fc.constantFrom("a", "\n", "🦊", "é"), minLength: 200, maxLength: 900, size: "max" }),
		fc.constantFrom(...markers),
		fc.record({ maxChars: fc.nat(500), headChars: fc.nat(200), tailChars: fc.nat(200) }),
	],
	{ numRuns: 600 },
)("head_tail with the policy's own numbers and marker answers what it always did", (text, marker, numbers) => {
	const limits = { ...numbers, marker };
	const refOf = () => ref;
	const expected = truncateHeadTail(text, limits, refOf);
	const cut = shorten(text, 10, { strategy: "head_tail", exact: { limits, refOf } });
	expect(cut.text).toBe(expected.text);
	expect(cut.truncated).toBe(expected.truncated);
	expect(cut.omitted).toEqual(expected.omitted ? [expected.omitted] : []);
	if (expected.truncated) cuts += 1;
});

afterAll(() => expect(cuts).toBeGreaterThan(200));
