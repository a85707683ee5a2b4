import { describe, expect, it } from "vitest";
import { imageTokens } from "../../../src/formats/media/image-tokens.ts";

const tokens = (provider: Parameters<typeof imageTokens>[0], size?: readonly [number, number], detail?: string) =>
	imageTokens(provider, { dimensions: size && { width: size[0], height: size[1] }, detail });

describe("image tokens", () => {
	it.each([
		["the guide's first example", [1_024, 1_024], "high", 765],
		["the guide's second example", [2_048, 4_096], "high", 1_105],
		["the guide's third example", [4_096, 8_192], "low", 85],
		["one tile", [512, 512], undefined, 255],
		["one pixel more", [513, 512], undefined, 425],
		["the most that eight tiles take", [2_048, 768], "auto", 1_445],
		["a line", [100_000, 1], undefined, 85 + 4 * 170],
		["patches", [1_024, 1_024], "original", 1_024],
		["no more patches than the API takes", [8_000, 8_000], "original", 10_000],
	] as const)("OpenAI: %s", (_, size, detail, expected) => {
		expect(tokens("openai", size, detail)).toBe(expected);
	});

	it.each([
		["the guide's table, 1:1", [200, 200], 54],
		["the guide's table, 1 megapixel", [1_000, 1_000], 1_334],
		["the long edge", [3_136, 400], Math.ceil((1_568 * 200) / 750)],
		["never more than 1 600", [1_568, 1_568], 1_600],
	] as const)("Anthropic: %s", (_, size, expected) => {
		expect(tokens("anthropic", size)).toBe(expected);
	});

	it.each([
		["small", [384, 384], 258],
		["one tile", [385, 300], 258],
		["two tiles", [1_000, 600], 516],
		["scaled down to 3 072 px", [30_720, 30_720], 16 * 258],
	] as const)("Gemini: %s", (_, size, expected) => {
		expect(tokens("gemini", size)).toBe(expected);
	});

	it("takes what the rule gives at most where the dimensions are not known", () => {
		expect(["openai", "anthropic", "gemini"].map((provider) => tokens(provider as "openai"))).toEqual([
			1_445, 1_600, 1_120,
		]);
		expect(tokens("openai", undefined, "low")).toBe(85);
		expect(tokens("openai", undefined, "original")).toBe(10_000);
	});

	it("takes the largest where the provider is not known", () => {
		expect(tokens("any")).toBe(1_600);
		expect(tokens("any", [512, 512])).toBe(350);
		expect(tokens("any", [30_720, 30_720])).toBe(16 * 258);
	});

	it.each([[[4_294_967_295, 4_294_967_295]], [[1, 4_294_967_295]], [[1, 1]]] as const)("is bounded for %j", (size) => {
		for (const provider of ["openai", "anthropic", "gemini", "any"] as const) {
			const count = tokens(provider, size);
			expect(count).toBeGreaterThan(0);
			expect(count).toBeLessThanOrEqual(16 * 258);
		}
	});
});
