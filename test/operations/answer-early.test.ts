import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ guard: { reserve_tokens: 0 } });

const smallTurns = (count: number) =>
	openaiMessages(
		user("Go."),
		Array.from({ length: count }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`, 400), "cat")).flat(),
	);

const large = smallTurns(70);

describe("a conversation of over a million characters", () => {
	it("that fits even by its maximum token count is not counted", async () => {
		const request = { conversation: large, policy, contextWindow: 2_000_000 };
		const { report, edits } = await guardConversation(request);
		expect(report.chars.after).toBeGreaterThan(1_000_000);
		expect(report).toMatchObject({ method: "bounded", fits: true, shortfall_tokens: 0 });
		expect(edits).toEqual([]);
		const always = policyOf({ guard: { reserve_tokens: 0 }, tokens: { count: "always" } });
		const { report: counted } = await guardConversation({ ...request, policy: always });
		expect(counted).toMatchObject({ method: "exact", fits: true });
		expect(report.band.low).toBeLessThanOrEqual(counted.tokens.after);
		expect(report.band.high).toBeGreaterThanOrEqual(counted.tokens.after);
		expect(report.tokens).toEqual({ before: report.band.high, after: report.band.high });
	});

	it("that is over even by its minimum token count is not counted when the ladder is empty", async () => {
		const empty = policyOf({ guard: { reserve_tokens: 0, ladder: [] } });
		const request = { conversation: large, policy: empty, contextWindow: 10_000 };
		expect((await guardConversation(request)).report).toMatchObject({ method: "bounded", fits: false });
		const { report } = await guardConversation({ ...request, contextWindow: 300_000 });
		expect(report.method).toBe("exact");
	});

	it("is counted when a result must be cut or when usage calibrates", async () => {
		const huge = [...large, ...openaiMessages(toolTurn("huge", outputOf("huge", 3_000)))];
		const request = { conversation: huge, policy, contextWindow: 3_000_000 };
		expect((await guardConversation(request)).report).toMatchObject({ method: "exact", truncated_tool_results: 1 });
		const usage = { input_tokens: 300_000 };
		const calibrated = await guardConversation({ ...request, conversation: large, usage });
		expect(calibrated.report.method).toBe("calibrated");
	});

	it("is counted below that size", async () => {
		const request = { conversation: smallTurns(20), policy, contextWindow: 2_000_000 };
		expect((await guardConversation(request)).report.method).toBe("exact");
	});
});

const seen = { bounded: 0, fitting: 0, over: 0, counted: 0, edits: 0 };

const guards = fc.record({
	ladder: fc.constantFrom<("truncate" | "mask" | "drop")[]>([], ["truncate", "mask", "drop"], ["drop"]),
	truncate_when: fc.constantFrom("always", "over_budget"),
	max_tool_result_chars: fc.constantFrom(300, 50_000),
	reserve_tokens: fc.constant(0),
});

const windows = fc.oneof(fc.integer({ min: 10, max: 2_000 }), fc.integer({ min: 2_000, max: 200_000 }));

const models = fc.constantFrom("gpt-4o", "gpt-4", "claude-opus-4-8", "llama-3.3-70b", "nobody-1");

test.prop([conversations, guards, windows, models], { numRuns: 600 })(
	"gets the same decision as with a count",
	async ({ document }, guard, contextWindow, model) => {
		const answer = (count: "auto" | "always") => {
			const counting = policyOf({ guard, tokens: { count } });
			const request = { conversation: document, policy: counting, model, contextWindow, largeFrom: 0 };
			return guardConversation(request);
		};
		const [auto, always] = [await answer("auto"), await answer("always")];
		expect(auto.report.fits).toBe(always.report.fits);
		expect(auto.edits).toEqual(always.edits);
		expect(auto.conversation).toEqual(always.conversation);
		expect(auto.report.band.low).toBeLessThanOrEqual(always.report.band.low);
		expect(auto.report.band.high).toBeGreaterThanOrEqual(always.report.band.high);
		expect(always.report.method).not.toBe("bounded");
		seen.edits += auto.edits.length;
		if (auto.report.method !== "bounded") seen.counted += 1;
		else {
			seen.bounded += 1;
			seen[auto.report.fits ? "fitting" : "over"] += 1;
		}
	},
);

afterAll(() => {
	expect(seen.fitting).toBeGreaterThan(60);
	expect(seen.over).toBeGreaterThan(10);
	expect(seen.counted).toBeGreaterThan(100);
	expect(seen.edits).toBeGreaterThan(300);
});
