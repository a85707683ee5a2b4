import { describe, expect, it } from "vitest";
import { pairResults } from "../../../src/engine/conversation/turns.ts";
import { applyEdits, invertEdits } from "../../../src/formats/json-text/edit.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { assistant, calls, type Entry, results, user } from "../../support/script.ts";
import { type FormatRow, masking, toolsOf } from "../format-row.ts";

const parallel: readonly Entry[] = [
	calls({ id: "x", name: "ls" }, { id: "y", name: "cat" }),
	results({ id: "x", content: outputOf("x") }, { id: "y", content: outputOf("y") }),
];

export function describeEdits(row: FormatRow): void {
	const { format, read, turn, write } = toolsOf(row);

	describe(`${format.title}: the effect of edits`, () => {
		const messages = write(user("Go."), turn("a"), parallel, turn("b"), assistant("Done."), user("More."), turn("c"));
		const dropping = (preset: "observation-masking" | "context-guard") =>
			policyOf({ preset, guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const total = async () =>
			(await maskConversation({ conversation: messages, policy: masking })).report.tokens.before;

		it.each(["observation-masking", "context-guard"] as const)(
			"drops complete groups to any size (%s): no call loses its result, no result its call",
			async (preset) => {
				const whole = await total();
				for (const share of [0.9, 0.7, 0.5, 0.3, 0.1, 0.01]) {
					const contextWindow = Math.max(1, Math.floor(whole * share));
					const outcome = await guardConversation({ conversation: messages, policy: dropping(preset), contextWindow });
					expect(outcome.error).toBeUndefined();
					expect(outcome.report.dropped_messages).toBeGreaterThan(0);
					const after = read(outcome.conversation);
					const paired = pairResults(after);
					expect(paired.filter(({ caller }) => caller === undefined)).toEqual([]);
					expect(paired).toHaveLength(after.messages.flatMap((message) => message.calls).length);
					if (after.opensWithUser) expect(after.messages[0]?.role).toBe("user");
				}
			},
		);

		it("keeps the error flag, the ids and the names of masked results", async () => {
			const { conversation } = await maskConversation({ conversation: messages, policy: masking });
			const facts = (document: unknown) =>
				pairResults(read(document)).map(({ result, call, caller }) => [result.callId, result.isError, call, caller]);
			expect(facts(conversation)).toEqual(facts(messages));
		});

		it("the edits, applied to the text, produce the result, and their inverse restores the text", async () => {
			const text = JSON.stringify({ before: 1e2, [row.key]: messages, after: [] }, null, 1);
			const { conversation, edits } = await maskConversation({ conversation: JSON.parse(text), policy: masking });
			expect(edits.length).toBeGreaterThan(3);
			const edited = applyEdits(text, edits);
			expect(JSON.parse(edited.text)).toEqual(conversation);
			expect(invertEdits(edited)).toBe(text);
		});

		it("the edits for n messages are a subset of the edits for n + 1", async () => {
			let shorter: string[] = [];
			for (let count = 1; count <= messages.length; count += 1) {
				const conversation = { [row.key]: messages.slice(0, count) };
				const outcome = await maskConversation({ conversation, policy: masking }).catch(() => undefined);
				const longer = (outcome?.edits ?? []).map((edit) => JSON.stringify(edit));
				expect(longer).toEqual(expect.arrayContaining(shorter));
				shorter = longer;
			}
			expect(shorter.length).toBeGreaterThan(3);
		});
	});
}
