import { describe, expect, it } from "vitest";
import type { CompactionStrategy } from "../../src/engine/compaction/strategy.ts";
import { frameSummary } from "../../src/engine/compaction/summary.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import type { CompactRequest } from "../../src/operations/compaction-request.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, calls, openaiMessages, results, toolTurn, user } from "../support/script.ts";

const countTokens = await loadCounter("o200k_base");

const conversation = openaiMessages(
	user("Go."),
	toolTurn("a", outputOf("a", 60)),
	user("Never touch legacy."),
	toolTurn("b", outputOf("b", 60)),
	assistant("Done."),
);

const compact = (layer: PolicyLayer = {}, more: Partial<CompactRequest> = {}) =>
	compactConversation({
		conversation,
		policy: policyOf({ locale: "en", ...layer }),
		strategy: { kind: "built_in", name: "llm-summary" },
		answer: { kind: "given", summary: "## Task\nRead on." },
		force: true,
		...more,
	});

const own = (change: (history: readonly never[]) => unknown) => ({
	strategy: {
		kind: "external",
		name: "own",
		strategy: { compact: ({ history }) => change(history as never) } as CompactionStrategy,
	} as const,
	answer: { kind: "none" } as const,
});

describe("a strategy of the user", () => {
	const withoutWords = own((history) => [...history.slice(0, 3), ...history.slice(4)]);

	it("may leave out people's words only where the policy does not keep all of them", async () => {
		const keeping = await compact({ compaction: { keep_user_text: true } }, withoutWords);
		expect(keeping.error?.code).toBe("strategy_failed");
		expect(keeping.conversation).toBe(conversation);
		for (const keep_user_text of [false, "summaries"] as const) {
			const { error, report } = await compact({ compaction: { keep_user_text } }, withoutWords);
			expect(error).toBeUndefined();
			expect(report).toMatchObject({ result: "rewritten", strategy: "own" });
		}
	});

	it("keeps a record of a session in its place under its id", async () => {
		const session = claudeCodeSession(4)
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		const short = (record: (typeof session)[number]) => ({
			...record,
			message: { ...record.message, content: [{ ...record.message.content[0], content: "Cut." }] },
		});
		const change = (history: readonly never[]) =>
			history.map((record, index) => (index === 2 ? short(record) : record));
		const outcome = await compact({}, { ...own(change), conversation: session });
		expect(outcome.error).toBeUndefined();
		expect(outcome.conversation).toEqual(change(session as never));
	});

	it("gets the window, the reserve and the tokens", async () => {
		const given: unknown[] = [];
		const strategy: CompactionStrategy = {
			compact(context) {
				given.push([context.format, context.max_context_size, context.reserved_context_size, context.token_count]);
				return null;
			},
		};
		const external = { kind: "external", name: "own", strategy } as const;
		const more = { strategy: external, answer: { kind: "none" } } as const;
		const { report } = await compact({}, { ...more, contextWindow: 9_000, reserveTokens: 70 });
		await compact({ guard: { reserve_tokens: 80 } }, more);
		expect(given).toEqual([
			["openai-chat", 9_000, 70, report.tokens.before],
			["openai-chat", Number.POSITIVE_INFINITY, 80, report.tokens.before],
		]);
		expect(report).toMatchObject({ result: "unchanged", context_window: 9_000, reserve_tokens: 70 });
	});

	it("that throws is named with the kind of its error", async () => {
		const throwing = (error: unknown) =>
			own(() => {
				throw error;
			});
		await expect(compact({}, throwing(new TypeError("secret")))).rejects.toMatchObject({
			code: "strategy_failed",
			message: expect.stringMatching(/"own" failed.* It threw TypeError\.$/),
			cause: expect.any(TypeError),
		});
		await expect(compact({}, throwing("secret"))).rejects.toThrow(/It threw a string\.$/);
	});
});

describe("an assumed window", () => {
	it("is noted in the report of a compaction, and of the guard in its place", async () => {
		const assumed = { guard: { unknown_window: 16_000 } } as const;
		const { report } = await compact(assumed);
		expect(report.context_window).toBe(16_000);
		expect(report.notes.join()).toContain("so 16000 tokens are assumed");
		const guarded = await compact(assumed, { answer: { kind: "none" } });
		expect(guarded.report.notes.join()).toContain("so 16000 tokens are assumed");
		expect((await compact({}, { contextWindow: 16_000 })).report.notes.join()).not.toContain("assumed");
	});
});

describe("a summary from the caller", () => {
	it("has to be shorter, with its frame, than the messages that it replaces", async () => {
		const plain = await compact();
		const policy = policyOf();
		const frame = countTokens(frameSummary({ summary: "", locale: "en", ref: "0".repeat(20), words: [] }));
		const room = (plain.report.summary?.tokens.before ?? 0) - frame - policy.tokens.message_overhead;
		const summaryOf = (tokens: number) => ({ kind: "given", summary: `word${" word".repeat(tokens - 1)}` }) as const;
		expect(countTokens(summaryOf(room).summary)).toBe(room);
		await expect(compact({}, { answer: summaryOf(room) })).rejects.toMatchObject({ code: "summary_refused" });
		const { report } = await compact({}, { answer: summaryOf(room - 1) });
		expect(report.result).toBe("summarised");
	});

	it("answers a request on interleaved calls, and is stale for a conversation without messages to replace", async () => {
		const mixed = openaiMessages(
			user("Go."),
			calls({ id: "a", name: "read_file" }),
			calls({ id: "b", name: "read_file" }),
			results({ id: "b", content: outputOf("b", 40) }),
			results({ id: "a", content: outputOf("a", 40) }),
			toolTurn("c", outputOf("c", 40)),
			user("And now?"),
		);
		const layer: PolicyLayer = { compaction: { keep_last_messages: 1 } };
		const asked = await compact(layer, { conversation: mixed, answer: { kind: "caller" } });
		const token = asked.request?.summary_token ?? "";
		expect(token).toMatch(/^1-6-[0-9a-f]{12}$/);
		const answer = { kind: "given", summary: "Read both.", token } as const;
		const done = await compact(layer, { conversation: mixed, answer });
		expect(done.report).toMatchObject({ result: "summarised", summary: { messages: 6 } });
		for (const without of [openaiMessages(user("Go.")), openaiMessages(user("Go."), assistant("No."))]) {
			const stale = compact(layer, { conversation: without, answer });
			await expect(stale).rejects.toMatchObject({ code: "stale_edit" });
		}
	});

	it.each(["", "1-5", "1-5-0123456789a", "x1-5-0123456789ab", "1-5-0123456789abc", "1-5-0123456789AB"])(
		"has its token exactly as it was given: %s",
		async (token) => {
			const request = compact({}, { answer: { kind: "given", summary: "Read.", token } });
			await expect(request).rejects.toMatchObject({ code: "invalid_argument" });
		},
	);
});
