import { expect } from "vitest";
import type { CompactionStrategy } from "../../src/compaction/strategy.ts";
import { applyEdits, invertEdits } from "../../src/json-text/edit.ts";
import { guardWithCompaction } from "../../src/operations/guard-with-compaction.ts";
import type { PolicyLayer } from "../../src/policy/schema.ts";
import { applyPlainly } from "../support/apply-plainly.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

interface Rounds {
	readonly document: unknown;
	readonly layer?: PolicyLayer;
	readonly contextWindow: number;
	readonly strategy?: CompactionStrategy;
	readonly lastResponse?: unknown;
}

/** Compacts and guards in one call, which answers with the edits of both rounds as one list. */
export async function bothRounds({ document, layer = {}, contextWindow, strategy, lastResponse }: Rounds) {
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
		lastResponse,
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
}
