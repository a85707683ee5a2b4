import { describe, expect, it } from "vitest";
import { exactScale } from "../../../src/engine/conversation/measure.ts";
import { estimateTokens } from "../../../src/formats/tokens/estimate.ts";
import { modelFamilies } from "../../../src/formats/tokens/models.ts";

describe("estimateTokens", () => {
	it.each([
		["gpt-4o", undefined, "o200k_base"],
		["gpt-4", undefined, "cl100k_base"],
		["gpt-oss-120b", undefined, "o200k_harmony"],
		[undefined, undefined, "o200k_base"],
		[undefined, "cl100k_base", "cl100k_base"],
		["claude-opus-4-8", "o200k_base", "o200k_base"],
		["gpt-4o", "cl100k_base", "cl100k_base"],
	] as const)("is exact for the model %s with the encoding %s", async (model, encoding, counted) => {
		const estimate = await estimateTokens(model, encoding);
		expect(estimate).toEqual({ encoding: counted, method: "exact", scale: exactScale, notes: [] });
	});

	it.each([
		["claude-sonnet-4-5", "claude"],
		["claude-opus-4-8", "claude-4.7"],
		["gemini-2.5-pro", "gemini"],
		["llama-3.3-70b", "llama-3"],
		["grok-4", "unmeasured"],
	] as const)("scales the nearest encoding for %s", async (model, family) => {
		expect(await estimateTokens(model, undefined)).toEqual({
			...modelFamilies[family],
			method: "estimated",
			notes: [],
		});
	});

	it("adds a note for an unknown model", async () => {
		const { method, scale, notes } = await estimateTokens("nobody-1", undefined);
		expect({ method, scale }).toEqual({ method: "estimated", scale: modelFamilies.unknown.scale });
		expect(notes).toEqual(["The tokenizer of this model is unknown, so its tokens are estimated within a wide band."]);
		expect((await estimateTokens("", undefined)).method).toBe("estimated");
	});
});
