import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { guardConversation } from "../../src/operations/guard.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { policyOf } from "../support/policy-of.ts";

const counted = { shortened: 0, lasting: 0 };

/** What is said one after the other: by the user, by the assistant alone, or with a tool's result. */
const spoken = fc.array(fc.tuple(fc.constantFrom("ask", "answer", "tool"), fc.integer({ min: 1, max: 60 })), {
	minLength: 4,
	maxLength: 40,
});

/** Bedrock Converse, in turn: what one side says twice in a row is left out. */
function converse(parts: readonly (readonly [string, number])[]) {
	const messages: { role: string; content: object[] }[] = [{ role: "user", content: [{ text: "Begin." }] }];
	for (const [index, [kind, words]] of parts.entries()) {
		const isUsers = messages.at(-1)?.role === "user";
		const text = `${kind} ${index} `.repeat(words);
		if (kind === "ask" && !isUsers) messages.push({ role: "user", content: [{ text }] });
		if (kind === "answer" && isUsers) messages.push({ role: "assistant", content: [{ text }] });
		if (kind !== "tool" || !isUsers) continue;
		const toolUseId = `call-${index}`;
		messages.push({ role: "assistant", content: [{ toolUse: { toolUseId, name: "read", input: {} } }] });
		messages.push({ role: "user", content: [{ toolResult: { toolUseId, content: [{ text }] } }] });
	}
	return messages;
}

test.prop([spoken, fc.double({ min: 0.05, max: 0.95, noNaN: true }), fc.integer({ min: 1, max: 4 }), fc.boolean()], {
	numRuns: numberOfCases(300),
})("user and assistant stay alternating after any drop", async (parts, share, keep, isLasting) => {
	const conversation = converse(parts);
	const guard = { ladder: ["drop" as const], reserve_tokens: 0, keep_last_messages: keep };
	const policy = policyOf({ guard: { ...guard, target_ratio: isLasting ? 0.6 : null } });
	const whole = await guardConversation({ conversation, policy, contextWindow: 1_000_000 });
	const contextWindow = Math.max(1, Math.floor(whole.report.tokens.before * share));
	const { conversation: after, report, error } = await guardConversation({ conversation, policy, contextWindow });
	expect(error).toBeUndefined();
	const roles = (after as typeof conversation).map(({ role }) => role);
	expect(roles.filter((role, index) => role === roles[index - 1])).toEqual([]);
	if (report.dropped_messages > 0) counted[isLasting ? "lasting" : "shortened"] += 1;
});

afterAll(() => {
	expect(counted.shortened).toBeGreaterThan(leastOfCases(30));
	expect(counted.lasting).toBeGreaterThan(leastOfCases(30));
});
