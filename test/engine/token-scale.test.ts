import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { addSizes, subtractSizes } from "../../src/engine/size.ts";
import { exactScale, scaleTokens, type TokenScale } from "../../src/engine/token-scale.ts";

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
	it("scales what is counted, and nothing else", () => {
		expect(scaleTokens({ tokens: 1_000 }, scale)).toEqual({ low: 1_050, tokens: 1_200, high: 1_500 });
		expect(scaleTokens({ tokens: 1_000, fixed: 900 }, scale)).toEqual({ low: 1_005, tokens: 1_020, high: 1_050 });
		expect(scaleTokens({ tokens: 7, fixed: 7 }, scale)).toEqual({ low: 7, tokens: 7, high: 7 });
	});

	it("rounds the band outwards", () => {
		expect(scaleTokens({ tokens: 3 }, scale)).toEqual({ low: 3, tokens: 4, high: 5 });
	});

	test.prop([sizes, scales])("answers whole numbers, low ≤ tokens ≤ high", (size, anyScale) => {
		const { low, tokens, high } = scaleTokens(size, anyScale);
		expect([low, tokens, high].every(Number.isSafeInteger)).toBe(true);
		expect(low).toBeLessThanOrEqual(tokens);
		expect(tokens).toBeLessThanOrEqual(high);
		expect(low).toBeGreaterThanOrEqual(size.fixed);
	});

	test.prop([sizes])("changes nothing where tokens are exact", (size) => {
		const { tokens } = size;
		expect(scaleTokens(size, exactScale)).toEqual({ low: tokens, tokens, high: tokens });
	});
});

describe("sizes", () => {
	test.prop([sizes, sizes])("what was added can be taken away", (a, b) => {
		expect(subtractSizes(addSizes(a, b), b)).toEqual(a);
	});

	it("say nothing of fixed tokens where neither does", () => {
		expect(addSizes({ chars: 1, tokens: 2 }, { chars: 3, tokens: 4 })).toStrictEqual({ chars: 4, tokens: 6 });
		const taken = subtractSizes({ chars: 1, tokens: 2 }, { chars: 0, tokens: 1, fixed: 1 });
		expect(taken).toStrictEqual({ chars: 1, tokens: 1, fixed: -1 });
	});
});
