import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { policyFields, policyJsonSchema } from "../../../src/engine/policy/check.ts";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { presetNames } from "../../../src/engine/policy/names.ts";
import { describePolicy, policyReference } from "../../../src/engine/policy/reference.ts";
import { policySchema } from "../../../src/engine/policy/schema.ts";

interface Node {
	readonly description?: string;
	readonly default?: unknown;
	readonly properties?: Record<string, Node>;
	readonly additionalProperties?: unknown;
	readonly required?: unknown;
}

function leaves(node: Node, key: string): [string, Node][] {
	if (node.properties === undefined) return [[key, node]];
	expect(node.additionalProperties, key).toBe(false);
	expect(node.required, key).toBeUndefined();
	return Object.entries(node.properties).flatMap(([name, inner]) => {
		expect(inner.description, `${key}.${name}`).toMatch(/\.$/);
		expect(inner, `${key}.${name}`).toHaveProperty("default");
		return leaves(inner, key === "" ? name : `${key}.${name}`);
	});
}

function flatten(value: unknown, key: string): [string, unknown][] {
	const isTable = typeof value === "object" && value !== null && !Array.isArray(value);
	if (!isTable || Object.keys(value).length === 0) return [[key, value]];
	return Object.entries(value).flatMap(([name, inner]) => flatten(inner, key === "" ? name : `${key}.${name}`));
}

describe("policyJsonSchema", () => {
	it("is draft 2020-12, and every field has a description and the default in force", () => {
		const schema = policyJsonSchema();
		expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
		const found = leaves(schema as Node, "");
		expect(found.map(([key, node]) => [key, node.default])).toEqual(flatten(policySchema.parse({}), ""));
		expect(found.length).toBeGreaterThan(20);
		expect(() => JSON.stringify(schema)).not.toThrow();
	});
});

describe("policyReference", () => {
	it("matches docs/policy.md", () => {
		const written = readFileSync(new URL("../../../docs/policy.md", import.meta.url), "utf8");
		expect(written, "docs/policy.md is out of date: palimpsest policy reference > docs/policy.md").toBe(
			policyReference(),
		);
	});

	it("names every field and preset, the rule of the variables, the alias and the order of precedence", () => {
		const text = policyReference();
		for (const field of policyFields()) {
			expect(text).toContain(`| \`${field.key}\` |`);
			expect(field.environmentName).toBe(`PALIMPSEST_${field.key.toUpperCase().replaceAll(".", "_")}`);
		}
		for (const name of presetNames) expect(text).toContain(`### \`${name}\``);
		expect(text).toContain("[observation_masking.schema1]");
		const order = [
			"the defaults below",
			"the preset\n",
			"the policy file (TOML)",
			"the environment",
			"`--set",
			"the `policy` argument",
		];
		const places = order.map((words) => text.indexOf(words));
		expect(places).toEqual([...places].sort((one, other) => one - other));
		expect(places).not.toContain(-1);
	});
});

describe("describePolicy", () => {
	it.each(presetNames)("is one short paragraph for %s", (preset) => {
		const gist = describePolicy(resolvePolicy([{ preset }]));
		expect(gist).toMatch(new RegExp(`^Preset ${preset}: `));
		expect(gist).not.toContain("\n");
		expect(gist.length).toBeLessThan(600);
	});

	it("describes the policy in force", () => {
		expect(describePolicy(resolvePolicy([]))).toContain("results older than 8 tool turns are masked, errors kept");
		expect(describePolicy(resolvePolicy([{ mask: { window_turns: 0 } }]))).toContain("tool results are not masked");
		expect(describePolicy(resolvePolicy([{ preset: "context-trim" }]))).toContain("80 % of the model's window");
		expect(describePolicy(resolvePolicy([{ guard: { ladder: [] } }]))).toContain("only reports");
		expect(describePolicy(resolvePolicy([]))).toContain("texts over 50000 characters to head 2000 + tail 2000.");
		const balanced = describePolicy(resolvePolicy([{ preset: "balanced" }]));
		expect(balanced).toContain("texts over 16000 characters to that, by strategy auto.");
		expect(describePolicy(resolvePolicy([{ truncate: { max_tokens: 900 } }]))).toContain(
			"texts over 900 tokens to that, by strategy auto.",
		);
		expect(describePolicy(resolvePolicy([{ guard: { context_window_override: 1000 } }]))).toContain("1000 tokens");
	});

	it("stays short with the longest values", () => {
		const most = 1_000_000_000;
		const policy = resolvePolicy([
			{
				preset: "observation-masking",
				mask: {
					window_turns: Number.MAX_SAFE_INTEGER,
					keep_last_k_per_tool: Number.MAX_SAFE_INTEGER,
					placeholder_template: "x".repeat(2000),
				},
				guard: {
					budget_ratio: 1 / 3,
					model: "m".repeat(5000),
					context_window_override: most,
					reserve_tokens: most,
					max_tool_result_chars: most,
					keep_last_messages: Number.MAX_SAFE_INTEGER,
				},
				truncate: { max_chars: most, head_chars: most, tail_chars: most },
			},
		]);
		expect(describePolicy(policy).length).toBeLessThan(600);
	});
});
