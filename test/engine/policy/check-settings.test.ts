import { describe, expect, it } from "vitest";
import { policyFields } from "../../../src/engine/policy/check.ts";
import { environmentLayer, settingsLayer } from "../../../src/engine/policy/layers.ts";
import { problemsOf, refused } from "./refused.ts";

describe("settingsLayer", () => {
	it("reads TOML values, and other values as text", () => {
		expect(
			settingsLayer([
				"mask.window_turns=5",
				"mask.keep_errors = false",
				'guard.ladder=["truncate", "drop"]',
				"guard.budget_ratio=0.5",
				"guard.model=gpt-4.1",
				'locale="en"',
				"mask.placeholder_template=[gone: {tool_name}]",
				"truncate.marker_template=a = b",
			]),
		).toEqual({
			mask: { window_turns: 5, keep_errors: false, placeholder_template: "[gone: {tool_name}]" },
			guard: { ladder: ["truncate", "drop"], budget_ratio: 0.5, model: "gpt-4.1" },
			locale: "en",
			truncate: { marker_template: "a = b" },
		});
	});

	it("merges, with the last one winning, and accepts tables and the alias", () => {
		expect(settingsLayer(["mask={window_turns=1, keep_errors=false}", "mask.window_turns=2"])).toEqual({
			mask: { window_turns: 2, keep_errors: false },
		});
		expect(settingsLayer(["observation_masking.schema1.window_turns=2"])).toEqual({ mask: { window_turns: 2 } });
	});

	it("reads null as null", () => {
		expect(settingsLayer(["guard.marker_template=null"])).toEqual({ guard: { marker_template: null } });
	});

	it.each(["mask", "=3", ""])("refuses %j", (setting) => {
		expect(problemsOf(() => settingsLayer([setting]))).toEqual([
			`expected key=value, such as mask.window_turns=5, got ${JSON.stringify(setting)}`,
		]);
	});

	it("names --set and lists every problem", () => {
		const error = refused(() =>
			settingsLayer(["mask.window_turn=1", "mask=3", "a..b=1", "__proto__.x=1", "mask.enabled.x=1"]),
		);
		expect(error.message).toMatch(/^Invalid policy in --set:\n/);
		expect(error.message).toContain("Did you mean mask.window_turns?");
		expect(error.message.split("\n- ")).toHaveLength(6);
		expect(({} as Record<string, unknown>).x).toBeUndefined();
	});

	it("does not let a value set a second key", () => {
		expect(problemsOf(() => settingsLayer(["mask.window_turns=5\nlocale='en'"]))).toHaveLength(1);
	});
});

describe("environmentLayer", () => {
	it("has one variable for every field, all different", () => {
		const names = policyFields().map((field) => field.environmentName);
		expect(new Set(names).size).toBe(names.length);
		expect(names).toContain("PALIMPSEST_MASK_WINDOW_TURNS");
		expect(names).toContain("PALIMPSEST_LOG_LEVEL");
	});

	it("reads every field's default back from its variable", () => {
		for (const field of policyFields()) {
			const [section = "", name] = field.key.split(".");
			const expected = name === undefined ? { [section]: field.default } : { [section]: { [name]: field.default } };
			expect(environmentLayer({ [field.environmentName]: JSON.stringify(field.default) })).toEqual(expected);
		}
	});

	it("reads plain texts, and ignores unrelated or empty variables and the file's path", () => {
		expect(
			environmentLayer({
				PALIMPSEST_PRESET: "context-guard",
				PALIMPSEST_MASK_WINDOW_TURNS: "5",
				PALIMPSEST_GUARD_MODEL: "",
				PALIMPSEST_POLICY: "/somewhere.toml",
				HOME: "/home",
				PALIMPSEST_LOCALE: undefined,
			}),
		).toEqual({ preset: "context-guard", mask: { window_turns: 5 } });
	});

	it("refuses unknown names with the nearest known one, and wrong values with the variable's name", () => {
		expect(
			problemsOf(() =>
				environmentLayer({
					PALIMPSEST_MASK_WINDOW_TURN: "5",
					PALIMPSEST_POLCY: "x",
					PALIMPSEST_QQQQQQQQQQQQ: "x",
					PALIMPSEST_MASK_ENABLED: "maybe",
				}),
			),
		).toEqual([
			"PALIMPSEST_MASK_WINDOW_TURN: unknown variable. Did you mean PALIMPSEST_MASK_WINDOW_TURNS?",
			"PALIMPSEST_POLCY: unknown variable. Did you mean PALIMPSEST_POLICY?",
			"PALIMPSEST_QQQQQQQQQQQQ: unknown variable.",
			'PALIMPSEST_MASK_ENABLED sets mask.enabled: expected true or false, got the text "maybe"',
		]);
	});
});
