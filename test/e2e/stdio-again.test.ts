import { describe, expect, it } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { stdioSession } from "../support/stdio-session.ts";

const calls = [
	["mask_conversation", { policy: { mask: { window_turns: 3 } } }],
	["guard_context", { context_window: 20_000, reserve_tokens: 500 }],
	["compact_conversation", { strategy: "tool-result-hiding" }],
] as const;
const ways = ["messages", "edits", "report"] as const;

describe("a conversation sent repeatedly, with one more message each time", () => {
	it("gets the same answers from every tool as from a new server", async () => {
		const session = await stdioSession();
		const conversation = agentConversation(60);
		expect(JSON.stringify(conversation.slice(0, -4)).length).toBeGreaterThan(100_000);
		let [turn, changed] = [0, 0];
		for (const [name, given] of calls) {
			for (const respond_with of ways) {
				// One that goes on, and one that differs from it in its newest message, in turns.
				const messages = conversation.slice(0, turn - 9 + conversation.length);
				if (turn % 2 === 1) messages.push({ role: "user", content: `Stop. ${turn}` });
				const parameters = { messages, respond_with, ...given };
				const fresh = await stdioSession();
				const [answer, expected] = [await session.call(name, parameters), await fresh.call(name, parameters)];
				expect(answer).toEqual(expected);
				expect(answer.isError).toBeUndefined();
				const { report } = answer.structuredContent as { report: { changed?: boolean } };
				if (report.changed) changed += 1;
				turn += 1;
			}
		}
		expect([session.protocolErrors, changed]).toEqual([[], 9]);
	});
});
