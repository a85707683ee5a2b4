import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user, writeMessages } from "../support/script.ts";

const policy = policyOf({ preset: "context-guard" });

describe("Preset `context-guard` (docs/strategies.md)", () => {
	it("mask: off", async () => {
		const turns = Array.from({ length: 20 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`)));
		const conversation = openaiMessages(...turns);
		expect((await maskConversation({ conversation, policy })).conversation).toBe(conversation);
	});

	it("guard: window − reserve (8192); ladder truncate → drop", async () => {
		const conversation = openaiMessages(
			user("The task."),
			...Array.from({ length: 20 }, (_, index) => toolTurn(`call_${index}`, outputOf(`${index}`))),
			toolTurn("large", textOfLength(80_000)),
		);
		const { report } = await guardConversation({ conversation, policy, contextWindow: 8_192 + 8_000 });
		expect(report.budget_tokens).toBe(8_000);
		expect(report.steps.map(({ step }) => step)).toEqual(["truncate", "drop"]);
		expect(report).toMatchObject({ fits: true, masked_tool_results: 0 });
	});

	it("truncate: over 50 000 chars head 2 000 + tail 2 000, in English, even when everything fits", async () => {
		const text = textOfLength(50_001);
		const conversation = openaiMessages(user("Read."), toolTurn("call_1", text));
		const { conversation: after } = await guardConversation({ conversation, policy, contextWindow: 1_000_000 });
		expect(resultContents(after)).toEqual([
			`${text.slice(0, 2_000)}\n\n... [46001 characters truncated] ...\n\n${text.slice(-2_000)}`,
		]);
	});

	const partsOf = (...texts: string[]) => texts.map((text, index) => ({ type: "text", text, index }));

	it.each([
		["2 texts", [25_000, 25_001]],
		["12 texts", [...Array<number>(11).fill(4_500), 501]],
		["a text over the limit", [60_000, 25_000, 25_000]],
	])("cuts a list of only texts as one text: %s", async (_, lengths) => {
		const texts = lengths.map(textOfLength);
		const conversation = openaiMessages(user("Read."), toolTurn("call_1", partsOf(...texts)));
		const { conversation: after, report } = await guardConversation({ conversation, policy, contextWindow: 1e6 });
		const whole = texts.join("\n");
		const marker = `\n\n... [${whole.length - 4_000} characters truncated] ...\n\n`;
		const text = whole.slice(0, 2_000) + marker + whole.slice(-2_000);
		expect(resultContents(after)).toEqual([[{ type: "text", text, index: 0 }]]);
		expect(report.truncated_tool_results).toBe(1);
	});

	it.each([
		["at the limit it is untouched", [25_000, 25_000], [25_000, 25_000]],
		["cut separately when that is enough", [60_000, 40_000], [4_040, 40_000]],
	])("… %s", async (_, lengths, left) => {
		const conversation = openaiMessages(user("Read."), toolTurn("call_1", partsOf(...lengths.map(textOfLength))));
		const { conversation: after } = await guardConversation({ conversation, policy, contextWindow: 1e6 });
		const [parts] = resultContents(after) as { text: string }[][];
		expect(parts?.map(({ text }) => text.length)).toEqual(left);
	});

	it("never cuts text of a user or an assistant", async () => {
		const conversation = openaiMessages(user(textOfLength(60_000)), assistant(textOfLength(60_000)));
		const outcome = await guardConversation({ conversation, policy, contextWindow: 1_000_000 });
		expect(outcome.conversation).toBe(conversation);
	});

	it("the first user message is not pinned", async () => {
		const conversation = openaiMessages(user(outputOf("task")), assistant("Newest"));
		const outcome = await guardConversation({ conversation, policy, contextWindow: 8_192 + 20 });
		expect(outcome.conversation).toEqual(conversation.slice(1));
	});

	it("… except in Anthropic Messages, since the API requires a user message first", async () => {
		const entries = [user("The task."), ...toolTurn("a", outputOf("a")), ...toolTurn("b", "ok")];
		const conversation = writeMessages("anthropic-messages", entries);
		const outcome = await guardConversation({ conversation, policy, contextWindow: 8_192 + 100 });
		expect(outcome.conversation).toEqual([conversation[0], conversation[3], conversation[4]]);
	});
});
