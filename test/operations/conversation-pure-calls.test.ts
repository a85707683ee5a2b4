import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";

const cloned = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value));

/** Does to a document what a careless program might do to what it was given. */
function deface(value: unknown): void {
	if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
	for (const item of Object.values(value)) deface(item);
	if (Array.isArray(value)) value.push("defaced");
	else Object.assign(value, { defaced: true, text: "defaced", tokens: -1, chars: -1 });
}

interface Call {
	readonly tool: "mask" | "guard";
	readonly window: number;
	readonly budget: number;
	/** Messages of the conversation that have come by then, from the front. */
	readonly share: number;
}

async function call({ tool, window, budget }: Call, conversation: unknown) {
	const policy = policyOf({
		media: "mask",
		mask: { window_turns: window },
		guard: { max_tool_result_chars: 2_000, truncate_head_chars: 300, truncate_tail_chars: 300, keep_last_messages: 2 },
	});
	if (tool === "mask") return maskConversation({ conversation, policy });
	return guardConversation({ conversation, policy, contextWindow: budget, reserveTokens: 0 });
}

function front(document: unknown, share: number): unknown {
	const copy = cloned(document) as unknown[] | { messages: unknown[] };
	const messages = Array.isArray(copy) ? copy : copy.messages;
	messages.splice(Math.max(1, Math.ceil(messages.length * share)));
	return copy;
}

describe("a call on a conversation seen before", () => {
	let edits = 0;
	const oneCall: fc.Arbitrary<Call> = fc.record({
		tool: fc.constantFrom("mask", "guard"),
		window: fc.integer({ min: 1, max: 4 }),
		budget: fc.integer({ min: 100, max: 6_000 }),
		share: fc.double({ min: 0.3, max: 1, noNaN: true }),
	});
	test.prop([conversations, fc.array(oneCall, { minLength: 2, maxLength: 6 })], { numRuns: numberOfCases(250) })(
		"gives the same answer as the first time, even if earlier answers were changed",
		async ({ document }, calls) => {
			for (const one of calls) {
				const again = await call(one, front(document, one.share));
				expect(again.error).toBeUndefined();
				expect(again).toEqual(await call(one, front(document, one.share)));
				edits += again.edits.length;
				deface(again.conversation);
				deface(again.edits);
				deface(again.report);
			}
		},
	);

	it("made edits in that property", () => {
		expect(edits).toBeGreaterThan(leastOfCases(1_000));
	});

	it("gives a new answer when the same objects were changed", async () => {
		const messages = [
			{ role: "system", content: "S" },
			{ role: "user", content: "The task." },
			{ role: "assistant", content: null, tool_calls: [{ id: "a", function: { name: "ls", arguments: "{}" } }] },
			{ role: "tool", tool_call_id: "a", content: [{ type: "text", text: "row ".repeat(900) }] },
			{ role: "assistant", content: null, tool_calls: [{ id: "b", function: { name: "ls", arguments: "{}" } }] },
			{ role: "tool", tool_call_id: "b", content: "row ".repeat(900) },
		];
		const one: Call = { tool: "mask", window: 1, budget: 0, share: 1 };
		const first = await call(one, messages);
		expect(first.edits).toHaveLength(1);
		(messages[3] as { content: unknown }).content = [{ type: "text", text: "line ".repeat(400) }];
		const second = await call(one, messages);
		expect(second).toEqual(await call(one, cloned(messages)));
		expect(JSON.stringify(second.edits)).toContain("2000");
	});
});
