import fc from "fast-check";
import { expect } from "vitest";
import type { CompactionStrategy } from "../../src/engine/compaction/strategy.ts";
import { builtInStrategies } from "../../src/engine/policy/names.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { applyEdits, invertEdits } from "../../src/formats/json-text/edit.ts";
import { guardWithCompaction } from "../../src/operations/guard-with-compaction.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import type { SpellingsOf } from "../../src/storage/restore/originals.ts";
import { applyPlainly } from "../support/apply-plainly.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

interface Rounds {
	readonly document: unknown;
	readonly layer?: PolicyLayer;
	readonly contextWindow: number;
	readonly strategy?: CompactionStrategy;
	readonly lastResponse?: unknown;
	readonly archive?: Archive | undefined;
	readonly spellingsOf?: SpellingsOf;
}

/** Compacts and guards in one call, which answers with the edits of both rounds as one list. */
export async function bothRounds({ document, layer = {}, contextWindow, strategy, ...given }: Rounds) {
	const policy = policyOf({
		locale: "en",
		...layer,
		guard: { reserve_tokens: 0, max_messages: 1, auto_compact: true, ...layer.guard },
		tokens: { encoding: "o200k_base" },
	});
	const named = { kind: "built_in", name: policy.compaction.strategy } as never;
	return guardWithCompaction({
		conversation: deepFreeze(document),
		policy,
		contextWindow,
		...given,
		compaction: async () => ({
			strategy: strategy ? { kind: "external", name: "own", strategy } : named,
			answer: { kind: "summariser", summariser: standInSummariser() },
		}),
	});
}

type Done = Awaited<ReturnType<typeof bothRounds>>;

/** The edits make of the input what both rounds made of it, as a value and as a text. */
export function check(document: unknown, { conversation, edits, report, error }: Done): void {
	expect(error).toBeUndefined();
	const text = JSON.stringify(document, null, 1);
	expect(applyPlainly(document, edits)).toEqual(JSON.parse(JSON.stringify(conversation)));
	const written = applyEdits(text, edits);
	expect(JSON.parse(written.text)).toEqual(JSON.parse(JSON.stringify(conversation)));
	expect(invertEdits(written)).toBe(text);
	const saved = edits.reduce((sum, { before, after }) => sum + before.tokens - after.tokens, 0);
	expect(report.tokens.before - report.tokens.after).toBe(saved);
	const characters = edits.reduce((sum, { before, after }) => sum + before.chars - after.chars, 0);
	expect(report.chars.before - report.chars.after).toBe(characters);
}

const cutAnswer = {
	choices: [{ index: 0, finish_reason: "length", message: { role: "assistant", content: "As far as it " } }],
};

const cutMessage = { role: "assistant", stop_reason: "max_tokens", content: [{ type: "text", text: "As far as it " }] };

const layers: fc.Arbitrary<PolicyLayer> = fc.record({
	compaction: fc.record({
		strategy: fc.constantFrom(...builtInStrategies),
		keep_last_messages: fc.integer({ min: 0, max: 6 }),
		keep_tool_groups: fc.integer({ min: 1, max: 5 }),
	}),
	guard: fc.record({
		ladder: fc.constantFrom(["truncate", "drop"] as const, ["drop"] as const, ["truncate", "mask", "drop"] as const),
		max_tool_result_chars: fc.constantFrom(300, 2_000),
		truncate_head_chars: fc.constantFrom(20, 200),
		truncate_tail_chars: fc.constantFrom(20, 200),
		pin_task: fc.boolean(),
	}),
	mask: fc.record({ window_turns: fc.integer({ min: 1, max: 4 }) }),
});

/** A conversation, a policy, a window, and whether the last answer was cut off. */
export const roundsCases = fc.tuple(conversations, layers, fc.integer({ min: 100, max: 3_000 }), fc.boolean());

export type RoundsCase = typeof roundsCases extends fc.Arbitrary<infer Case> ? Case : never;

/** Checks that one list of edits combines the compaction and the guard after it. */
export async function checkBothRounds([{ format, document }, layer, contextWindow, isCut]: RoundsCase): Promise<Done> {
	const before = JSON.parse(JSON.stringify(document));
	// Behind calls that nobody answered nothing can be appended.
	if (isCut) (Array.isArray(before) ? before : before.messages).push({ role: "user", content: "And now?" });
	const answer = format === "openai-chat" ? cutAnswer : cutMessage;
	const outcome = await bothRounds({
		document: before,
		layer,
		contextWindow,
		lastResponse: isCut ? answer : undefined,
	});
	check(before, outcome);
	return outcome;
}
