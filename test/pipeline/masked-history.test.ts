import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/pipeline/mask-conversation.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";

/** The turns of sixty at which masking changes something, by an agent whose history is its own or what it gets back. */
async function turnsOfMasking(mask: Parameters<typeof policyOf>[0], keeps: "own" | "answer"): Promise<number[]> {
	const policy = policyOf(mask);
	const turns: number[] = [];
	let history: unknown[] = [{ role: "user", content: "Go." }];
	let editsBefore = 0;
	for (let turn = 1; turn <= 60; turn += 1) {
		const id = `call_${turn}`;
		const call = { id, type: "function", function: { name: turn % 5 === 0 ? "ls" : "grep", arguments: "{}" } };
		history = [
			...history,
			{ role: "assistant", content: null, tool_calls: [call] },
			{ role: "tool", tool_call_id: id, content: `row ${turn} `.repeat(200) },
		];
		const { conversation, edits } = await maskConversation({ conversation: history, policy });
		if (edits.length > editsBefore) turns.push(turn);
		if (keeps === "own") editsBefore = edits.length;
		else history = conversation as unknown[];
	}
	return turns;
}

describe("a history that is the answer of an earlier call", () => {
	const stride = { cadence: "stride", stride_turns: 8, window_turns: 4 } as const;
	it.each([
		["of a plain stride", stride],
		["with a tool whose results always go", { ...stride, tools: { ls: "always" } } as const],
		["with a tool whose last result stays", { ...stride, tools: { grep: { keep_last: 1 } } }],
	])("is masked as rarely as the agent's own would be: %s", async (_, mask) => {
		const own = await turnsOfMasking({ mask }, "own");
		expect(own).toEqual([12, 20, 28, 36, 44, 52, 60]);
		expect(await turnsOfMasking({ mask }, "answer")).toEqual(own);
	});

	let edited = 0;
	const windows = fc.integer({ min: 1, max: 3 });
	test.prop([conversations, windows, fc.integer({ min: 2, max: 4 })], { numRuns: 300 })(
		"is left as it is when it is masked by the stride again",
		async ({ document }, window_turns, stride_turns) => {
			const policy = policyOf({ mask: { cadence: "stride", window_turns, stride_turns, keep_errors: false } });
			const once = await maskConversation({ conversation: document, policy });
			const twice = await maskConversation({ conversation: once.conversation, policy });
			expect(twice.edits).toEqual([]);
			edited += once.edits.length;
		},
	);

	it("was masked in that property", () => {
		expect(edited).toBeGreaterThan(200);
	});
});
