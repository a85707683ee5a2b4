import { describe, expect, it } from "vitest";
import { exactScale, measure } from "../../../src/engine/conversation/measure.ts";
import type { ReplaceEdit } from "../../../src/engine/conversation/plan.ts";
import { economicsOf, notesOnRoles, reportOf } from "../../../src/engine/conversation/report.ts";
import { planDrop } from "../../../src/engine/guarding/drop.ts";
import { planTruncate } from "../../../src/engine/truncation/truncate-results.ts";
import { policyOf } from "../../support/policy-of.ts";
import { roughCount } from "../../support/rough-count.ts";
import { outputOf, textOfLength } from "../../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";
import { messageOf, transcriptFrom, transcriptOf } from "../../support/transcripts.ts";

const parts = [
	{ type: "text", text: textOfLength(900) },
	{ type: "text", text: textOfLength(800) },
];

const transcript = transcriptFrom({
	tools: [{ name: "ls" }],
	messages: openaiMessages(user("Go."), toolTurn("a", outputOf("a")), toolTurn("b", parts), user("Well?")),
});

const measured = measure(transcript, { countTokens: roughCount, messageOverhead: 4 });

describe("reportOf", () => {
	it("an empty plan changes nothing", () => {
		const report = reportOf(transcript, measured, []);
		const characters = outputOf("a").length + 1_700;
		expect(report).toMatchObject({
			format: "openai-chat",
			changed: false,
			messages: { before: 6, after: 6 },
			tool_turns: 2,
			tool_results: 2,
			tool_chars: { before: characters, after: characters },
		});
		expect(report.tokens.before).toBe(measured.total.tokens);
		expect(report.tokens.after).toBe(report.tokens.before);
		expect(report.chars.after).toBe(report.chars.before);
	});

	it("counts a result with two cut texts once", () => {
		const limits = { maxChars: 100, headChars: 10, tailChars: 10, marker: "<cut>" };
		const plan = planTruncate({ transcript, limits, countTokens: roughCount });
		const report = reportOf(transcript, measured, plan);
		expect(plan).toHaveLength(3);
		expect(report).toMatchObject({ changed: true, truncated_tool_results: 2, tool_chars: { after: 75 } });
		expect(report.chars.before - report.chars.after).toBe(report.tool_chars.before - 75);
	});

	it("counts dropped messages, and their results as removed", () => {
		const { guard } = policyOf({ guard: { pin_task: false } });
		const { edits: plan } = planDrop({
			transcript,
			policy: guard,
			measurement: measured,
			fits: () => false,
		});
		const report = reportOf(transcript, measured, plan);
		expect(report).toMatchObject({
			dropped_messages: 5,
			messages: { before: 6, after: 1 },
			tool_chars: { after: 0 },
			chars: { after: "Well?".length + '[{"name":"ls"}]'.length },
		});
		expect(report.tokens.after).toBe(4 + roughCount("Well?") + roughCount('[{"name":"ls"}]'));
	});
});

const prices = { input: 1, cache_read: 0.1, cache_write: 1.25, output: 5 };

const size = (tokens: number) => ({ chars: 4 * tokens, tokens });

const messages = [100, 1_000, 50, 800, 50].map(size);

const measurement = { messages, surroundingTokens: 200, total: size(2_200) };

const edit = (message: number, before: number, after: number): ReplaceEdit => ({
	kind: "replace",
	reason: "mask",
	path: [message],
	message,
	replacement: "",
	before: size(before),
	after: size(after),
});

describe("economicsOf", () => {
	it("reports kept, rewritten and saved tokens, and when the edits have paid", () => {
		const plan = [edit(1, 1_000, 20), edit(3, 800, 20)];
		expect(economicsOf(plan, { measurement, prices, scale: exactScale })).toEqual({
			first_changed_message: 1,
			prefix_kept_tokens: 300,
			rewritten_tokens: 140,
			saved_tokens_per_call: 1_760,
			// 140 × 1.15 = 161, at 176 a call.
			calls_to_break_even: 1,
		});
		expect(economicsOf([edit(1, 1_000, 980)], { measurement, prices, scale: exactScale })).toMatchObject({
			rewritten_tokens: 1_880,
			calls_to_break_even: 1_081,
		});
	});

	it("is empty for a plan that changes nothing sent", () => {
		const none = { first_changed_message: null, saved_tokens_per_call: 0, calls_to_break_even: null };
		const context = { measurement, prices, scale: exactScale };
		expect(economicsOf([], context)).toMatchObject({ ...none, prefix_kept_tokens: 2_200, rewritten_tokens: 0 });
		expect(economicsOf([{ ...edit(1, 1_000, 0), unsent: true }], context)).toMatchObject(none);
	});

	it("costs nothing when cache writes cost as much as reads, and never pays without savings", () => {
		const flat = { ...prices, cache_read: 1, cache_write: 1 };
		const context = { measurement, scale: exactScale };
		expect(economicsOf([edit(1, 100, 20)], { ...context, prices: flat }).calls_to_break_even).toBe(0);
		expect(economicsOf([edit(1, 20, 20)], { ...context, prices }).calls_to_break_even).toBeNull();
	});
});

describe("notesOnRoles", () => {
	const notes = (...roles: unknown[]) => {
		const document = roles.map((role) => ({ role, content: "x" }));
		const other = messageOf({ role: "other" });
		return notesOnRoles(document, transcriptOf(...document.map(() => other)));
	};

	it("names roles that no format defines, with their messages", () => {
		expect(notes("critic", "judge", "critic")).toEqual([expect.stringContaining(': "critic" (2), "judge" (1). These')]);
		expect(notes("so much that it could be text")).toEqual([
			expect.stringContaining(": a role that is not a plain word (1)."),
		]);
	});

	it("lists eight of them", () => {
		const many = Array.from({ length: 11 }, (_, index) => `role${index}`);
		expect(notes(...many)).toEqual([expect.stringContaining('"role7" (1), 3 more. These')]);
		expect(notes(...many.slice(0, 8))).toEqual([expect.stringContaining('"role7" (1). These')]);
	});

	it("says nothing on messages without a role", () => {
		expect(notes(7, undefined)).toEqual([]);
	});
});
