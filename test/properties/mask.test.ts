import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations, maskSettings } from "../support/conversation-arbitrary.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { expectedMasks } from "../support/mask-oracle.ts";
import { policyOf } from "../support/policy-of.ts";
import { brokenPromises } from "../support/promise-checker.ts";
import { rawList } from "../support/raw-conversation.ts";

const countTokens = await loadCounter("o200k_base");
const seen = { oracle: 0, checked: 0, twice: 0, prefix: 0, lists: 0, errorsKept: 0 };

type Settings = { windowTurns: number; keepErrors: boolean; keepLastK: number };
const policyFor = ({ windowTurns, keepErrors, keepLastK }: Settings) =>
	policyOf({
		mask: { window_turns: windowTurns, keep_errors: keepErrors, keep_last_k_per_tool: keepLastK },
		// The bodies name a model that nobody knows, whose tokens would be estimates.
		tokens: { encoding: "o200k_base" },
	});

test.prop([conversations, maskSettings], { numRuns: numberOfCases(500) })(
	"masks the same results, with the same placeholders, as an independent implementation of docs/strategies.md",
	async ({ format, document }, settings) => {
		const { edits, report } = await maskConversation({ conversation: document, policy: policyFor(settings) });
		expect(report.format).toBe(format);
		const expected = expectedMasks(document, format, { ...settings, countTokens });
		const masked = edits.map(({ path, replacement }) => [
			path,
			Array.isArray(replacement) ? (replacement[0] as { text: string }).text : replacement,
		]);
		expect(Object.fromEntries(masked)).toEqual(Object.fromEntries(expected));
		seen.oracle += expected.size;
		seen.errorsKept += report.kept.error;
		seen.lists += edits.filter(({ replacement }) => Array.isArray(replacement)).length;
	},
);

test.prop([conversations, maskSettings, fc.constantFrom("fr", "en", "zh")], { numRuns: numberOfCases(500) })(
	"never breaks a promise, and never changes its input",
	async ({ format, document }, settings, locale) => {
		const before = deepFreeze(document);
		const policy = { ...policyFor(settings), locale } as const;
		const outcome = await maskConversation({ conversation: before, policy });
		const { conversation: after, edits, error } = outcome;
		expect(error).toBeUndefined();
		expect(brokenPromises({ format, before, after, edits, countTokens })).toEqual([]);
		expect(rawList(after)).toHaveLength(rawList(before).length);
		seen.checked += edits.length;
	},
);

test.prop([conversations, maskSettings], { numRuns: numberOfCases(300) })(
	"masking twice equals masking once",
	async ({ document }, settings) => {
		const policy = policyFor(settings);
		const once = await maskConversation({ conversation: document, policy });
		const twice = await maskConversation({ conversation: once.conversation, policy });
		expect(twice.edits).toEqual([]);
		expect(twice.conversation).toBe(once.conversation);
		seen.twice += once.edits.length;
	},
);

test.prop([conversations, maskSettings], { numRuns: numberOfCases(60) })(
	"the edits for n messages are a subset of the edits for n + 1",
	async ({ document }, settings) => {
		const messages = rawList(document);
		const policy = policyFor(settings);
		let earlier = new Set<string>();
		for (let length = 0; length <= messages.length; length += 1) {
			// A prefix before the first call could be of another format.
			const { edits } = await maskConversation({ conversation: messages.slice(0, length), policy });
			const now = new Set(edits.map((edit) => JSON.stringify(edit)));
			for (const edit of earlier) expect(now).toContain(edit);
			seen.prefix += earlier.size;
			earlier = now;
		}
	},
);

afterAll(() => {
	expect(seen.oracle).toBeGreaterThan(leastOfCases(500));
	expect(seen.checked).toBeGreaterThan(leastOfCases(500));
	expect(seen.twice).toBeGreaterThan(leastOfCases(300));
	expect(seen.prefix).toBeGreaterThan(leastOfCases(300));
	expect(seen.lists).toBeGreaterThan(leastOfCases(50));
	expect(seen.errorsKept).toBeGreaterThan(leastOfCases(50));
});
