import { describe, expect, it } from "vitest";
import { checkPolicyLayer } from "../../../src/engine/policy/check.ts";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { presetNames } from "../../../src/engine/policy/names.ts";
import { presets } from "../../../src/engine/policy/presets.ts";
import { policySchema } from "../../../src/engine/policy/schema.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";

const defaults = policySchema.parse({});

describe("presets", () => {
	it.each(presetNames.filter((name) => name !== "balanced"))("%s cuts to head and tail, as documented", (name) => {
		expect(resolvePolicy([{ preset: name }]).truncate.strategy).toBe("head_tail");
	});

	it.each(presetNames)("%s is a valid layer with a description and a source, each one line", (name) => {
		expect(checkPolicyLayer(presets[name].policy, name)).toEqual(presets[name].policy);
		expect(presets[name].description).toMatch(/^.{20,120}$/);
		expect(presets[name].source).toMatch(/^.{10,120}$/);
		expect(presets[name].policy).not.toHaveProperty("preset");
	});

	it("observation-masking is the default: the schema's defaults in French", () => {
		const policy = resolvePolicy([]);
		expect(policy).toEqual(defaults);
		expect(policy).toEqual(resolvePolicy([{ preset: "observation-masking" }]));
		expect(policy.preset).toBe("observation-masking");
		expect(policy.locale).toBe("fr");
		expect(policy.mask).toEqual({
			enabled: true,
			window_turns: 8,
			keep_errors: true,
			error_detection: "words",
			keep_last_k_per_tool: null,
			tools: {},
			observations: "auto",
			digest_tokens: 0,
			placeholder_template: null,
			placeholder: "full",
			selection: "age",
			thrift: "medium",
			cadence: "every_turn",
			stride_turns: 10,
			by: "palimpsest",
		});
		expect(policy.guard).toMatchObject({
			ladder: ["truncate", "mask", "drop"],
			reserve_tokens: 8192,
			budget_ratio: 1,
			truncate_when: "always",
			max_tool_result_chars: 50_000,
			truncate_head_chars: 2000,
			truncate_tail_chars: 2000,
			pin_task: true,
			keep_last_messages: 1,
		});
		expect(policy.truncate).toMatchObject({
			strategy: "head_tail",
			max_chars: 50_000,
			head_chars: 2000,
			tail_chars: 2000,
		});
		expect(policy.tokens.message_overhead).toBe(4);
	});

	it("tool-result-hiding keeps 5 groups, errors hidden too, in Chinese", () => {
		const policy = resolvePolicy([{ preset: "tool-result-hiding" }]);
		expect(policy.locale).toBe("zh");
		expect(policy.mask).toEqual({ ...defaults.mask, window_turns: 5, keep_errors: false });
		expect(wordings(policy).placeholder).toBe("历史 tool_call已隐藏");
		expect(policy.guard).toEqual(defaults.guard);
		expect(policy.truncate).toEqual(defaults.truncate);
	});

	it("context-guard cuts over 50 000 to 2 000 + 2 000, then drops, in English", () => {
		const policy = resolvePolicy([{ preset: "context-guard" }]);
		expect(policy.locale).toBe("en");
		expect(policy.mask.enabled).toBe(false);
		expect(policy.guard).toEqual({
			enabled: true,
			ladder: ["truncate", "drop"],
			model: null,
			context_window_override: null,
			unknown_window: 200_000,
			reserve_tokens: 8192,
			budget_ratio: 1,
			target_ratio: null,
			truncate_when: "always",
			max_tool_result_chars: 50_000,
			truncate_head_chars: 2000,
			truncate_tail_chars: 2000,
			marker_template: null,
			keep_last_messages: 1,
			pin_task: false,
			max_messages: null,
			auto_compact: false,
		});
		expect(policy.truncate).toEqual({
			strategy: "head_tail",
			max_chars: 50_000,
			command_chars: null,
			max_tokens: null,
			head_chars: 2000,
			tail_chars: 2000,
			keep_ansi: false,
			marker_template: null,
			json_content: false,
			repeats: false,
		});
		expect(wordings(policy).guardMarker).toBe("\n\n... [{omitted_chars} characters truncated] ...\n\n");
	});

	it("context-trim uses 80 %, cuts over 2 000 to 500 + 500, keeps 4 messages, in French", () => {
		const policy = resolvePolicy([{ preset: "context-trim" }]);
		expect(policy.locale).toBe("fr");
		expect(policy.mask.enabled).toBe(false);
		expect(policy.guard).toEqual({
			enabled: true,
			ladder: ["truncate", "drop"],
			model: null,
			context_window_override: null,
			unknown_window: "leave",
			reserve_tokens: 0,
			budget_ratio: 0.8,
			target_ratio: null,
			truncate_when: "over_budget",
			max_tool_result_chars: 2000,
			truncate_head_chars: 500,
			truncate_tail_chars: 500,
			marker_template: "\n\n[... contenu tronqué ...]\n\n",
			keep_last_messages: 4,
			pin_task: false,
			max_messages: 50,
			auto_compact: false,
		});
		expect(policy.compaction).toMatchObject({ strategy: "llm-summary", at_messages: 30, keep_last_messages: 5 });
		expect(policy.truncate).toEqual({
			strategy: "head_tail",
			max_chars: 8000,
			command_chars: null,
			max_tokens: null,
			head_chars: 4000,
			tail_chars: 4000,
			keep_ansi: false,
			marker_template: null,
			json_content: true,
			repeats: false,
		});
		expect(policy.tokens.message_overhead).toBe(4);
		expect(wordings(policy)).toMatchObject({
			guardMarker: "\n\n[... contenu tronqué ...]\n\n",
			truncateMarker: "\n\n[... {omitted_chars} caractères omis ...]\n\n",
		});
	});

	it("balanced masks by use when it pays, keeps errors until they are settled, cuts by structure, and guards with hysteresis, in English", () => {
		const policy = resolvePolicy([{ preset: "balanced" }]);
		expect(policy.locale).toBe("en");
		expect(policy.mask).toEqual({
			...defaults.mask,
			window_turns: 1,
			error_detection: "structural",
			placeholder: "short",
			selection: "use",
			cadence: "break_even",
			observations: true,
		});
		expect(policy.guard).toEqual({ ...defaults.guard, target_ratio: 0.7, max_tool_result_chars: 16_000 });
		expect(policy.truncate).toEqual({
			...defaults.truncate,
			strategy: "auto",
			repeats: true,
			max_chars: 16_000,
			command_chars: 4_000,
		});
		expect(policy.prices).toEqual({
			input: 1,
			cache_read: 0.1,
			cache_write: 1.25,
			output: 5,
			steps: [],
			thinking_redone: 0.3,
			fault: 1,
			cache_seconds: 300,
			cache_write_hour: null,
		});
	});
});
