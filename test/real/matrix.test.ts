import { afterAll, describe, expect, it, vi } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { atLeast } from "../support/breadth.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { droppableGroups } from "../support/droppable.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { expectedMasks } from "../support/mask-oracle.ts";
import { policyOf } from "../support/policy-of.ts";
import { brokenPromises } from "../support/promise-checker.ts";
import { type RealConversation, realConversations } from "../support/real-conversations.ts";
import type { FormatName } from "../support/script.ts";

vi.mock(import("../../src/formats/tokens/counter.ts"), async (importOriginal) => {
	const { rememberCounts } = await import("../support/remembered-counter.ts");
	return rememberCounts(importOriginal);
});

const countTokens = await loadCounter("o200k_base");
const files: readonly (RealConversation & { readonly name: FormatName })[] = [
	...realConversations(["openai"]).map((file) => ({ ...file, name: "openai-chat" as const })),
	...realConversations(["anthropic"]).map((file) => ({ ...file, name: "anthropic-messages" as const })),
];
const seen = {
	conversations: new Set<string>(),
	masks: 0,
	guards: 0,
	prefixes: 0,
	edits: 0,
	lists: 0,
	drops: 0,
	fitting: 0,
	over: 0,
};

const windows = [0, 1, 8];
const settings = windows.flatMap((windowTurns) =>
	[true, false].flatMap((keepErrors) => [0, 2].map((keepLastK) => ({ windowTurns, keepErrors, keepLastK }))),
);
/** The oracles here know results by the structure of a format, not by the words of a text protocol. */
const structured = { observations: false } as const;

const policyFor = ({ windowTurns, keepErrors, keepLastK }: (typeof settings)[number]) =>
	policyOf({
		mask: { window_turns: windowTurns, keep_errors: keepErrors, keep_last_k_per_tool: keepLastK, ...structured },
	});

describe.skipIf(files.length === 0)("real conversations: masking", () => {
	it.each(files)("$file", async ({ file, name, document }) => {
		const before = deepFreeze(document);
		seen.conversations.add(file);
		for (const setting of settings) {
			const policy = policyFor(setting);
			const { conversation: after, edits, report, error } = await maskConversation({ conversation: before, policy });
			expect(error).toBeUndefined();
			expect(report.format).toBe(name);
			expect(brokenPromises({ format: name, before, after, edits, countTokens })).toEqual([]);
			const expected = expectedMasks(before, name, { ...setting, countTokens });
			expect(edits.map(({ path }) => path)).toEqual([...expected.keys()]);
			expect(report.tokens.after).toBe(sumTokens(after, name, 4, countTokens));

			const twice = await maskConversation({ conversation: after, policy });
			expect(twice.conversation).toBe(after);
			seen.masks += 1;
			seen.edits += edits.length;
			seen.lists += edits.filter(({ replacement }) => Array.isArray(replacement)).length;
		}
	});
});

describe.skipIf(files.length === 0)(
	"real conversations: the edits for n messages are a subset of the edits for n + 1",
	() => {
		it.each(files)("$file", async ({ document }) => {
			const { messages } = document;
			for (const setting of settings.filter(({ windowTurns }) => windowTurns === 1 || windowTurns === 8)) {
				const policy = policyFor(setting);
				for (const share of [0.4, 0.7, 1]) {
					const length = Math.floor(messages.length * share);
					const editsFor = async (count: number) => {
						const { edits } = await maskConversation({ conversation: messages.slice(0, count), policy });
						return edits.map((edit) => JSON.stringify(edit));
					};
					const [shorter, longer] = [await editsFor(length - 1), new Set(await editsFor(length))];
					expect(shorter.filter((edit) => !longer.has(edit))).toEqual([]);
					seen.prefixes += 1;
				}
			}
		});
	},
);

describe.skipIf(files.length === 0)("real conversations: guarding", () => {
	const presets = ["observation-masking", "context-guard", "context-trim"] as const;
	const runs = presets.flatMap((preset) =>
		[1_000, 8_000, 32_000, 128_000].map((contextWindow) => ({ preset, contextWindow })),
	);

	it.each(files)("$file", async ({ name, document }) => {
		const before = deepFreeze(document);
		for (const { preset, contextWindow } of runs) {
			// A reserve of 8 192 would leave the two smaller windows no budget at all.
			const policy = policyOf({
				preset,
				mask: structured,
				guard: { reserve_tokens: Math.min(8_192, contextWindow / 8) },
			});
			const outcome = await guardConversation({ conversation: before, policy, contextWindow });
			const { conversation: after, edits, report, error } = outcome;
			expect(error).toBeUndefined();
			expect(brokenPromises({ format: name, before, after, edits, countTokens })).toEqual([]);
			const tokens = sumTokens(after, name, 4, countTokens);
			expect(report.tokens.after).toBe(tokens);
			expect(report.fits).toBe(tokens <= (report.budget_tokens ?? 0));
			const dropped = edits.flatMap(({ kind, message = -1 }) => (kind === "remove" ? [message] : []));
			if (!report.fits) {
				const all = droppableGroups(before, name, policy.guard).flat();
				expect(dropped).toEqual(all.sort((a, b) => a - b));
			}
			seen.guards += 1;
			seen.edits += edits.length;
			seen.drops += dropped.length;
			seen[report.fits ? "fitting" : "over"] += 1;
		}
	});
});

describe.skipIf(files.length === 0)("real conversations: the total of all runs", () => {
	afterAll(() => {
		const { conversations, ...counts } = seen;
		process.stderr.write(`Real conversations: ${JSON.stringify({ conversations: conversations.size, ...counts })}\n`);
	});

	it("has hundreds of runs and thousands of edits", () => {
		expect(seen.conversations.size).toBeGreaterThan(atLeast(100));
		expect(seen.masks).toBeGreaterThan(atLeast(1_000));
		expect(seen.guards).toBeGreaterThan(atLeast(1_000));
		expect(seen.prefixes).toBeGreaterThan(atLeast(1_000));
		expect(seen.edits).toBeGreaterThan(atLeast(5_000));
		expect(seen.drops).toBeGreaterThan(atLeast(1_000));
		expect(seen.fitting).toBeGreaterThan(atLeast(300));
		expect(seen.over).toBeGreaterThan(atLeast(50));
	});
});
