import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import {
	assistant,
	calls,
	type Entry,
	type JsonMessage,
	openaiMessages,
	results,
	toolTurn,
	user,
} from "../support/script.ts";

const turns = (count: number): Entry[][] =>
	Array.from({ length: count }, (_, index) => toolTurn(`call_${index}`, outputOf(`turn ${index}`)));

async function maskedResults(messages: readonly JsonMessage[], mask: PolicyLayer["mask"]): Promise<boolean[]> {
	const { conversation } = await maskConversation({ conversation: messages, policy: policyOf({ mask: mask ?? {} }) });
	const before = resultContents(messages);
	return resultContents(conversation).map((content, index) => content !== before[index]);
}

describe("The window (docs/strategies.md#window)", () => {
	it("masks only the results that are older than the last N tool turns", async () => {
		const masked = await maskedResults(openaiMessages(...turns(10)), { window_turns: 8 });
		expect(masked).toEqual([true, true, false, false, false, false, false, false, false, false]);
	});

	it("keeps the last 8 tool turns by default", async () => {
		expect(await maskedResults(openaiMessages(...turns(8)), {})).not.toContain(true);
		expect((await maskedResults(openaiMessages(...turns(9)), {})).filter(Boolean)).toHaveLength(1);
	});

	it("keeps or masks all results of a turn together", async () => {
		const parallel = (name: string) => [
			calls({ id: `${name}_a`, name: "ls" }, { id: `${name}_b`, name: "cat" }, { id: `${name}_c`, name: "cat" }),
			results(...["c", "a", "b"].map((one) => ({ id: `${name}_${one}`, content: outputOf(`${name} ${one}`) }))),
		];
		const masked = await maskedResults(openaiMessages(...["x", "y", "z"].map(parallel)), { window_turns: 2 });
		expect(masked).toEqual([true, true, true, false, false, false, false, false, false]);
	});

	it("counts tool turns, not messages", async () => {
		const chatter = Array.from({ length: 30 }, (_, index) => [user(`Question ${index}`), assistant("Answer")]).flat();
		const messages = openaiMessages(...turns(2), chatter, ...turns(1));
		expect(await maskedResults(messages, { window_turns: 2 })).toEqual([true, false, false]);
	});

	it("a tool turn is an assistant message with at least one tool call that has an id", async () => {
		const withoutIds = openaiMessages(calls({ name: "ls" }), results({ content: "no id" }));
		const emptyList = { role: "assistant", content: "nothing to call", tool_calls: [] };
		const messages = [...openaiMessages(...turns(2)), ...withoutIds, emptyList];
		expect(await maskedResults(messages, { window_turns: 1 })).toEqual([true, false, false]);
	});

	it("a turn with an id for only one of two calls is one turn", async () => {
		const mixed = openaiMessages(calls({ name: "ls" }, { id: "call_9", name: "cat" }));
		expect(await maskedResults([...openaiMessages(...turns(2)), ...mixed], { window_turns: 2 })).toEqual([true, false]);
	});

	it("an unanswered turn counts as a turn", async () => {
		const messages = openaiMessages(...turns(2), calls({ id: "call_9", name: "cat" }));
		expect(await maskedResults(messages, { window_turns: 1 })).toEqual([true, true]);
	});

	it("`enabled = false`: nothing changes, and the same conversation is returned", async () => {
		const conversation = openaiMessages(...turns(10));
		const outcome = await maskConversation({ conversation, policy: policyOf({ mask: { enabled: false } }) });
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report.changed).toBe(false);
	});

	it.each([0, -1, -100])("`window_turns <= 0` (%i): nothing changes", async (windowTurns) => {
		const conversation = openaiMessages(...turns(10));
		const policy = policyOf({ mask: { window_turns: windowTurns } });
		expect((await maskConversation({ conversation, policy })).conversation).toBe(conversation);
	});

	it("a window larger than the conversation changes nothing", async () => {
		const conversation = openaiMessages(...turns(3));
		const policy = policyOf({ mask: { window_turns: 50 } });
		expect((await maskConversation({ conversation, policy })).conversation).toBe(conversation);
	});
});
