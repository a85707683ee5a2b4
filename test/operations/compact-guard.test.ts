import { describe, expect, it } from "vitest";
import { PalimpsestError, SummariserError } from "../../src/errors.ts";
import { type GuardOptions, guard } from "../../src/library.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const conversation = deepFreeze(agentConversation(12));

const compacting = (options: GuardOptions = {}) =>
	guard(conversation, {
		policy: {
			locale: "en",
			guard: { max_messages: 10, auto_compact: true },
			compaction: { strategy: "llm-summary", keep_last_messages: 8 },
		},
		contextWindow: 12_000,
		summariser: standInSummariser(),
		...options,
	});

describe("the guard with a compaction first", () => {
	it("adds up both rounds in its report", async () => {
		const { report, edits, conversation: after } = await compacting({ contextWindow: 9_500 });
		expect(report.compaction).toMatchObject({ result: "summarised", summary: { by: "stand-in" } });
		expect(report.steps.length).toBeGreaterThan(0);
		expect(report).toMatchObject({ changed: true, fits: true });
		expect(report.messages).toEqual({ before: conversation.length, after: (after as unknown[]).length });
		expect(report.max_messages).toEqual({ limit: 10, messages: conversation.length, reached: true });
		const saved = edits.reduce((sum, { before, after: left }) => sum + before.tokens - left.tokens, 0);
		expect(report.tokens.before - report.tokens.after).toBe(saved);
		const charsOf = (messages: unknown) =>
			resultContents(messages).reduce<number>((sum, one) => sum + String(one).length, 0);
		expect(report.tool_chars).toEqual({ before: charsOf(conversation), after: charsOf(after) });
		expect(report).not.toHaveProperty("dropped_groups");
	});

	it("names messages by their input indexes in both rounds", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const { report } = await compacting({ archive, contextWindow: 9_500 });
		for (const { ref, messages } of report.dropped_groups ?? []) {
			const kept = JSON.parse((await archive.get(ref)).text);
			const isSummary = JSON.stringify(kept).includes("[Summary of");
			expect(isSummary ? [] : kept).toEqual(messages.map((one) => conversation[one]));
		}
		const named = new Set(report.dropped_groups?.flatMap(({ messages }) => messages));
		expect(named.size).toBeGreaterThan(conversation.length - 10);
		for (const { message, role, chars } of report.largest) {
			expect(conversation[message]?.role).toBe(role);
			expect(chars).toBe(String(conversation[message]?.content).length);
		}
		expect(report.largest.length).toBeGreaterThan(2);
	});

	it("names the largest messages of the input, even if compaction hides them", async () => {
		const policy = { locale: "en", compaction: { strategy: "tool-result-hiding", keep_tool_groups: 1 } } as const;
		const options = { contextWindow: 9_500, policy };
		const { report } = await compacting({
			...options,
			policy: { ...policy, guard: { max_messages: 10, auto_compact: true } },
		});
		expect(report.compaction).toMatchObject({ result: "hidden" });
		expect(report.masked_tool_results).toBeGreaterThan(8);
		expect(report.largest).toHaveLength(5);
		expect(report.largest).toEqual((await guard(conversation, options)).report.largest);
	});

	it("applies usage if nothing was compacted", async () => {
		const strategy = { compact: () => null };
		const { report } = await compacting({ strategy, model: "some-model", usage: { input_tokens: 9_000 } });
		expect(report).toMatchObject({ method: "calibrated", compaction: { result: "unchanged" } });
	});

	it("does not apply usage of the complete conversation to the compacted one", async () => {
		const options = { contextWindow: 9_500, model: "some-model" };
		const [plain, told] = [await compacting(options), await compacting({ ...options, usage: { input_tokens: 9_000 } })];
		expect(told.conversation).toEqual(plain.conversation);
		expect(told.report).toEqual(plain.report);
	});

	it.each([
		[
			"the model fails",
			{ summariser: standInSummariser(() => Promise.reject(new SummariserError("timeout", "Slow."))) },
			"timeout",
		],
		["the summary is refused", { summariser: standInSummariser("") }, "summary_refused"],
		["the strategy fails", { strategy: { compact: () => [] } }, "strategy_failed"],
	])("continues without compaction when %s", async (_, options, code) => {
		const { report, conversation: after } = await compacting({ ...options, contextWindow: 9_500 });
		expect(report.compaction).toMatchObject({ result: "failed", code });
		expect(report.fits).toBe(true);
		expect(JSON.stringify(after)).not.toContain("Summary of");
		const plain = await guard(conversation, { policy: { locale: "en" }, contextWindow: 9_500 });
		expect(after).toEqual(plain.conversation);
	});

	it("returns the input and its numbers when the second round cannot be archived", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		let rounds = 0;
		const put: Archive["put"] = (originals) => {
			rounds += 1;
			if (rounds > 1) return Promise.reject(new PalimpsestError("archive_unavailable", "full"));
			return archive.put(originals);
		};
		const outcome = await compacting({ archive: { ...archive, put }, contextWindow: 9_500 });
		expect(rounds).toBeGreaterThan(1);
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.error?.code).toBe("archive_unavailable");
		const { messages, tokens, compaction } = outcome.report;
		expect(messages).toEqual({ before: conversation.length, after: conversation.length });
		expect(tokens.after).toBe(tokens.before);
		expect(compaction).toMatchObject({ result: "failed", code: "archive_unavailable" });
	});

	it("stops on its signal", async () => {
		const controller = new AbortController();
		const summariser = standInSummariser(async () => {
			controller.abort();
			throw controller.signal.reason;
		});
		await expect(compacting({ summariser, signal: controller.signal })).rejects.toThrow(/abort/i);
	});
});
