import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { assistant, type JsonMessage, openaiMessages, system, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ preset: "context-trim" });
const countTokens = await loadCounter("o200k_base");
const marker = "\n\n[... contenu tronqué ...]\n\n";

const large = textOfLength(2_001);
const conversation = deepFreeze(
	openaiMessages(
		system("Vous êtes un assistant."),
		user("La tâche."),
		toolTurn("call_1", large),
		toolTurn("call_2", textOfLength(2_000)),
		...Array.from({ length: 6 }, (_, index) => toolTurn(`later_${index}`, outputOf(`later ${index}`, 20))),
		user("Une question."),
		assistant("Une réponse."),
	),
);
const total = sumTokens(conversation, "openai-chat", 4, countTokens);

async function trim(contextWindow: number) {
	const outcome = await guardConversation({ conversation, policy, contextWindow });
	return { messages: outcome.conversation as JsonMessage[], report: outcome.report };
}

describe("Preset `context-trim` (docs/strategies.md#context-limit)", () => {
	it("the budget is 80 % of the window, with no further reserve", async () => {
		expect((await trim(10_000)).report).toMatchObject({ budget_tokens: 8_000, reserve_tokens: 0 });
		expect((await trim(999)).report.budget_tokens).toBe(799);
	});

	it("cuts nothing within the budget, however large", async () => {
		const { messages, report } = await trim(Math.ceil(total / 0.8));
		expect(report.fits).toBe(true);
		expect(messages).toBe(conversation);
	});

	it("step 1, over the budget: results over 2 000 characters become 500 + 500 with the trim marker", async () => {
		const { messages, report } = await trim(Math.ceil(total / 0.8) - 10);
		expect(resultContents(messages)[0]).toBe(large.slice(0, 500) + marker + large.slice(-500));
		expect(resultContents(messages)[1]).toBe(textOfLength(2_000));
		expect(report.steps.map(({ step }) => step)).toEqual(["truncate"]);
		expect(report.fits).toBe(true);
	});

	it("step 2: drops the oldest until it fits", async () => {
		const { messages, report } = await trim(2_500);
		expect(report.steps.map(({ step }) => step)).toEqual(["truncate", "drop"]);
		expect(report.fits).toBe(true);
		expect(sumTokens(messages, "openai-chat", 4, countTokens)).toBeLessThanOrEqual(2_000);
		expect(messages.at(-1)).toBe(conversation.at(-1));
	});

	it("keeps system and the last 4 messages in any window", async () => {
		const { messages, report } = await trim(10);
		expect(report.fits).toBe(false);
		expect(messages).toEqual([conversation[0], ...conversation.slice(-4)]);
	});

	it("keeps the first user message only when `guard.pin_task` says so", async () => {
		const pinned = policyOf({ preset: "context-trim", guard: { pin_task: true } });
		const outcome = await guardConversation({ conversation, policy: pinned, contextWindow: 10 });
		expect(outcome.conversation).toEqual([conversation[0], conversation[1], ...conversation.slice(-4)]);
	});

	it.each([undefined, "no-such-model"])(
		"changes nothing when no limit is known (model %s), and adds a note",
		async (model) => {
			const { conversation: after, report } = await guardConversation({ conversation, policy, model });
			expect(after).toBe(conversation);
			expect(report).toMatchObject({ changed: false, fits: null, context_window: null, budget_tokens: null });
			expect(report.shortfall_tokens).toBe(0);
			expect(report.notes).toContainEqual(expect.stringMatching(/context window .*so nothing was removed/));
		},
	);

	it("keeps the complete group of a message among the last 4", async () => {
		const odd = [...conversation.slice(0, -2), ...openaiMessages(user("a"), user("b"), user("c"))];
		const outcome = await guardConversation({ conversation: odd, policy, contextWindow: 10 });
		// The fourth message from the end is a result, so its call stays with it.
		expect(outcome.conversation).toEqual([odd[0], ...odd.slice(-5)]);
	});

	it("never changes the caller's list", async () => {
		const text = JSON.stringify(conversation);
		await trim(2_500);
		expect(JSON.stringify(conversation)).toBe(text);
	});

	it("4 tokens of overhead per message", async () => {
		expect(policy.tokens.message_overhead).toBe(4);
		expect((await trim(100_000)).report.tokens.before).toBe(total);
	});

	it("cuts over 8 000 characters half and half, with `[... N caractères omis ...]` (docs/strategies.md#large-results)", async () => {
		const text = textOfLength(20_000);
		const outcome = await truncateText({ text, policy });
		expect(outcome.text).toBe(`${text.slice(0, 4_000)}\n\n[... 12000 caractères omis ...]\n\n${text.slice(-4_000)}`);
		const atLimit = await truncateText({ text: textOfLength(8_000), policy });
		expect(atLimit.report.truncated).toBe(false);
	});

	it.each([8_001, 8_010, 8_035, 8_036, 8_037, 8_100])(
		"%i characters: shorter than before, also just over the limit",
		async (length) => {
			const text = textOfLength(length);
			const once = await truncateText({ text, policy });
			expect(once.text.length).toBeLessThan(length);
			expect(once.text).toMatch(/\[\.\.\. \d+ caractères omis \.\.\.\]/);
			expect((await truncateText({ text: once.text, policy })).text).toBe(once.text);
		},
	);
});
