import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { turnsOf } from "../support/replay-history.ts";

const outputs = Array.from({ length: 60 }, (_, turn) => `output of turn ${turn} has valueOfTurn${turn}. `.repeat(200));

const conversation = turnsOf(outputs);

const policy = policyOf({ preset: "balanced" });

describe("the preset balanced", () => {
	it("masks rarely, never undoes a masking, and reports costs and savings", async () => {
		let before = new Map<string, unknown>();
		let acts = 0;
		let economics: unknown;
		for (let end = 4; end <= conversation.length; end += 2) {
			const { edits, report, error } = await maskConversation({ conversation: conversation.slice(0, end), policy });
			expect(error).toBeUndefined();
			const now = new Map(edits.map(({ path, replacement }) => [JSON.stringify(path), replacement]));
			for (const [path, replacement] of before) expect(now.get(path)).toBe(replacement);
			if (now.size > before.size) acts += 1;
			if (before.size === 0 && now.size > 0) economics = { end, ...report.economics };
			before = now;
		}
		expect(before.size).toBeGreaterThan(30);
		expect(acts).toBeGreaterThan(1);
		expect(acts).toBeLessThan(15);
		expect(economics).toMatchObject({ first_changed_message: 3, calls_to_break_even: expect.any(Number) });
	});

	it("gives the same result whether or not it saw the beginning before", async () => {
		const fresh = await maskConversation({ conversation, policy });
		for (const end of [41, 42, 80, 122]) await maskConversation({ conversation: conversation.slice(0, end), policy });
		const seen = await maskConversation({ conversation, policy });
		expect(seen.edits).toEqual(fresh.edits);
	});

	it("guards with hysteresis: leaves a fitting conversation unchanged, and shrinks others to the target", async () => {
		const fitting = await guardConversation({ conversation, policy, contextWindow: 400_000 });
		expect(fitting.report).toMatchObject({ fits: true, changed: false });
		let cuts = 0;
		let last = 0;
		for (let end = 40; end <= conversation.length; end += 2) {
			const { report } = await guardConversation({
				conversation: conversation.slice(0, end),
				policy,
				contextWindow: 40_000,
				reserveTokens: 0,
			});
			expect(report.fits).toBe(true);
			const changed = report.masked_tool_results + report.dropped_messages;
			if (changed !== last) cuts += 1;
			last = changed;
		}
		expect(cuts).toBeGreaterThan(1);
		expect(cuts).toBeLessThan(15);
	});
});
