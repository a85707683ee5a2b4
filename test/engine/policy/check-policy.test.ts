import { describe, expect, it } from "vitest";
import { checkPolicyLayer } from "../../../src/engine/policy/check.ts";
import { parsePolicyText, resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { policyLayerSchema } from "../../../src/engine/policy/schema.ts";
import { problemsOf, refused } from "./refused.ts";

const problems = (value: unknown) => problemsOf(() => checkPolicyLayer(value, "x.toml"));

describe("checkPolicyLayer", () => {
	it("accepts any part of a policy and adds nothing", () => {
		expect(checkPolicyLayer({}, "x")).toEqual({});
		expect(checkPolicyLayer({ mask: {} }, "x")).toEqual({ mask: {} });
		const layer = { preset: "context-trim", mask: { window_turns: -3, placeholder_template: null } };
		expect(checkPolicyLayer(layer, "x")).toEqual(layer);
		expect(checkPolicyLayer({ mask: undefined, guard: { model: undefined } }, "x")).toEqual({ guard: {} });
	});

	it("names the source, and lists all problems, one per line", () => {
		const error = refused(() =>
			checkPolicyLayer({ locale: "de", mask: { a: 1 }, tokens: 3 }, "the tool's policy argument"),
		);
		expect(error.code).toBe("invalid_policy");
		expect(error.message.split("\n")).toHaveLength(4);
		expect(error.message).toMatch(/^Invalid policy in the tool's policy argument:\n- /);
	});

	it.each([
		["mask.windw_turns", { mask: { windw_turns: 1 } }, "mask.window_turns"],
		["window_turns", { window_turns: 1 }, "mask.window_turns"],
		["mask.windowTurns", { mask: { windowTurns: 1 } }, "mask.window_turns"],
		["guard.window_turns", { guard: { window_turns: 1 } }, "mask.window_turns"],
		["guard.max_chars", { guard: { max_chars: 1 } }, "truncate.max_chars"],
		["guard.context_window", { guard: { context_window: 1 } }, "guard.context_window_override"],
		["context_window", { context_window: 1 }, "guard.context_window_override"],
		["truncate.max", { truncate: { max: 1 } }, "truncate.max_chars"],
		["maks", { maks: {} }, "mask"],
		["log-level", { "log-level": "info" }, "log_level"],
	])("suggests the nearest known key for %s", (key, value, nearest) => {
		expect(problems(value)).toEqual([`${key}: unknown key. Did you mean ${nearest}?`]);
	});

	it("lists the known keys without a near one", () => {
		expect(problems({ tokens: { zzzzzzzz: 1 } })).toEqual([
			"tokens.zzzzzzzz: unknown key. Known here: encoding, message_overhead.",
		]);
	});

	it.each([
		[{ mask: { window_turns: Number.NaN } }, "mask.window_turns: expected a whole number, got NaN"],
		[{ mask: { window_turns: 1.5 } }, "mask.window_turns: expected a whole number, got 1.5"],
		[{ mask: { window_turns: Number.POSITIVE_INFINITY } }, "mask.window_turns: expected a whole number, got Infinity"],
		[{ mask: { window_turns: "5" } }, 'mask.window_turns: expected a whole number, got the text "5"'],
		[{ mask: { window_turns: null } }, "mask.window_turns: expected a whole number, got null"],
		[{ mask: { keep_errors: 1 } }, "mask.keep_errors: expected true or false, got 1"],
		[
			{ mask: { keep_last_k_per_tool: -1 } },
			"mask.keep_last_k_per_tool: expected a whole number, at least 0, or null, got -1",
		],
		[
			{ guard: { reserve_tokens: -1 } },
			"guard.reserve_tokens: expected a whole number, at least 0 and at most 1000000000, got -1",
		],
		[{ guard: { budget_ratio: 0 } }, "guard.budget_ratio: expected a number, above 0 and at most 1, got 0"],
		[{ guard: { budget_ratio: 1.01 } }, "guard.budget_ratio: expected a number, above 0 and at most 1, got 1.01"],
		[{ guard: { keep_last_messages: 0 } }, "guard.keep_last_messages: expected a whole number, at least 1, got 0"],
		[{ guard: { model: 4 } }, "guard.model: expected a text of at least 1 character, or null, got 4"],
		[
			{ guard: { ladder: ["drop", "hide"] } },
			'guard.ladder.1: expected "truncate", "mask" or "drop", got the text "hide"',
		],
		[
			{ guard: { ladder: "drop" } },
			'guard.ladder: expected a list of "truncate", "mask" or "drop", got the text "drop"',
		],
		[{ guard: { ladder: ["drop", "drop"] } }, "guard.ladder: each step at most once"],
		[{ mask: [] }, "mask: expected a table, got a list"],
		[{ mask: new Date(0) }, "mask: expected a table, got a date"],
		[null, "expected a table, got null"],
		[[], "expected a table, got a list"],
		[{ locale: "de" }, 'locale: expected "fr", "en" or "zh", got the text "de"'],
	])("refuses %j", (value, problem) => {
		expect(problems(value)).toEqual([problem]);
	});

	it("truncates long values and never quotes templates", () => {
		const [locale] = problems({ locale: "x".repeat(500) });
		expect(locale).toMatch(/got the text "x{40}…"$/);
		expect(problems({ mask: { placeholder_template: "y".repeat(2001) } })).toEqual([
			"mask.placeholder_template: expected a text of 1 to 2000 characters, or null, got a text of 2001 characters",
		]);
		expect(problems({ [`${"k".repeat(500)}\n`]: 1 })[0]).toMatch(/^"k{40}…": unknown key/);
	});

	it("lists at most fifty problems", () => {
		const many = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`zzzzzzzzzz${index}`, 1]));
		const listed = problems(many);
		expect(listed).toHaveLength(51);
		expect(listed.at(-1)).toBe("and 30 more");
	});

	it("refuses templates with an unknown variable, and names the known ones", () => {
		expect(problems({ mask: { placeholder_template: "{tool}" }, guard: { marker_template: "{tool_name}" } })).toEqual([
			"mask.placeholder_template: unknown variable {tool}; known: {tool_call_id}, {tool_name}, {original_chars}, {ref}, {digest}",
			"guard.marker_template: unknown variable {tool_name}; known: {omitted_chars}, {original_chars}, {ref}",
		]);
	});

	it("refuses __proto__ and constructor as keys, and pollutes nothing", () => {
		const value = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"a":1},"mask":{"__proto__":{"polluted":1}}}');
		expect(problems(value).map((problem) => problem.split(".")[0])).toEqual([
			"__proto__: unknown key",
			"constructor: unknown key",
			"mask",
		]);
		expect(({} as Record<string, unknown>).polluted).toBeUndefined();
	});
});

describe("the observation_masking.schema1 alias", () => {
	it("reads the guide's own file", () => {
		const layer = parsePolicyText(
			`[observation_masking.schema1]
enabled = false
window_turns = 8
keep_errors = true
keep_last_k_per_tool = 0
placeholder_template = "[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]"
`,
			"config.toml",
		);
		expect(Object.keys(layer)).toEqual(["mask"]);
		expect(resolvePolicy([layer]).mask).toEqual({
			...resolvePolicy([]).mask,
			enabled: false,
			window_turns: 8,
			keep_errors: true,
			keep_last_k_per_tool: 0,
			placeholder_template:
				"[Observation masquée: résultat d'outil ancien (tool_call_id={tool_call_id}, outil={tool_name}, chars={original_chars})]",
		});
	});

	it("is refused together with mask", () => {
		expect(problems({ observation_masking: { schema1: {} }, mask: {} })).toEqual([
			"observation_masking.schema1: is another name of mask, which is set too. Keep one of the two.",
		]);
	});

	it("names problems by the key in the file", () => {
		expect(problems({ observation_masking: { schema1: { windw_turns: 1, enabled: 2 }, schema2: {} } })).toEqual([
			"observation_masking.schema1.windw_turns: unknown key. Did you mean observation_masking.schema1.window_turns?",
			"observation_masking.schema2: unknown key. Did you mean observation_masking.schema1?",
			"observation_masking.schema1.enabled: expected true or false, got 2",
		]);
	});
});

describe("policyLayerSchema", () => {
	it("is the policy's schema without defaults, strict at every level", () => {
		expect(policyLayerSchema.parse({ guard: { pin_task: false } })).toEqual({ guard: { pin_task: false } });
		expect(policyLayerSchema.safeParse({ guard: { pinned: false } }).success).toBe(false);
	});
});

describe("parsePolicyText", () => {
	it("names line and column of invalid TOML", () => {
		expect(problemsOf(() => parsePolicyText("locale = 'en'\nmask = \n", "p.toml"))).toEqual([
			"line 2, column 8: not valid TOML (invalid value)",
		]);
	});

	it("reads an empty text as an empty layer", () => {
		expect(parsePolicyText("# nothing\n", "p.toml")).toEqual({});
	});
});
