import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { presetNames } from "../../src/engine/policy/names.ts";
import type { Policy, PolicyLayer } from "../../src/engine/policy/schema.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations, type GeneratedConversation } from "../support/conversation-arbitrary.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { droppableGroups } from "../support/droppable.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { policyOf } from "../support/policy-of.ts";
import { brokenPromises } from "../support/promise-checker.ts";
import { rawList } from "../support/raw-conversation.ts";

const countTokens = await loadCounter("o200k_base");
// The bodies name a model that nobody knows, whose tokens would be estimates.
const exact = { encoding: "o200k_base" } as const;
const seen = {
	drops: 0,
	words: 0,
	cuts: 0,
	groups: 0,
	masks: 0,
	truncations: 0,
	fitting: 0,
	over: 0,
	minimal: 0,
	refused: 0,
};

const windows = fc.oneof(fc.integer({ min: 1, max: 600 }), fc.integer({ min: 1, max: 8_000 }));
const ladders = fc.shuffledSubarray(["truncate", "mask", "drop"] as const);
const guards: fc.Arbitrary<PolicyLayer["guard"]> = fc.record({
	ladder: ladders,
	reserve_tokens: fc.constantFrom(0, 0, 50),
	budget_ratio: fc.constantFrom(1, 0.8, 0.37),
	truncate_when: fc.constantFrom("always", "over_budget"),
	max_tool_result_chars: fc.constantFrom(0, 20, 300, 2_000),
	truncate_head_chars: fc.constantFrom(0, 20, 300),
	truncate_tail_chars: fc.constantFrom(0, 20, 300),
	keep_last_messages: fc.integer({ min: 1, max: 5 }),
	pin_task: fc.boolean(),
});
const masks: fc.Arbitrary<PolicyLayer["mask"]> = fc.record({
	enabled: fc.boolean(),
	window_turns: fc.integer({ min: 0, max: 4 }),
	keep_errors: fc.boolean(),
	keep_last_k_per_tool: fc.constantFrom(null, 1),
});

const inOrder = (groups: readonly (readonly number[])[]) => groups.flat().sort((a, b) => a - b);

/** Whether a message has neither calls nor results. */
function isPlain(document: unknown, index: number, role: "user" | "assistant"): boolean {
	const message = rawList(document)[index] as { role?: unknown; tool_calls?: unknown[] } | undefined;
	return message?.role === role && !message.tool_calls?.length;
}

async function check({ format, document }: GeneratedConversation, policy: Policy, contextWindow: number) {
	const before = deepFreeze(document);
	const budget = Math.floor(contextWindow * policy.guard.budget_ratio) - policy.guard.reserve_tokens;
	const guarding = guardConversation({ conversation: before, policy, contextWindow });
	if (budget <= 0) {
		await expect(guarding).rejects.toMatchObject({ code: "no_budget" });
		seen.refused += 1;
		return undefined;
	}
	const { conversation: after, edits, report, error } = await guarding;
	expect(error).toBeUndefined();
	const keepsWords = policy.compaction.keep_user_text === true;
	const tokens = sumTokens(after, format, policy.tokens.message_overhead, countTokens);
	const roomForWords = (more: number) => tokens + more <= budget;
	expect(brokenPromises({ format, before, after, edits, countTokens, keepsWords, roomForWords })).toEqual([]);

	expect(report.tokens.after).toBe(tokens);
	expect(report.tokens.before).toBe(sumTokens(before, format, policy.tokens.message_overhead, countTokens));
	expect(report).toMatchObject({
		fits: tokens <= budget,
		shortfall_tokens: Math.max(0, tokens - budget),
		budget_tokens: budget,
	});

	// The words of people take the place of the first message that has some.
	const isDrop = ({ kind, reason }: (typeof edits)[number]) =>
		kind === "remove" || (kind === "replace" && reason === "summary");
	const dropped = edits.filter(isDrop).map(({ message = -1 }) => message);
	// What was dropped at an earlier call stays so, also where a group that began before was not whole by then.
	const isLasting = policy.guard.target_ratio !== null;
	const groups = droppableGroups(before, format, policy.guard).toSorted(
		(a, b) => Number(isLasting && !dropped.includes(a[0] ?? -1)) - Number(isLasting && !dropped.includes(b[0] ?? -1)),
	);
	const oldest = groups.findLastIndex((group) => group.some((index) => dropped.includes(index))) + 1;
	// An answer may stay, so that no user message meets another one.
	const kept = inOrder(groups.slice(0, oldest)).filter((index) => !dropped.includes(index));
	const isAnswer = kept.length === 1 && format === "openai-chat" && isPlain(before, kept[0] ?? -1, "assistant");
	expect(isAnswer ? [] : kept, "the oldest droppable groups, whole").toEqual([]);
	expect(dropped).toEqual(inOrder(groups.slice(0, oldest)).filter((index) => !kept.includes(index)));
	const canDrop = policy.guard.ladder.includes("drop");
	if (!report.fits && canDrop && (!keepsWords || dropped.length > 0)) expect(dropped).toEqual(inOrder(groups));
	if (!report.fits && canDrop && keepsWords && dropped.length === 0) {
		const messages = rawList(before);
		const going = groups.flat().map((index) => messages[index] as { role?: string; content?: unknown });
		const said = going.filter(({ role, content }) => role === "user" && typeof content === "string");
		const saved = sumTokens(going, format, 4, countTokens) - sumTokens(said, format, 0, countTokens);
		expect(saved, "nothing but words could go").toBeLessThan(60 + 12 * said.length);
	}
	if (!canDrop) expect(dropped).toEqual([]);

	const touched = edits.map(({ message = -1 }) => message);
	expect(touched, "oldest first").toEqual(touched.toSorted((a, b) => a - b));

	const sizes = [report.tokens.before, ...report.steps.map((step) => step.tokens_after)];
	expect(sizes, "no step makes it larger").toEqual(sizes.toSorted((a, b) => b - a));

	seen.drops += dropped.length;
	seen.words += edits.filter(({ reason }) => reason === "summary").length;
	seen.groups += oldest;
	seen.masks += report.masked_tool_results;
	seen.truncations += report.truncated_tool_results;
	seen[report.fits ? "fitting" : "over"] += 1;
	// A user message after a dropped answer goes too, so that it meets no other one.
	const isUser = (group: readonly number[] = []) => format === "openai-chat" && isPlain(before, group[0] ?? -1, "user");
	let last = oldest - 1;
	while (last > 0 && isUser(groups[last])) last -= 1;
	return { tokens, budget, lastDropped: last < 0 ? undefined : groups.slice(last, oldest).flat() };
}

test.prop([conversations, fc.constantFrom(...presetNames), windows], { numRuns: numberOfCases(400) })(
	"every preset keeps every promise and reports correctly whether it fits",
	async (conversation, preset, contextWindow) => {
		await check(conversation, policyOf({ preset, guard: { reserve_tokens: 0 }, tokens: exact }), contextWindow);
	},
);

test.prop([conversations, guards, masks, windows, fc.boolean()], { numRuns: numberOfCases(1_200) })(
	"any policy with any order of the ladder keeps every promise and reports correctly whether it fits",
	async (conversation, guard, mask, contextWindow, keepsWords) => {
		const compaction = { keep_user_text: keepsWords };
		const policy = policyOf({ guard: guard ?? {}, mask: mask ?? {}, compaction, tokens: exact });
		await check(conversation, policy, contextWindow);
	},
);

test.prop([conversations, windows], { numRuns: numberOfCases(250) })(
	"drops no more groups than necessary",
	async (conversation, contextWindow) => {
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 }, tokens: exact });
		const checked = await check(conversation, policy, contextWindow);
		if (checked?.lastDropped === undefined) return;
		const { tokens, budget, lastDropped } = checked;
		const { format, document } = conversation;
		const messages = Array.isArray(document) ? document : (document as { messages: unknown[] }).messages;
		const group = lastDropped.map((index) => messages[index]);
		expect(tokens + sumTokens(group, format, 4, countTokens)).toBeGreaterThan(budget);
		seen.minimal += 1;
	},
);

afterAll(() => {
	expect(seen.drops).toBeGreaterThan(leastOfCases(1_000));
	expect(seen.words).toBeGreaterThan(leastOfCases(30));
	expect(seen.groups).toBeGreaterThan(leastOfCases(500));
	expect(seen.masks).toBeGreaterThan(leastOfCases(150));
	expect(seen.truncations).toBeGreaterThan(leastOfCases(500));
	expect(seen.fitting).toBeGreaterThan(leastOfCases(200));
	expect(seen.over).toBeGreaterThan(leastOfCases(100));
	expect(seen.minimal).toBeGreaterThan(leastOfCases(50));
	expect(seen.refused).toBeGreaterThan(leastOfCases(20));
});
