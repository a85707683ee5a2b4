import { describe, expect, it } from "vitest";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { type GuardRequest, guardConversation } from "../../src/operations/guard.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { policyOf } from "../support/policy-of.ts";
import { brokenPromises } from "../support/promise-checker.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import {
	assistant,
	calls,
	type JsonMessage,
	openaiMessages,
	results,
	system,
	toolTurn,
	user,
} from "../support/script.ts";

const policy = policyOf({ preset: "context-guard" });
const countTokens = await loadCounter("o200k_base");

async function guard(conversation: unknown, request: Partial<GuardRequest> = {}) {
	const outcome = await guardConversation({ conversation: deepFreeze(conversation), policy, ...request });
	const { edits, conversation: after, report } = outcome;
	const broken = brokenPromises({ format: "openai-chat", before: conversation, after, edits, countTokens });
	expect(broken).toEqual([]);
	const tokens = sumTokens(after, "openai-chat", 4, countTokens);
	expect(report.tokens.after).toBe(tokens);
	expect(report.fits).toBe(tokens <= (report.budget_tokens ?? 0));
	return { messages: after as JsonMessage[], report, tokens };
}

const longConversation = openaiMessages(
	system("You are an agent."),
	user("The task."),
	...Array.from({ length: 20 }, (_, index) => [
		toolTurn(`call_${index}`, outputOf(`turn ${index}`)),
		user(`Go on ${index}`),
	]).flat(),
	assistant("The newest message."),
);

describe("The guard drops the oldest groups (docs/strategies.md#dropping)", () => {
	it("leaves a short conversation unchanged", async () => {
		const conversation = openaiMessages(system("Be brief."), user("Hello"), assistant("Hi"));
		const { messages, report } = await guard(conversation, { contextWindow: 10_000 });
		expect(messages).toBe(conversation);
		expect(report).toMatchObject({ fits: true, changed: false, shortfall_tokens: 0, steps: [] });
	});

	it("drops the oldest messages and keeps the newest", async () => {
		const { messages, report } = await guard(longConversation, { contextWindow: 8_192 + 4_000 });
		expect(report.dropped_messages).toBeGreaterThan(0);
		expect(report.fits).toBe(true);
		const rest = messages.slice(1);
		expect(rest).toEqual(longConversation.slice(-rest.length));
	});

	it("keeps system messages at any position", async () => {
		const conversation = [...longConversation];
		conversation.splice(9, 0, { role: "system", content: "A reminder." }, { role: "developer", content: "Another." });
		const { messages } = await guard(conversation, { contextWindow: 8_193 });
		expect(messages.map((message) => message.content)).toEqual([
			"You are an agent.",
			"A reminder.",
			"Another.",
			"The newest message.",
		]);
	});

	it("reserves room for system messages first", async () => {
		const small = await guard(longConversation, { contextWindow: 8_192 + 4_000 });
		const large = longConversation.with(0, { role: "system", content: outputOf("rules", 150) });
		const { messages, report } = await guard(large, { contextWindow: 8_192 + 4_000 });
		expect(report.fits).toBe(true);
		expect(messages.length).toBeLessThan(small.messages.length);
	});

	it.each([500, 1_000, 3_000, 6_000, 9_000])("fits a budget of %i tokens after dropping", async (budget) => {
		const { tokens, report } = await guard(longConversation, { contextWindow: 8_192 + budget });
		expect(report.fits).toBe(true);
		expect(tokens).toBeLessThanOrEqual(budget);
	});

	it("drops no more than necessary: one group fewer would not fit", async () => {
		const { messages, tokens, report } = await guard(longConversation, { contextWindow: 8_192 + 4_000 });
		const oldestKept = longConversation.indexOf(messages[1] as JsonMessage);
		const lastDropped = openaiMessages(toolTurn("x", outputOf("turn 0")));
		expect(oldestKept).toBeGreaterThan(2);
		expect(tokens + sumTokens(lastDropped, "openai-chat", 4, countTokens)).toBeGreaterThan(report.budget_tokens ?? 0);
	});

	it("truncates and drops together", async () => {
		const large = openaiMessages(toolTurn("large", textOfLength(200_000)));
		const conversation = [...longConversation.slice(0, -1), ...large, ...longConversation.slice(-1)];
		const { report } = await guard(conversation, { contextWindow: 8_192 + 6_000 });
		expect(report.steps.map(({ step }) => step)).toEqual(["truncate", "drop"]);
		expect(report).toMatchObject({ fits: true, truncated_tool_results: 1 });
	});

	it("drops nothing of system messages and one user message", async () => {
		const conversation = openaiMessages(system("Be brief."), user("Hello"));
		const { messages } = await guard(conversation, { contextWindow: 8_192 + 50 });
		expect(messages).toBe(conversation);
	});

	it("keeps at least the newest message, even over the budget", async () => {
		const conversation = openaiMessages(user("old"), assistant("older"), user(outputOf("huge", 500)));
		const { messages, report } = await guard(conversation, { contextWindow: 8_192 + 100 });
		expect(messages).toEqual(conversation.slice(-1));
		expect(report.fits).toBe(false);
	});

	it("reports `fits: false` with the missing tokens when even the smallest result is over (docs/strategies.md#fits)", async () => {
		const conversation = openaiMessages(user("old"), user(outputOf("huge", 500)));
		const { report, tokens } = await guard(conversation, { contextWindow: 8_192 + 100 });
		expect(report).toMatchObject({ fits: false, shortfall_tokens: tokens - 100, budget_tokens: 100 });
	});

	it.each([4_000, 8_191, 8_192])("refuses a window of %i tokens with a reserve of 8192", async (contextWindow) => {
		await expect(guard(longConversation, { contextWindow })).rejects.toMatchObject({
			code: "no_budget",
			message: expect.stringMatching(
				new RegExp(
					`^The reserve \\(8192\\) is (?:larger than|as large as) the window \\(${contextWindow}\\)\\. .* \\\`reserve_tokens\\\` `,
				),
			),
		});
		expect((await guard(openaiMessages(user("Hello")), { contextWindow: 8_193 })).report.budget_tokens).toBe(1);
	});

	it("drops the oldest complete group: an assistant message with all its results", async () => {
		const conversation = openaiMessages(
			user("The task."),
			calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
			results({ id: "a", content: outputOf("a") }),
			user("A word between."),
			results({ id: "b", content: outputOf("b") }),
			assistant(outputOf("thought")),
			user("Newest"),
		);
		const before = sumTokens(conversation, "openai-chat", 4, countTokens);
		const { messages } = await guard(conversation, { contextWindow: 8_192 + before - 50 });
		// The task alone is too little, so the whole group behind it goes; the word between its results stays.
		expect(messages).toEqual([conversation[3], conversation[5], conversation[6]]);
	});

	it("orphans no call when the newest message is a result of an old call", async () => {
		const conversation = openaiMessages(
			calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
			results({ id: "a", content: "first" }),
			assistant(outputOf("thought", 100)),
			results({ id: "b", content: "second" }),
		);
		const { messages } = await guard(conversation, { contextWindow: 8_192 + 120 });
		expect(messages).toEqual([conversation[0], conversation[1], conversation[3]]);
	});

	it("keeps the first user message, the task, with `pin_task`", async () => {
		const pinned = policyOf({ preset: "context-guard", guard: { pin_task: true } });
		const { messages } = await guard(longConversation, { policy: pinned, contextWindow: 8_193 });
		expect(messages.map((message) => message.content)).toEqual([
			"You are an agent.",
			"The task.",
			"The newest message.",
		]);
	});

	it("drops the task in `context-guard`", async () => {
		const { messages } = await guard(longConversation, { contextWindow: 8_193 });
		expect(messages.map((message) => message.content)).toEqual(["You are an agent.", "The newest message."]);
	});
});

describe("The budget (docs/strategies.md#budget)", () => {
	const conversation = openaiMessages(user("Hello"));

	it("budget = context window by model name − reserve_tokens", async () => {
		const { report } = await guard(conversation, { model: "gpt-4o" });
		expect(report).toMatchObject({ context_window: 128_000, budget_tokens: 128_000 - 8_192, reserve_tokens: 8_192 });
	});

	it("uses the model in the request body", async () => {
		const { report } = await guardConversation({ conversation: { model: "gpt-4o", messages: conversation }, policy });
		expect(report.context_window).toBe(128_000);
	});

	it("uses `context_window` before the model's own", async () => {
		const { report } = await guard(conversation, { model: "gpt-4o", contextWindow: 32_000 });
		expect(report).toMatchObject({ context_window: 32_000, budget_tokens: 32_000 - 8_192 });
	});

	it("uses the override before the model's own", async () => {
		const overridden = policyOf({ preset: "context-guard", guard: { context_window_override: 20_000 } });
		const { report } = await guardConversation({ conversation, policy: overridden, model: "gpt-4o" });
		expect(report.context_window).toBe(20_000);
	});

	it("uses reserve_tokens of the call before the policy's", async () => {
		const { report } = await guard(conversation, { contextWindow: 10_000, reserveTokens: 1_000 });
		expect(report).toMatchObject({ reserve_tokens: 1_000, budget_tokens: 9_000 });
	});

	it("the preset assumes 200 000 tokens for an unknown model, with a note (docs/strategies.md#unknown-window)", async () => {
		const log: string[] = [];
		const { report } = await guard(conversation, {
			model: "no-such-model",
			log: ({ level, message }) => log.push(`${level} ${message}`),
		});
		expect(report).toMatchObject({ context_window: 200_000, budget_tokens: 200_000 - 8_192, fits: true });
		const note = expect.stringMatching(/"no-such-model", so 200000 tokens are assumed, as guard\.unknown_window/);
		expect(report.notes).toContainEqual(note);
		expect(log).toEqual([expect.stringMatching(/^warning Context guard: .*200000 tokens are assumed/)]);
		expect((await guard(conversation)).report.context_window).toBe(200_000);
		const known = await guard(conversation, { model: "gpt-4o" });
		expect(known.report.notes).not.toContainEqual(expect.stringContaining("assumed"));
	});

	it.each(["observation-masking", "balanced"] as const)("an unknown model is an error in `%s`", async (preset) => {
		for (const model of ["no-such-model", undefined]) {
			const unknown = guardConversation({ conversation, policy: policyOf({ preset }), model });
			await expect(unknown).rejects.toMatchObject({ code: "context_window_unknown" });
		}
	});

	it.each([0, -5, 1.5, Number.NaN])("refuses a context window of %d", async (contextWindow) => {
		const refused = guardConversation({ conversation, policy, contextWindow });
		await expect(refused).rejects.toMatchObject({ code: "invalid_argument" });
	});
});
