import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { localeNames } from "../../../src/engine/policy/names.ts";
import { policyLayerSchema } from "../../../src/engine/policy/schema.ts";
import { locales, wordings } from "../../../src/engine/policy/wordings.ts";

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

	it.each(localeNames)("follow the rules for templates: %s", (name) => {
		const { placeholder, truncation_marker } = locales[name];
		const layer = { mask: { placeholder_template: placeholder }, truncate: { marker_template: truncation_marker } };
		expect(policyLayerSchema.safeParse(layer).success).toBe(true);
	});

	it.each(localeNames)("the notices of shortened outputs name exactly the required values: %s", (name) => {
		const { notices, archived } = locales[name];
		const totals = ["omitted_lines", "total_lines", "omitted_chars", "total_chars"];
		const variables = (template: string) => Array.from(template.matchAll(/\{(\w+)\}/g), ([, name]) => name).sort();
		expect(variables(notices.notice)).toEqual([...totals].sort());
		expect(variables(notices.whole)).toEqual(["omitted_chars", "total_chars"]);
		expect(variables(notices.html)).toEqual(["total_chars"]);
		expect(variables(notices.short)).toEqual(["omitted_chars"]);
		expect(variables(notices.inside)).toEqual(["omitted_chars"]);
		for (const mark of [notices.gap, notices.folded]) expect(variables(mark)).toEqual(["from", "to"]);
		for (const mark of [notices.items, notices.keys]) expect(variables(mark)).toEqual(["omitted", "total"]);
		expect(variables(notices.data)).toEqual(["kind", "total_chars", "total_lines"]);
		for (const key of ["notice", "whole", "html"] as const) {
			expect(variables(archived.notices[key])).toEqual([...variables(notices[key]), "ref"].sort());
		}
		// A notice stands in JSON as well, and is one line.
		const { kinds, ...templates } = { ...notices, ...archived.notices };
		for (const template of [...Object.values(templates), ...Object.values(kinds)]) {
			expect(JSON.stringify(template)).toBe(`"${template}"`);
			expect(template.isWellFormed()).toBe(true);
		}
	});

	it("mention the tool that reads the original only when it is offered", () => {
		const { notices } = wordings(resolvePolicy([{ locale: "en" }]), "recallable");
		expect(notices.archived).toMatch(/, ref=\{ref\}\] Intact, no error: read it with recall_original\.$/);
		expect(wordings(resolvePolicy([{ locale: "en" }]), "archived").notices.archived).toMatch(/, ref=\{ref\}\]$/);
	});
});
