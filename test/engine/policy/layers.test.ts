import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { presets } from "../../../src/engine/policy/presets.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";

describe("resolvePolicy", () => {
	it("applies layers over the preset in order, field by field, and replaces lists completely", () => {
		const policy = resolvePolicy([
			{ preset: "context-guard", guard: { reserve_tokens: 1, ladder: ["drop"] }, mask: { window_turns: 3 } },
			{ guard: { reserve_tokens: 2 }, mask: { keep_errors: false } },
		]);
		expect(policy.guard).toMatchObject({ reserve_tokens: 2, ladder: ["drop"], pin_task: false });
		expect(policy.mask).toMatchObject({ enabled: false, window_turns: 3, keep_errors: false });
	});

	it("uses the preset of the last layer that names one, below every layer", () => {
		const layers = [
			{ preset: "context-trim", mask: { window_turns: 2 } },
			{ preset: "tool-result-hiding" },
			{},
		] as const;
		const policy = resolvePolicy(layers);
		expect(policy.preset).toBe("tool-result-hiding");
		expect(policy.mask).toMatchObject({ enabled: true, window_turns: 2, keep_errors: false });
		expect(policy.guard.budget_ratio).toBe(1);
	});

	it("changes neither layers nor presets, and returns an immutable policy, since it is shared", () => {
		const before = JSON.stringify(presets);
		const layer = Object.freeze({ preset: "context-trim", mask: Object.freeze({ window_turns: 2 }) } as const);
		const ladderOf = (layers: Parameters<typeof resolvePolicy>[0]) => resolvePolicy(layers).guard.ladder as string[];
		expect(() => ladderOf([layer]).push("mask")).toThrow(TypeError);
		expect(ladderOf([layer])).toEqual(["truncate", "drop"]);
		expect(() => ladderOf([]).pop()).toThrow(TypeError);
		expect(ladderOf([])).toEqual(["truncate", "mask", "drop"]);
		expect(() => Object.assign(resolvePolicy([layer]).mask, { window_turns: 3 })).toThrow(TypeError);
		expect(JSON.stringify(presets)).toBe(before);
	});

	it("ignores a preset's templates in another locale", () => {
		const other = resolvePolicy([{ preset: "context-trim" }, { locale: "en" }]);
		expect(other.guard.marker_template).toBeNull();
		expect(other.guard.max_tool_result_chars).toBe(2000);
		expect(wordings(other).guardMarker).toBe("\n\n... [{omitted_chars} characters truncated] ...\n\n");
		const same = resolvePolicy([{ preset: "context-trim", locale: "en" }, { locale: "fr" }]);
		expect(wordings(same).guardMarker).toBe("\n\n[... contenu tronqué ...]\n\n");
	});

	it("speaks the reader's language, unless a layer sets a locale or names a preset of the source documents", () => {
		const reader = { reader: "zh" } as const;
		const localeOf = (...layers: Parameters<typeof resolvePolicy>[0]) => resolvePolicy([reader, ...layers]).locale;
		expect(localeOf()).toBe("zh");
		expect(localeOf({ mask: { window_turns: 2 } }, { preset: "balanced" })).toBe("zh");
		expect(localeOf({ locale: "fr" })).toBe("fr");
		expect(localeOf({ preset: "balanced" }, { locale: "fr" })).toBe("fr");
		for (const name of ["observation-masking", "tool-result-hiding", "context-guard", "context-trim"] as const) {
			expect(localeOf({ preset: name })).toBe(presets[name].policy.locale);
			expect(localeOf({ preset: name }, { preset: "balanced" })).toBe("zh");
		}
		expect(resolvePolicy([]).locale).toBe("fr");
		expect(resolvePolicy([{ preset: "balanced" }]).locale).toBe("en");
		expect(resolvePolicy([reader])).not.toHaveProperty("reader");
	});

	it("keeps a layer's own templates in any locale", () => {
		const policy = resolvePolicy([
			{ preset: "context-trim", locale: "zh", guard: { marker_template: "…" }, mask: { placeholder_template: "P" } },
		]);
		expect(wordings(policy)).toMatchObject({
			placeholder: "P",
			guardMarker: "…",
			truncateMarker: "\n\n... [已截断 {omitted_chars} 个字符] ...\n\n",
			unknownTool: "未知",
		});
	});

	it("null resets a template to the locale's wording", () => {
		const policy = resolvePolicy([{ preset: "context-trim" }, { guard: { marker_template: null } }]);
		expect(wordings(policy).guardMarker).toBe("\n\n[... {omitted_chars} caractères omis ...]\n\n");
	});

	it("switches all wordings at once with the locale", () => {
		const of = (locale: "fr" | "en" | "zh") => wordings(resolvePolicy([{ locale }]));
		expect(of("fr").placeholder).toMatch(/^\[Observation masquée/);
		expect(of("en").placeholder).toMatch(/^\[Observation masked/);
		expect(of("zh").placeholder).toBe("历史 tool_call已隐藏");
		expect(of("en").guardMarker).toBe(of("en").truncateMarker);
		expect([of("fr"), of("en"), of("zh")].map((one) => one.unknownTool)).toEqual(["inconnu", "unknown", "未知"]);
	});
});
