import { describe, expect, it } from "vitest";
import { locales } from "../../src/policy/locale.ts";
import { localeNames } from "../../src/policy/schema.ts";
import { markerVariables, placeholderVariables, templateSchema } from "../../src/policy/template.ts";

describe("locales", () => {
	it("has the exact placeholders", () => {
		expect(locales.fr.placeholder).toBe(
			"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]",
		);
		expect(locales.en.placeholder).toBe(
			"[Observation masked: old tool result (tool_call_id={tool_call_id}, tool={tool_name}, chars={original_chars})]",
		);
		expect(locales.zh.placeholder).toBe("历史 tool_call已隐藏");
	});

	it("has the exact truncation markers, blank lines included", () => {
		expect(locales.fr.truncation_marker).toBe("\n\n[... {omitted_chars} caractères omis ...]\n\n");
		expect(locales.en.truncation_marker).toBe("\n\n... [{omitted_chars} characters truncated] ...\n\n");
		expect(locales.zh.truncation_marker).toBe("\n\n... [已截断 {omitted_chars} 个字符] ...\n\n");
	});

	it("names unknown tools", () => {
		expect(localeNames.map((name) => locales[name].unknown_tool)).toEqual(["inconnu", "unknown", "未知"]);
	});

	it.each(localeNames)("keeps to the rules for templates: %s", (name) => {
		expect(templateSchema(placeholderVariables).safeParse(locales[name].placeholder).success).toBe(true);
		expect(templateSchema(markerVariables).safeParse(locales[name].truncation_marker).success).toBe(true);
	});
});
