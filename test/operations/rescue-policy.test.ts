import { describe, expect, it } from "vitest";
import { measure } from "../../src/engine/conversation/measure.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { tokenMeter } from "../../src/operations/count.ts";
import { rescueConversation } from "../../src/operations/rescue.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const conversation = agentConversation(20);

const rescue = (layer: PolicyLayer, contextWindow: number | undefined, target = 0.5, given: unknown = conversation) =>
	rescueConversation({ conversation: given, policy: policyOf(layer), contextWindow, target });

describe("a rescue under a policy that", () => {
	it.each<[string, PolicyLayer]>([
		["masks nothing", { mask: { enabled: false } }],
		["has the guard turned off", { guard: { enabled: false } }],
		["has an empty ladder", { guard: { ladder: [] } }],
		[
			"keeps the last of each tool, by another selection, rarely",
			{
				mask: { keep_last_k_per_tool: 50, selection: "use", cadence: "stride", stride_turns: 50 },
			},
		],
		["reserves nearly all of the window", { guard: { reserve_tokens: 15_000 } }],
		["aims lower", { guard: { target_ratio: 0.1, budget_ratio: 0.3 } }],
	])("%s masks all the same, within its share of the window", async (_, layer) => {
		const { report } = await rescue(layer, 16_000);
		expect(report).toMatchObject({ fits: true, budget_tokens: 8_000, reserve_tokens: 0, dropped_messages: 0 });
		expect(report.masked_tool_results).toBeGreaterThan(5);
		expect(report.tokens.after).toBeGreaterThan(2_000);
	});

	it("keeps a long window masks more than it says only where that is needed", async () => {
		const layer: PolicyLayer = { mask: { window_turns: 12 } };
		const gentle = await rescue(layer, 26_000);
		expect(gentle.report.masked_tool_results).toBe(8);
		const firm = await rescue(layer, 12_000);
		expect(firm.report).toMatchObject({ fits: true, masked_tool_results: 17 });
		const firmer = await rescue({ mask: { window_turns: 2 } }, 8_000);
		expect(firmer.report).toMatchObject({ fits: true, masked_tool_results: 18 });
		const alone = await rescue({ mask: { window_turns: 0 } }, 8_000);
		expect(alone.report).toMatchObject({ fits: true, masked_tool_results: 19 });
	});

	it("keeps errors masks them too before it drops anything", async () => {
		const failed = `Error: no such file\n${outputOf("failed", 60)}`;
		const turns = Array.from({ length: 20 }, (_, turn) => toolTurn(`c${turn}`, failed));
		const given = openaiMessages(user("Go."), turns.flat());
		const { report } = await rescue({ mask: { keep_errors: true } }, 13_000, 0.5, given);
		expect(report).toMatchObject({ fits: true, masked_tool_results: 17, dropped_messages: 0 });
	});

	it("cuts long results cuts them shorter only where that is needed", async () => {
		const large = openaiMessages(user("Go."), toolTurn("a", outputOf("a", 600)), toolTurn("b", outputOf("b", 600)));
		const layer: PolicyLayer = { guard: { max_tool_result_chars: 20_000 }, mask: { window_turns: 8 } };
		const whole = await rescue(layer, 40_000, 0.5, large);
		expect(whole.report).toMatchObject({ fits: true, changed: false, truncated_tool_results: 0 });
		const gentle = await rescue(layer, 17_000, 0.5, large);
		expect(gentle.report).toMatchObject({ fits: true, truncated_tool_results: 2 });
		const mixed = openaiMessages(user("Go."), toolTurn("a", outputOf("a", 300)), toolTurn("b", outputOf("b", 600)));
		for (const [window, truncated_tool_results] of [
			[14_000, 1],
			[8_000, 2],
		] as const) {
			const { report } = await rescue(layer, window, 0.5, mixed);
			expect(report).toMatchObject({ fits: true, truncated_tool_results, masked_tool_results: 0, dropped_messages: 0 });
		}
	});

	it("has an assumed window uses it; another one is needed elsewhere", async () => {
		const assumed = await rescue({ guard: { unknown_window: 16_000 } }, undefined);
		expect(assumed.report).toMatchObject({ context_window: 16_000, budget_tokens: 8_000, fits: true });
		await expect(rescue({ guard: { unknown_window: "leave" } }, undefined)).rejects.toMatchObject({
			code: "context_window_unknown",
		});
	});
});

describe("the recorded usage", () => {
	const session = claudeCodeSession(10)
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
	const withUsage = (place: number, input_tokens: number) =>
		session.map((record, index) =>
			index === place
				? { ...record, message: { ...record.message, usage: { input_tokens, output_tokens: 5 } } }
				: record,
		);

	it("of any call is scaled to the whole session", async () => {
		const policy = policyOf();
		const { meter } = await tokenMeter(policy, "claude-opus-4-5-20251101");
		const { messages, total } = measure(readConversation(session).transcript, meter);
		const before = messages.slice(0, 11).reduce((sum, { tokens }) => sum + tokens, 0);
		const { report } = await rescue({}, undefined, 0.9, withUsage(11, 9_000));
		expect(report).toMatchObject({ method: "calibrated", fits: true });
		expect(report.tokens.before / (9_000 * (total.tokens / before))).toBeCloseTo(1, 2);
	});

	it("of the first message says nothing", async () => {
		const { report } = await rescue({}, undefined, 0.9, withUsage(1, 9_000).slice(1));
		expect(report.method).toBe("estimated");
	});
});
