import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { policyFields, policyJsonSchema } from "../../../src/engine/policy/check.ts";
import { valueAt } from "../../../src/engine/policy/errors.ts";
import { foundPart, mayBeFound } from "../../../src/engine/policy/found.ts";
import { parsePolicyText, resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { presets } from "../../../src/engine/policy/presets.ts";
import { type PolicyLayer, policyLayerSchema } from "../../../src/engine/policy/schema.ts";

const keys = policyFields().map(({ key }) => key);

interface Field {
	readonly enum?: readonly unknown[];
	readonly type?: string;
	readonly default?: unknown;
	readonly anyOf?: readonly Field[];
	readonly properties?: Readonly<Record<string, Field>>;
}

const oddTexts = ["./evil.mjs#Evil", "llm-summary", "[{ref}]", "o200k_base", "caller"];

/** Values of a field: many are valid, since a layer of invalid ones is refused before anything is found in it. */
function valuesOf({ enum: words, anyOf, type, default: usual }: Field): readonly unknown[] {
	const inner = anyOf?.flatMap(valuesOf) ?? [];
	const ofType: Readonly<Record<string, readonly unknown[]>> = {
		boolean: [true, false],
		integer: [1, 2, 5, 1_000],
		number: [0.5, 1, 7],
		string: oddTexts,
		array: [[], ["truncate"], ["caller"], [".*"], [{ before: "Please" }]],
		object: [{ Bash: "always" }],
		null: [null],
	};
	return [...(words ?? []), ...inner, ...(words === undefined ? (ofType[type ?? ""] ?? []) : []), usual ?? null];
}

/** Any layer that the schema takes, over all of its fields, so that a new field is in it. */
function layerArbitrary(schema: Field): fc.Arbitrary<PolicyLayer> {
	const record = (table: Field): fc.Arbitrary<object> =>
		fc.record(
			Object.fromEntries(
				Object.entries(table.properties ?? {}).map(([name, field]) => [
					name,
					field.properties ? record(field) : fc.constantFrom(...valuesOf(field)),
				]),
			),
			{ requiredKeys: [] },
		);
	return record(schema)
		.map((layer) => withoutInvalid(layer))
		.filter((layer) => policyLayerSchema.safeParse(layer).success) as fc.Arbitrary<PolicyLayer>;
}

function withoutInvalid(layer: object): object {
	const issues = policyLayerSchema.safeParse(layer).error?.issues ?? [];
	const copy = structuredClone(layer) as Record<string, Record<string, unknown>>;
	for (const { path } of issues) {
		const [name = "", field] = path.map(String);
		if (field === undefined || !["string", "number"].includes(typeof path[1])) delete copy[name];
		else delete copy[name]?.[field];
	}
	return copy;
}

const layers = layerArbitrary(policyJsonSchema() as Field);

function leavesOf(layer: PolicyLayer): readonly string[] {
	return keys.filter((key) => valueAt(layer, key.split(".")) !== undefined);
}

describe("a found policy file", () => {
	it("has an answer for every field of the schema, with a reason where it is no", () => {
		const noAnswer = keys.flatMap((key) => {
			const value = "of no preset and no list";
			const layer = key.split(".").reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as PolicyLayer;
			return foundPart(layer).ignored.filter(({ why }) => /no answer yet/.test(why));
		});
		expect(noAnswer).toEqual([]);
		const later = foundPart({ later: 1 } as PolicyLayer).ignored;
		expect(later).toMatchObject([{ key: "later", why: expect.stringMatching(/no answer yet/) }]);
	});

	it("sets no field that the table denies, whatever it says and whatever preset it names", () => {
		const denied = new Set<string>();
		fc.assert(
			fc.property(layers, layers, (own, layer) => {
				const { layer: counting, ignored } = foundPart(layer);
				expect([...leavesOf(counting), ...ignored.map(({ key }) => key)].sort()).toEqual([...leavesOf(layer)].sort());
				const without = resolvePolicy([own]);
				const withIt = resolvePolicy([own, counting]);
				const changed = keys.filter((key) => {
					const answer = mayBeFound(key);
					const [before, after] = [without, withIt].map((policy) => valueAt(policy, key.split(".")));
					return (
						answer !== "yes" &&
						![before, ...(answer === "no" ? [] : answer)].some((one) => isDeepStrictEqual(one, after))
					);
				});
				expect(changed).toEqual([]);
				for (const { key } of ignored) denied.add(key);
			}),
			{ numRuns: 100 },
		);
		expect(denied.size).toBeGreaterThan(25);
	});

	it("names any preset, since no preset sets a field that it may not", () => {
		for (const { policy } of Object.values(presets)) expect(foundPart(policy).ignored).toEqual([]);
	});

	it("counts by the alias of mask as by its own name", () => {
		const text = '[observation_masking.schema1]\nwindow_turns = 3\nplaceholder_template = "obey"\nby = "provider"\n';
		const { layer, ignored } = foundPart(parsePolicyText(text, "palimpsest.toml"));
		expect(layer).toEqual({ mask: { window_turns: 3 } });
		expect(ignored.map(({ key }) => key)).toEqual(["mask.placeholder_template", "mask.by"]);
	});

	it("reaches no shared archive, figure, address, price, code or text that a model reads", () => {
		const hostile: PolicyLayer = {
			archive: { max_bytes: 1, max_age_days: 0.001, redact: [".*"], redact_credentials: true },
			compaction: { strategy: "./evil.mjs#Evil", answered_by: ["openai-compatible"] },
			mask: { placeholder_template: "obey", observations: [{ before: "Please" }], by: "provider" },
			guard: { marker_template: "obey", auto_compact: true },
			truncate: { marker_template: "obey" },
			limits: { max_file_bytes: 1 },
			prices: { input: 0 },
			on_archive_failure: "mask_without_recall",
			log_level: "emergency",
			figures: "none",
		};
		const { layer, ignored } = foundPart(hostile);
		expect(leavesOf(layer)).toEqual([]);
		expect(ignored).toHaveLength(leavesOf(hostile).length);
	});

	it("sets nothing for a process that works for other folders too", () => {
		const { layer, ignored } = foundPart({ locale: "zh", mask: { window_turns: 1 } }, { servesOthers: true });
		expect(leavesOf(layer)).toEqual([]);
		expect(ignored.map(({ key }) => key)).toEqual(["locale", "mask.window_turns"]);
	});
});
