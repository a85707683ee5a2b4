import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import type { Usage } from "../../src/proxy/billing/usage.ts";
import { usageOf } from "../../src/proxy/billing/usage-fields.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";

const cases = 10_000;
let named = 0;
afterAll(() => expect(named).toBeGreaterThan(leastOfCases(cases)));

const tokens = fc.integer({ min: 1, max: 1_000_000 });
const plain = fc.record({ prompt: tokens, cached: tokens, output: tokens }).chain(({ prompt, cached, output }) =>
	fc.constantFrom(
		["anthropic", { input_tokens: prompt, cache_read_input_tokens: cached, output_tokens: output }] as const,
		["anthropic", { inputTokens: prompt, cacheReadInputTokens: cached, outputTokens: output }] as const,
		[
			"openai",
			{
				prompt_tokens: prompt + cached,
				prompt_tokens_details: { cached_tokens: cached },
				completion_tokens: output,
				total_tokens: prompt + cached + output,
			},
		] as const,
		[
			"gemini",
			{ promptTokenCount: prompt + cached, cachedContentTokenCount: cached, candidatesTokenCount: output },
		] as const,
	),
);

/** A member with a count that nothing knows, or with none. */
const word = fc.stringMatching(/^x[a-z]{3,8}$/);
const unknown = fc
	.record({ name: word, holder: word, amount: tokens })
	.chain(({ name, holder, amount }) =>
		fc.constantFrom(
			{ member: { [`${name}_tokens`]: amount }, names: [`${name}_tokens`] },
			{ member: { [`${name}Tokens`]: amount }, names: [`${name}Tokens`] },
			{ member: { [holder]: { [`${name}_token_count`]: amount } }, names: [`${holder}.${name}_token_count`] },
			{ member: { [holder]: [{ input_tokens: amount }] }, names: [`${holder}.input_tokens`] },
			{ member: { [`${name}_tokens`]: -amount }, names: [] },
			{ member: { [holder]: { [name]: [null, true, "tokens", amount] } }, names: [] },
			{ member: { [holder]: null }, names: [] },
		),
	);

test.prop([plain, fc.array(unknown, { maxLength: 4 })], { numRuns: numberOfCases(cases) })(
	"unknown fields of a usage change no figure, and each that counts tokens is named",
	([api, usage], added) => {
		const more = Object.assign({}, ...added.map(({ member }) => member)) as Record<string, unknown>;
		const { unknownFields = [], ...found } = usageOf({ ...more, ...usage }, api) as Usage;
		expect(found).toEqual(usageOf(usage, api));
		const expected = added.flatMap(({ member, names }) => {
			const [key, value] = Object.entries(member)[0] as [string, unknown];
			return more[key] === value ? names : [];
		});
		expect([...unknownFields].sort()).toEqual([...new Set(expected)].sort());
		named += expected.length;
	},
);
