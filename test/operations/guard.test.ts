import { describe, expect, it } from "vitest";
import type { LogEvent } from "../../src/log.ts";
import { guardConversation, largestConsumers } from "../../src/operations/guard.ts";
import { guardWithCompaction } from "../../src/operations/guard-with-compaction.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

const sizes = (...tokens: number[]) => tokens.map((count) => ({ chars: count * 4, tokens: count }));

describe("largestConsumers", () => {
	const transcript = transcriptOf(
		messageOf({ role: "user" }),
		messageOf({
			calls: [
				{ id: "a", name: "ls]\n" },
				{ id: "b", name: "cat" },
				{ id: "c", name: "cat" },
			],
		}),
		messageOf({ role: "tool", results: [resultOf("b"), resultOf("a"), resultOf("c")] }),
		messageOf({ role: "tool", results: [resultOf("ghost")] }),
	);

	it("lists the largest messages first, with role, size and the tools of their results", () => {
		expect(largestConsumers(transcript, { sizes: sizes(5, 1, 90, 7), limit: 3 })).toEqual([
			{ message: 2, role: "tool", tools: ["cat", "ls"], tokens: 90, chars: 360 },
			{ message: 3, role: "tool", tools: [], tokens: 7, chars: 28 },
			{ message: 0, role: "user", tools: [], tokens: 5, chars: 20 },
		]);
	});

	it("puts the older first when sizes are equal", () => {
		expect(largestConsumers(transcript, { sizes: sizes(3, 3, 3, 3) }).map(({ message }) => message)).toEqual([
			0, 1, 2, 3,
		]);
	});

	it("lists five by default", () => {
		const many = transcriptOf(...Array.from({ length: 9 }, () => messageOf()));
		expect(largestConsumers(many, { sizes: sizes(1, 2, 3, 4, 5, 6, 7, 8, 9) }).map(({ tokens }) => tokens)).toEqual([
			9, 8, 7, 6, 5,
		]);
	});
});

const policy = policyOf();

const messages = openaiMessages(
	user("Go."),
	toolTurn("large", textOfLength(60_000), "fetch"),
	...Array.from({ length: 9 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`), "cat")),
);

describe("guardConversation", () => {
	it("reports window, reserve, budget, steps and the largest messages", async () => {
		const { report } = await guardConversation({ conversation: messages, policy, contextWindow: 8_192 + 6_500 });
		expect(report).toMatchObject({
			context_window: 14_692,
			reserve_tokens: 8_192,
			budget_tokens: 6_500,
			shortfall_tokens: 0,
			fits: true,
			encoding: "o200k_base",
		});
		expect(report.steps.at(-1)?.tokens_after).toBe(report.tokens.after);
		expect(report.largest).toHaveLength(5);
		expect(report.largest[0]).toMatchObject({ message: 2, role: "tool", tools: ["fetch"], chars: 60_000 });
		expect(report).not.toHaveProperty("max_messages");
	});

	it("lists edits from oldest to newest, whichever step made them", async () => {
		const { edits } = await guardConversation({ conversation: messages, policy, contextWindow: 8_192 + 1_000 });
		const touched = edits.map(({ message = -1 }) => message);
		expect(new Set(edits.map(({ reason }) => reason)).size).toBeGreaterThan(0);
		expect(touched).toEqual(touched.toSorted((a, b) => a - b));
	});

	it("reports a removal without a replacement", async () => {
		const { edits } = await guardConversation({ conversation: messages, policy, contextWindow: 8_193 });
		expect(edits[0]).toMatchObject({
			kind: "remove",
			path: "/1",
			reason: "drop",
			message: 1,
			before: { chars: expect.any(Number), tokens: expect.any(Number) },
			after: { chars: 0, tokens: 0 },
		});
		expect(edits[0]).not.toHaveProperty("replacement");
	});

	it("counts with the encoding of the call's model, before the body's", async () => {
		const conversation = { model: "gpt-4o", messages };
		const { report } = await guardConversation({ conversation, policy, model: "gpt-4", reserveTokens: 100 });
		expect(report).toMatchObject({ encoding: "cl100k_base", context_window: 8_192 });
	});

	it("uses the policy's model when neither call nor body names one", async () => {
		const named = policyOf({ guard: { model: "gpt-4" } });
		const { report } = await guardConversation({ conversation: messages, policy: named, reserveTokens: 100 });
		expect(report).toMatchObject({ encoding: "cl100k_base", context_window: 8_192 });
	});

	it.each([
		[
			"a reserve as large as the window",
			{},
			{ model: "gpt-4" },
			"The reserve (8192) is as large as the window (8192).",
		],
		[
			"a larger reserve",
			{},
			{ contextWindow: 100, reserveTokens: 300 },
			"The reserve (300) is larger than the window (100).",
		],
		[
			"a share of a window below one token",
			{ budget_ratio: 0.8, reserve_tokens: 0 },
			{ contextWindow: 1 },
			"guard.budget_ratio (0.8) leaves no tokens of the window (1). Nothing was changed. Set a larger guard.budget_ratio",
		],
	])("refuses %s before it drops anything or asks anybody", async (_what, layer, given, words) => {
		const guarded = guardWithCompaction({
			conversation: messages,
			policy: policyOf({ guard: { ...layer, max_messages: 2, auto_compact: true } }),
			...given,
			compaction: () => {
				throw new Error("Nobody is to be asked.");
			},
		});
		await expect(guarded).rejects.toMatchObject({ code: "no_budget", message: expect.stringContaining(words) });
	});

	it("reports a conversation that does not fit when tools exceed the budget", async () => {
		const tools = [{ name: "ls", description: "word ".repeat(5_000) }];
		const given = { conversation: messages, policy, tools, contextWindow: 9_000 };
		expect((await guardConversation(given)).report).toMatchObject({ fits: false, budget_tokens: 808 });
	});

	it.each([
		["a budget", { contextWindow: 8_192 + 100 }, { fits: false, budget_tokens: 100 }],
		["no budget", { contextWindow: 4_000 }, { fits: false, budget_tokens: 4_000 - 8_192 }],
		["room", { contextWindow: 1_000_000 }, { fits: true, shortfall_tokens: 0 }],
		["no window", {}, { fits: null, context_window: null, budget_tokens: null, shortfall_tokens: 0 }],
	])("disabled, with %s, changes nothing and reports", async (_what, given, told) => {
		const off = policyOf({ guard: { enabled: false, max_messages: 2, auto_compact: true } });
		const compaction = () => Promise.reject(new Error("Nothing is to be compacted."));
		const outcome = await guardWithCompaction({ conversation: messages, policy: off, ...given, compaction });
		expect(outcome.conversation).toBe(messages);
		expect(outcome.edits).toEqual([]);
		expect(outcome.report).toMatchObject({ changed: false, steps: [], ...told });
		expect(outcome.report.largest[0]).toMatchObject({ message: 2 });
		expect(outcome.report.compaction).toBeUndefined();
	});

	it("disabled, appends no follow-up to a truncated answer", async () => {
		const lastResponse = {
			choices: [{ index: 0, finish_reason: "length", message: { role: "assistant", content: "A long ans" } }],
		};
		const off = policyOf({ guard: { enabled: false } });
		const outcome = await guardConversation({
			conversation: messages,
			policy: off,
			contextWindow: 9_000,
			lastResponse,
		});
		expect(outcome.conversation).toBe(messages);
		expect(outcome.error).toBeUndefined();
		expect(outcome.report.follow_up).toEqual({ appended: false, why: "guard_off", broken_calls: 0 });
	});

	it("makes room for the truncated answer and the follow-up", async () => {
		const content = "A long answer. ".repeat(100);
		const lastResponse = { choices: [{ index: 0, finish_reason: "length", message: { role: "assistant", content } }] };
		const given = { conversation: messages, policy, contextWindow: 8_192 + 2_500 };
		const outcome = await guardConversation({ ...given, lastResponse });
		expect(outcome.report).toMatchObject({ fits: true, follow_up: { appended: true } });
		expect(outcome.conversation).toHaveLength(outcome.report.messages.after);
		expect((outcome.conversation as unknown[]).length).toBeLessThan(messages.length);
	});

	it("keeps people's words of dropped messages if the policy says so", async () => {
		const rule = "Never touch the folder legacy.";
		const conversation = messages.toSpliced(5, 0, ...openaiMessages(user(rule)));
		const guarded = (keep_user_text: boolean | "summaries") =>
			guardConversation({
				conversation,
				policy: policyOf({ guard: { ladder: ["drop"] }, compaction: { keep_user_text } }),
				contextWindow: 8_192 + 1_000,
			});
		for (const [keeps, isKept] of [
			[true, true],
			["summaries", false],
			[false, false],
		] as const) {
			const { conversation: after, report } = await guarded(keeps);
			expect(report).toMatchObject({ fits: true, changed: true });
			expect([keeps, JSON.stringify(after).includes(rule)]).toEqual([keeps, isKept]);
		}
	});

	it("leaves a conversation unchanged without a known window if the policy says so, and logs that", async () => {
		const events: LogEvent[] = [];
		const left = policyOf({ guard: { unknown_window: "leave" } });
		const outcome = await guardConversation({ conversation: messages, policy: left, log: (one) => events.push(one) });
		expect(outcome.conversation).toBe(messages);
		expect(outcome.report).toMatchObject({ fits: null, budget_tokens: null });
		const [note = ""] = outcome.report.notes;
		expect(events).toEqual([
			{ level: "warning", message: `Context guard: ${note}`, data: { event: "window_unknown" } },
		]);
	});

	it("never changes the given policy", async () => {
		const text = JSON.stringify(policy);
		await guardConversation({ conversation: messages, policy, contextWindow: 9_000, reserveTokens: 5 });
		expect(JSON.stringify(policy)).toBe(text);
	});

	it("guarding twice equals guarding once when it fits", async () => {
		for (const contextWindow of [8_192 + 6_500, 8_192 + 2_000, 1_000_000]) {
			const once = await guardConversation({ conversation: messages, policy, contextWindow });
			const twice = await guardConversation({ conversation: once.conversation, policy, contextWindow });
			expect(once.report.fits).toBe(true);
			expect(twice.conversation).toBe(once.conversation);
		}
	});

	it("uses the window of the model's family, with a note, when its own is unknown", async () => {
		const { report } = await guardConversation({
			conversation: [{ role: "user", content: "Hello" }],
			policy: policyOf({}),
			model: "gemini-3.1-pro-preview",
		});
		expect(report).toMatchObject({ fits: true, context_window: 1_048_576 });
		expect(report.notes).toContainEqual(
			expect.stringMatching(
				/^No context window is known for "gemini-3\.1-pro-preview", so the window of gemini-3-pro-preview/,
			),
		);
	});

	it("`context_window_unknown` names the options to set", async () => {
		await expect(guardConversation({ conversation: messages, policy })).rejects.toThrow(
			/give `context_window` in tokens, name a `model`/,
		);
		const long = `${"m".repeat(500)}`;
		const refused = guardConversation({ conversation: messages, policy, model: long });
		await expect(refused).rejects.toThrow(new RegExp(`"${"m".repeat(80)}"`));
	});
});
