import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import type { LogEvent } from "../../src/log.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user } from "../support/script.ts";

async function guard(conversation: unknown, layer: PolicyLayer, contextWindow = 1_000_000) {
	const events: LogEvent[] = [];
	const policy = policyOf({ preset: "context-guard", ...layer });
	const outcome = await guardConversation({ conversation, policy, contextWindow, log: (event) => events.push(event) });
	return { ...outcome, events };
}

describe("Every threshold is in the policy (docs/strategies.md#configuration)", () => {
	const conversation = openaiMessages(user("Read."), toolTurn("call_1", textOfLength(10_000)));

	it("the preset has the numbers 50 000, 8 192, 2 000 and 2 000", () => {
		const { guard, truncate } = policyOf({ preset: "context-guard" });
		expect(guard).toMatchObject({
			max_tool_result_chars: 50_000,
			reserve_tokens: 8_192,
			truncate_head_chars: 2_000,
			truncate_tail_chars: 2_000,
			context_window_override: null,
		});
		expect(truncate).toMatchObject({ max_chars: 50_000, head_chars: 2_000, tail_chars: 2_000 });
	});

	it("maxToolResultChars, truncateHeadChars, truncateTailChars", async () => {
		const limits = { max_tool_result_chars: 9_999, truncate_head_chars: 300, truncate_tail_chars: 100 };
		const outcome = await guard(conversation, { guard: limits });
		const text = textOfLength(10_000);
		expect(resultContents(outcome.conversation)).toEqual([
			`${text.slice(0, 300)}\n\n... [9600 characters truncated] ...\n\n${text.slice(-100)}`,
		]);
		const raised = await guard(conversation, { guard: { ...limits, max_tool_result_chars: 10_000 } });
		expect(raised.conversation).toBe(conversation);
	});

	it("reserveTokens and contextWindowOverride", async () => {
		const layer = { guard: { reserve_tokens: 500, context_window_override: 2_000 } };
		const policy = policyOf({ preset: "context-guard", ...layer });
		expect((await guardConversation({ conversation, policy })).report.budget_tokens).toBe(1_500);
	});

	it("enabled: false changes nothing and reports whether it fits", async () => {
		const off = { guard: { enabled: false, max_tool_result_chars: 5_000 } };
		for (const [contextWindow, fits] of [
			[9_000, false],
			[1_000_000, true],
		] as const) {
			const outcome = await guard(conversation, off, contextWindow);
			expect(outcome.conversation).toBe(conversation);
			expect(outcome.events).toEqual([]);
			expect(outcome.report.fits).toBe(fits);
		}
		expect(policyOf({ preset: "context-guard" }).guard.enabled).toBe(true);
	});

	it("an empty ladder only measures", async () => {
		const outcome = await guard(conversation, { guard: { ladder: [] } }, 9_000);
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report.fits).toBe(false);
	});

	it("marker_template", async () => {
		const limits = { max_tool_result_chars: 5_000, marker_template: "<{omitted_chars} of {original_chars}>" };
		const outcome = await guard(conversation, { guard: limits });
		expect(resultContents(outcome.conversation)[0]).toContain("<6000 of 10000>");
	});
});

describe("Every truncation and drop is logged at `warning` with the tool's name and sizes (docs/strategies.md#log-lines)", () => {
	it('Context guard: truncated tool result for "…" (… → … chars)', async () => {
		const conversation = openaiMessages(
			user("Read."),
			toolTurn("call_1", textOfLength(60_000), "read_file"),
			toolTurn("call_2", textOfLength(70_000), "fetch"),
		);
		const { events, conversation: after } = await guard(conversation, {});
		const sizes = resultContents(after).map((content) => String(content).length);
		expect(events).toEqual([
			{
				level: "warning",
				message: `Context guard: truncated tool result for "read_file" (60000 → ${sizes[0]} chars)`,
				data: { event: "truncated", tool: "read_file", chars_before: 60_000, chars_after: sizes[0] },
			},
			{
				level: "warning",
				message: `Context guard: truncated tool result for "fetch" (70000 → ${sizes[1]} chars)`,
				data: { event: "truncated", tool: "fetch", chars_before: 70_000, chars_after: sizes[1] },
			},
		]);
	});

	it("Context guard: dropped … old messages (estimated … tokens)", async () => {
		const conversation = openaiMessages(user(outputOf("task")), toolTurn("a", outputOf("a")), assistant("Newest"));
		const { events, report } = await guard(conversation, {}, 8_192 + 50);
		const tokens = report.tokens.before - report.tokens.after;
		expect(events).toEqual([
			{
				level: "warning",
				message: `Context guard: dropped 3 old messages (estimated ${tokens} tokens)`,
				data: { event: "dropped", messages: 3, tokens },
			},
		]);
	});

	it("a tool's name is untrusted: it cannot break the line", async () => {
		const conversation = openaiMessages(toolTurn("call_1", textOfLength(60_000), 'evil")\nContext guard: [all well]'));
		const { events } = await guard(conversation, {});
		expect(events[0]?.message).not.toContain("\n");
	});

	it("a result of an unknown call is named with the locale's word", async () => {
		const orphan = { role: "tool", tool_call_id: "ghost", content: textOfLength(60_000) };
		const { events } = await guard([orphan], {});
		expect(events[0]?.message).toMatch(/^Context guard: truncated tool result for "unknown" \(60000 → \d+ chars\)$/);
	});

	it("logs nothing when nothing was done", async () => {
		const { events } = await guard(openaiMessages(user("Hello")), {});
		expect(events).toEqual([]);
	});
});
