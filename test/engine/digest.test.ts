import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { digestOf } from "../../src/engine/digest.ts";
import { loadCounter } from "../../src/tokens/load-counter.ts";

const countTokens = await loadCounter("o200k_base");
const digest = (text: string, maxTokens = 50, isElsewhere?: (identifier: string) => boolean) =>
	digestOf({ text, maxTokens, countTokens, ...(isElsewhere ? { isElsewhere } : {}) });

describe("digestOf", () => {
	it("gives outcome, then identifiers", () => {
		const text = "FAILED src/order.ts totalPrice\n=== 2 failed, 31 passed in 4.2s ===\n\nCommand exited with code 1";
		expect(digest(text)).toBe("exit 1, 2 failed, 31 passed, totalPrice src/order.ts");
	});

	it("puts first what stands more than once, then what is short", () => {
		expect(digest("aLongIdentifier shortName otherShort aLongIdentifier aLongIdentifier")).toBe(
			"aLongIdentifier shortName otherShort",
		);
	});

	it("leaves out what stands elsewhere", () => {
		expect(digest("firstName secondName", 50, (identifier) => identifier === "firstName")).toBe("secondName");
	});

	it("is empty where there is nothing to name, or no room", () => {
		expect(digest("it was all right, and nothing else")).toBe("");
		expect(digest("firstName secondName", 0)).toBe("");
		expect(digest("firstName secondName", -1)).toBe("");
		expect(digest(`${"aVeryLongName".repeat(5)} x`, 1)).toBe("");
	});

	it("names the error that a program ended with", () => {
		const text = "Traceback (most recent call last):\n  File \"a.py\", line 3, in load_orders\nKeyError: 'id'";
		expect(digest(text)).toBe("KeyError, a.py load_orders");
	});

	it("says an exit code only where it failed, and each count once, as it was last", () => {
		expect(digest("1 passed\n2 passed\n<returncode>0</returncode>")).toBe("2 passed");
		expect(digest("<returncode>0</returncode>\n<output>fine</output>")).toBe("");
	});
});

const seen = { full: 0, empty: 0, cut: 0 };
const words = fc.constantFrom(
	"totalPrice",
	"src/a/b.ts",
	"https://a.b/c?d=1",
	"E404",
	"#12345",
	"deadbeef1",
	"[x](y)<z>{0}",
	"3 failed",
	"Exit code 5",
	"\n",
	"🦊\u2028",
	"\ud83d",
	"ein_Wort",
);
test.prop([fc.array(words, { maxLength: 60 }), fc.integer({ min: 0, max: 80 })], { numRuns: 1_000 })(
	"never has more tokens than it may, nor line breaks or brackets, and is the same each time",
	(all, maxTokens) => {
		const text = all.join(" ");
		const found = digest(text, maxTokens);
		expect(countTokens(found)).toBeLessThanOrEqual(Math.max(0, maxTokens));
		expect(found).not.toMatch(/[[\](){}<>\r\n\u2028]|,$|^\s|\s$/);
		expect(digest(text, maxTokens)).toBe(found);
		expect(text.isWellFormed() || found.isWellFormed()).toBe(true);
		if (found === "") seen.empty += 1;
		else if (found.length < digest(text, 10_000).length) seen.cut += 1;
		else seen.full += 1;
	},
);

afterAll(() => {
	expect(Math.min(seen.full, seen.empty, seen.cut)).toBeGreaterThan(20);
});
