import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { compact, guard } from "../../src/library.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { assistant, openaiMessages, user } from "../support/script.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

// The token limit and the trimming (docs/strategies.md#context-limit): test/contract/preset-context-trim.test.ts.

const contextWindow = 1_000_000;
const trim: PolicyLayer = { preset: "context-trim" };
const allowed: PolicyLayer = { ...trim, guard: { auto_compact: true } };
const chat = (count: number) =>
	deepFreeze(
		openaiMessages(
			user("The task."),
			...Array.from({ length: count - 1 }, (_, index) =>
				index % 2 ? user(`And ${index}? ${"Go on, please. ".repeat(20)}`) : assistant(`It is ${index}.`),
			),
		),
	);

describe("`max_messages`: `guard_context` reports it and, when allowed, compacts (docs/strategies.md#message-limit)", () => {
	it("the preset compacts at 30 messages, keeps 5, and its limit is 50", () => {
		const { guard: guarded, compaction } = policyOf(trim);
		expect(guarded).toMatchObject({ max_messages: 50, auto_compact: false });
		expect(compaction).toMatchObject({ strategy: "llm-summary", at_messages: 30, keep_last_messages: 5 });
	});

	it("the limit is reached at 50 messages and not at 49", async () => {
		const at = async (count: number) => (await guard(chat(count), { policy: trim, contextWindow })).report;
		expect((await at(50)).max_messages).toEqual({ limit: 50, messages: 50, reached: true });
		expect((await at(49)).max_messages).toEqual({ limit: 50, messages: 49, reached: false });
	});

	it("compacts nothing and asks no model when it is not allowed", async () => {
		const summariser = standInSummariser();
		const conversation = chat(60);
		const outcome = await guard(conversation, { policy: trim, contextWindow, summariser });
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report.compaction).toBeUndefined();
		expect(summariser.requests).toEqual([]);
	});

	it("leaves a summary and the last 5 messages when it is allowed", async () => {
		const summariser = standInSummariser();
		const conversation = chat(50);
		const { conversation: after, report } = await guard(conversation, { policy: allowed, contextWindow, summariser });
		expect(after).toHaveLength(6);
		expect(after.slice(-5)).toEqual(conversation.slice(-5));
		expect(report.compaction).toMatchObject({ strategy: "llm-summary", result: "summarised" });
		expect(report).toMatchObject({ changed: true, fits: true, messages: { before: 50, after: 6 } });
		expect((await guard(chat(49), { policy: allowed, contextWindow, summariser })).report.compaction).toBeUndefined();
	});

	it("continues without compaction when it fails, and reports it", async () => {
		const summariser = standInSummariser(" ");
		const { conversation, report } = await guard(chat(50), { policy: allowed, contextWindow, summariser });
		expect(conversation).toHaveLength(50);
		expect(report.compaction).toMatchObject({ result: "failed", code: "summary_refused" });
		expect(report.fits).toBe(true);
	});

	it("with only the caller to ask, it changes nothing, and the caller gets the request for the summary", async () => {
		const { conversation, report } = await guard(chat(50), { policy: allowed, contextWindow });
		expect(conversation).toHaveLength(50);
		const { compaction } = report;
		expect(compaction).toMatchObject({
			strategy: "llm-summary",
			result: "summary_requested",
			request: { prompt: expect.stringContaining("The task."), messages: { first: 0, last: 44, count: 45 } },
		});
		if (compaction?.result !== "summary_requested") return;
		const summary = "The user counts, and the assistant confirms each number.";
		const summaryToken = compaction.request?.summary_token;
		const compacted = await compact(conversation, { policy: allowed, summary, summaryToken });
		expect(compacted.conversation).toHaveLength(6);
		expect(compacted.report.summary).toMatchObject({ by: "caller", messages: 45 });
	});

	it("with no model to ask (`none`), the guard hides and drops instead, and reports it", async () => {
		const policy: PolicyLayer = { ...allowed, compaction: { answered_by: ["none"] } };
		const { conversation, report } = await guard(chat(50), { policy, contextWindow: 1_000 });
		expect(conversation.length).toBeLessThan(50);
		expect(report).toMatchObject({ fits: true, compaction: { result: "guarded" } });
	});
});

describe("`guard_context` accepts the last response (docs/compaction.md#cut-answers)", () => {
	const followUp =
		"[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.";
	const conversation = deepFreeze(agentConversation(3).concat(openaiMessages(user("Et alors ?"))));
	const answered = (message: object, finish_reason = "length") => ({ choices: [{ index: 0, finish_reason, message }] });
	const call = (json: string) => ({ id: "c", type: "function", function: { name: "ls", arguments: json } });
	const guarded = async (lastResponse: unknown) => guard(conversation, { policy: trim, contextWindow, lastResponse });

	it("appends the partial answer and the request when it was truncated without a usable tool call", async () => {
		const outcome = await guarded(answered({ role: "assistant", content: "Une longue rép" }));
		expect(outcome.conversation).toEqual([
			...conversation,
			{ role: "assistant", content: "Une longue rép" },
			{ role: "user", content: followUp },
		]);
		expect(outcome.report.follow_up).toEqual({ appended: true, broken_calls: 0 });
		expect(outcome.edits.map(({ kind, reason }) => `${kind} ${reason}`)).toEqual(["insert append", "insert append"]);
	});

	it("reports a tool call with broken JSON arguments and never passes it on", async () => {
		const message = { role: "assistant", content: "Je regarde.", tool_calls: [call('{"path": "a.t')] };
		const outcome = await guarded(answered(message));
		expect(outcome.report.follow_up).toEqual({ appended: true, broken_calls: 1 });
		expect(JSON.stringify(outcome.conversation)).not.toContain('a.t\\"');
		expect(outcome.conversation.slice(-2)).toEqual([
			{ role: "assistant", content: "Je regarde." },
			{ role: "user", content: followUp },
		]);
	});

	it("appends nothing when a tool call can be run", async () => {
		const outcome = await guarded(
			answered({ role: "assistant", content: null, tool_calls: [call('{"path": "a.txt"}')] }),
		);
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report.follow_up).toEqual({ appended: false, why: "has_usable_call", broken_calls: 0 });
	});

	it("ignores a complete answer", async () => {
		const outcome = await guarded(answered({ role: "assistant", content: "Voilà." }, "stop"));
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report.follow_up).toMatchObject({ appended: false, why: "not_cut" });
	});
});
