import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { type PolicyName, parsePolicyName } from "../../../src/pipeline/replay/policy-name.ts";
import { presetNames } from "../../../src/policy/names.ts";

describe("the name of a policy", () => {
	it.each<[string, PolicyName]>([
		["raw", { kind: "raw" }],
		["window:8", { kind: "window", window: 8 }],
		["break_even:1", { kind: "break_even", window: 1 }],
		["optimum:1000000", { kind: "optimum", window: 1_000_000 }],
		["stride:10", { kind: "stride", stride: 10, window: 8 }],
		["stride:10:3", { kind: "stride", stride: 10, window: 3 }],
		["balanced", { kind: "preset", preset: "balanced", thrift: undefined }],
		["balanced:low", { kind: "preset", preset: "balanced", thrift: "low" }],
		["balanced:high", { kind: "preset", preset: "balanced", thrift: "high" }],
		["./my.toml", { kind: "file", file: "./my.toml" }],
		["my.toml", { kind: "file", file: "my.toml" }],
		["my.JSON", { kind: "file", file: "my.JSON" }],
		["policies/raw", { kind: "file", file: "policies/raw" }],
		["C:\\policies\\mine", { kind: "file", file: "C:\\policies\\mine" }],
	])("%s is read", (text, name) => {
		expect(parsePolicyName(text)).toEqual(name);
	});

	it("each preset is one", () => {
		for (const preset of presetNames) expect(parsePolicyName(preset)).toMatchObject({ kind: "preset", preset });
	});

	it.each([
		["windw:8", /Did you mean window:8\?/],
		["break-evn:8", /Did you mean break_even:8\?/],
		["balnced", /Did you mean balanced\?/],
		["context_guard", /Did you mean context-guard\?/],
		["nothing-like-it", /^Unknown policy "nothing-like-it"\. Known: raw, window:N/],
		["", /^Unknown policy ""/],
		["window", /a number of tool turns, 1 or more, behind window, as in window:8/],
		["window:0", /1 or more/],
		["window:-1", /1 or more/],
		["window:8.5", /1 or more/],
		["window:1e3", /1 or more/],
		["window:1000001", /1 or more/],
		["window:8:9", /1 or more/],
		["window:", /1 or more/],
		["stride", /stride:10, or stride:10:5 for a window of 5/],
		["stride:10:0", /stride:10:5/],
		["stride:1:2:3", /stride:10:5/],
		["raw:8", /raw masks nothing, and takes no number/],
		["balanced:medum", /expected low, medium, high behind balanced/],
		["balanced:low:high", /expected low, medium, high behind balanced/],
		["context-guard:low", /context-guard takes nothing behind it/],
	])("%s is refused", (text, words) => {
		let error: unknown;
		try {
			parsePolicyName(text);
		} catch (thrown) {
			error = thrown;
		}
		expect(error).toBeInstanceOf(PalimpsestError);
		expect((error as PalimpsestError).code).toBe("invalid_argument");
		expect((error as PalimpsestError).message).toMatch(words);
	});

	it("a long one is not said back whole", () => {
		expect(() => parsePolicyName("x".repeat(5_000))).toThrow(/^.{1,400}$/);
	});
});
