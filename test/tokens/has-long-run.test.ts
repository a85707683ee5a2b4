import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasLongRun } from "../../src/tokens/has-long-run.ts";

describe("hasLongRun", () => {
	it.each(["a", "Z", " ", "\n", "=", "\0", "漢", "\u0301", "\u00a0", "\ufffd"])("finds a run of %j", (character) => {
		expect(hasLongRun(`1${character.repeat(128)}1`, 128)).toBe(true);
		expect(hasLongRun(`1${character.repeat(127)}1`, 128)).toBe(false);
	});

	it("finds the mix of slashes and line ends that closes a run of symbols", () => {
		expect(hasLongRun("!/\n/\r/\n".repeat(30), 128)).toBe(false);
		expect(hasLongRun("/\n".repeat(64), 128)).toBe(true);
	});

	it("takes no run for digits, which make pieces of three, nor for prose", () => {
		expect(hasLongRun("1234567890".repeat(100), 128)).toBe(false);
		expect(hasLongRun("The quick brown fox jumps over the lazy dog. ".repeat(100), 128)).toBe(false);
	});

	it("misses no run that a pattern would find", () => {
		const pattern = /[\p{L}\p{M}]{6}|[^\s\p{L}\p{N}]{6}|\s{6}|[\r\n/]{6}/u;
		let found = 0;
		const runOfOne = fc
			.tuple(fc.constantFrom(..."aB1 \n/=漢\u0301é\u00a0😀٣"), fc.integer({ min: 1, max: 4 }))
			.map(([character, times]) => character.repeat(times));
		fc.assert(
			fc.property(fc.array(runOfOne, { maxLength: 12 }), (runs) => {
				const text = runs.join("");
				if (!pattern.test(text)) return;
				found++;
				expect(hasLongRun(text, 6)).toBe(true);
			}),
			{ numRuns: 2000 },
		);
		expect(found).toBeGreaterThan(100);
	});
});
