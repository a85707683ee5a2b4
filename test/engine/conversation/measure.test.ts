import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { exactScale, measure, scaleTokens, sizeOf, type TokenScale } from "../../../src/engine/conversation/measure.ts";
import { addSizes, subtractSizes } from "../../../src/engine/conversation/plan.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

describe("measure", () => {
	it("adds up the counted texts, the results, the media and the overhead of each message", () => {
		const transcript = {
			...transcriptOf(
				messageOf({ counted: ["12345678", "1234"] }),
				messageOf({ mediaTokens: 1_000, results: [resultOf("a", "12345"), resultOf("b", "1")] }),
			),
			surroundings: ["123456789"],
		};
		expect(measure(transcript, { countTokens: roughCount, messageOverhead: 4 })).toEqual({
			messages: [
				{ chars: 12, tokens: 7, fixed: 4 },
				{ chars: 6, tokens: 1_007, fixed: 1_004 },
			],
			surroundingTokens: 3,
			total: { chars: 27, tokens: 1_017, fixed: 1_008 },
		});
	});

	it("gives an empty conversation no size", () => {
		const { total } = measure(transcriptOf(), { countTokens: roughCount, messageOverhead: 4 });
		expect(total).toEqual({ chars: 0, tokens: 0, fixed: 0 });
	});

	it("counts characters in UTF-16 code units", () => {
		expect(sizeOf("🦊", roughCount)).toEqual({ chars: 2, tokens: 1 });
	});
});

const scale: TokenScale = { low: 1.05, factor: 1.2, high: 1.5 };

const factors = fc.double({ min: 0.1, max: 5, noNaN: true });

const scales = fc.array(factors, { minLength: 3, maxLength: 3 }).map((three): TokenScale => {
	const [low = 1, factor = 1, high = 1] = three.toSorted((a, b) => a - b);
	return { low, factor, high };
});

const sizes = fc
	.record({ counted: fc.nat(10_000_000), fixed: fc.nat(100_000) })
	.map(({ counted, fixed }) => ({ chars: 0, tokens: counted + fixed, fixed }));

describe("scaleTokens", () => {
	it("scales only counted texts", () => {
		expect(scaleTokens({ tokens: 1_000 }, scale)).toEqual({ low: 1_050, tokens: 1_200, high: 1_500 });
		expect(scaleTokens({ tokens: 1_000, fixed: 900 }, scale)).toEqual({ low: 1_005, tokens: 1_020, high: 1_050 });
		expect(scaleTokens({ tokens: 7, fixed: 7 }, scale)).toEqual({ low: 7, tokens: 7, high: 7 });
	});

	it("rounds the band outwards", () => {
		expect(scaleTokens({ tokens: 3 }, scale)).toEqual({ low: 3, tokens: 4, high: 5 });
	});

	test.prop([sizes, scales])("returns integers, low ≤ tokens ≤ high", (size, anyScale) => {
		const { low, tokens, high } = scaleTokens(size, anyScale);
		expect([low, tokens, high].every(Number.isSafeInteger)).toBe(true);
		expect(low).toBeLessThanOrEqual(tokens);
		expect(tokens).toBeLessThanOrEqual(high);
		expect(low).toBeGreaterThanOrEqual(size.fixed);
	});

	test.prop([sizes])("changes nothing when tokens are exact", (size) => {
		const { tokens } = size;
		expect(scaleTokens(size, exactScale)).toEqual({ low: tokens, tokens, high: tokens });
	});
});

describe("sizes", () => {
	test.prop([sizes, sizes])("subtraction reverses addition", (a, b) => {
		expect(subtractSizes(addSizes(a, b), b)).toEqual(a);
	});

	it("have no fixed tokens when neither operand has", () => {
		expect(addSizes({ chars: 1, tokens: 2 }, { chars: 3, tokens: 4 })).toStrictEqual({ chars: 4, tokens: 6 });
		const taken = subtractSizes({ chars: 1, tokens: 2 }, { chars: 0, tokens: 1, fixed: 1 });
		expect(taken).toStrictEqual({ chars: 1, tokens: 1, fixed: -1 });
	});
});
