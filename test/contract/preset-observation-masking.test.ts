import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const policy = policyOf();
const turns = Array.from({ length: 12 }, (_, index) => toolTurn(`call_${index}`, outputOf(`turn ${index}`)));
const conversation = openaiMessages(user("The task."), ...turns);

describe("Preset `observation-masking` (docs/strategies.md)", () => {
	it("is the default", () => {
		expect(policyOf({ preset: "observation-masking" })).toEqual(policy);
		expect(policy.preset).toBe("observation-masking");
	});

	it("mask: window 8 tool turns, keep_errors, French placeholder", async () => {
		const outcome = await maskConversation({ conversation, policy });
		const contents = resultContents(outcome.conversation).map(String);
		expect(contents.map((content) => content.startsWith("[Observation masquée"))).toEqual([
			...Array<boolean>(4).fill(true),
			...Array<boolean>(8).fill(false),
		]);
		expect(policy.mask.keep_errors).toBe(true);
	});

	it("guard: the numbers of docs/strategies.md#configuration, ladder truncate → mask → drop", () => {
		expect(policy.guard).toMatchObject({
			ladder: ["truncate", "mask", "drop"],
			reserve_tokens: 8_192,
			max_tool_result_chars: 50_000,
			truncate_head_chars: 2_000,
			truncate_tail_chars: 2_000,
		});
	});

	it("the ladder stops as soon as it fits: masking is enough, nothing is dropped", async () => {
		const { report } = await guardConversation({ conversation, policy, contextWindow: 8_192 + 6_000 });
		expect(report.steps.map(({ step }) => step)).toEqual(["mask"]);
		expect(report).toMatchObject({ fits: true, masked_tool_results: 4, dropped_messages: 0 });
	});

	it("the ladder continues when masking is not enough", async () => {
		const { report } = await guardConversation({ conversation, policy, contextWindow: 8_192 + 2_000 });
		expect(report.steps.map(({ step }) => step)).toEqual(["mask", "drop"]);
		expect(report.fits).toBe(true);
	});

	it("a placeholder replaces a truncated result", async () => {
		const large = openaiMessages(user("The task."), toolTurn("large", textOfLength(60_000)), ...turns);
		const { report, conversation: after } = await guardConversation({
			conversation: large,
			policy,
			contextWindow: 8_192 + 6_000,
		});
		expect(report.steps.map(({ step }) => step)).toEqual(["truncate", "mask"]);
		expect(report).toMatchObject({ truncated_tool_results: 0, masked_tool_results: 5 });
		expect(resultContents(after)[0]).toContain("chars=60000");
	});

	it("masks nothing while everything fits", async () => {
		const outcome = await guardConversation({ conversation, policy, contextWindow: 1_000_000 });
		expect(outcome.conversation).toBe(conversation);
	});

	it("truncate: the numbers of docs/strategies.md#truncation", () => {
		expect(policy.truncate).toMatchObject({ max_chars: 50_000, head_chars: 2_000, tail_chars: 2_000 });
	});
});
