import { describe, expect, it } from "vitest";
import { jsonPointer, valueAt } from "../../src/engine/conversation/paths.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { applyEdits, invertEdits } from "../../src/formats/json-text/edit.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { thinkingConversations } from "./thinking-rows.ts";

const ids = ["a", "b", "c", "d"];
const conversations = deepFreeze(thinkingConversations(ids));
const policies = (thinking: "keep" | "strip_after_edit" | "refuse") =>
	policyOf({ thinking, mask: { window_turns: 2 }, guard: { ladder: ["mask"], reserve_tokens: 0 } });

/** Masking and guarding to nothing: both mask the results of a and b, so that the reasoning of b, c and d stands behind. */
const ways = [
	["mask", maskConversation],
	[
		"guard",
		(request: { conversation: unknown; policy: ReturnType<typeof policies> }) =>
			guardConversation({ ...request, contextWindow: 1 }),
	],
] as const;

const signaturesIn = (document: unknown) => JSON.stringify(document).match(/signature-of-\w+/g) ?? [];

/** The empty lists of a document, which no API takes for a content. */
function emptyLists(value: unknown): number {
	if (typeof value !== "object" || value === null) return 0;
	const inside = Object.values(value).reduce<number>((sum, item) => sum + emptyLists(item), 0);
	return inside + (Array.isArray(value) && value.length === 0 ? 1 : 0);
}

describe.each(conversations)("$format: reasoning", ({ format, messages }) => {
	const { transcript } = readConversation(messages);
	const bound = transcript.messages.flatMap(({ thinking }) => thinking.filter((block) => block.bound));

	it("is found, tied to its place, and can be removed completely", () => {
		expect(readConversation(messages).format.name).toBe(format);
		expect(bound.map(({ text }) => text)).toEqual(ids.map((id) => `Thought of ${id}.`));
		for (const [index, block] of bound.entries()) {
			expect(signaturesIn(valueAt(messages, block.path))).toEqual([`signature-of-${ids[index]}`]);
			expect(typeof block.path.at(-1)).toBe("number");
		}
	});

	describe.each(ways)("%s", (_, edit) => {
		it("keep: keeps every block, and lists those after an edit", async () => {
			const { conversation, report, edits, error } = await edit({ conversation: messages, policy: policies("keep") });
			expect(error).toBeUndefined();
			expect(edits.map(({ reason }) => reason)).toEqual(["mask", "mask"]);
			for (const { path } of bound) expect(valueAt(conversation, path)).toBe(valueAt(messages, path));
			expect(report.thinking).toEqual({
				count: 3,
				paths: bound.slice(1).map(({ path }) => jsonPointer(path)),
				stripped: 0,
				left: [],
				advice: expect.stringContaining("strip_after_edit"),
			});
		});

		it("strip_after_edit: removes exactly those, and the rest is valid", async () => {
			const { conversation, report, edits, error } = await edit({
				conversation: messages,
				policy: policies("strip_after_edit"),
			});
			expect(error).toBeUndefined();
			expect(edits.filter(({ reason }) => reason === "thinking").map(({ path }) => path)).toEqual(
				bound.slice(1).map(({ path }) => jsonPointer(path)),
			);
			expect(signaturesIn(conversation)).toEqual(["signature-of-a"]);
			expect(report.thinking).toMatchObject({ count: 3, stripped: 3, left: [], advice: "They were taken out." });
			expect(emptyLists(conversation)).toBe(0);
			const after = readConversation(conversation);
			expect(after.format.name).toBe(format);
			expect(after.transcript.messages.map(({ role }) => role)).toEqual(transcript.messages.map(({ role }) => role));
			expect(pairResults(after.transcript).map(({ caller }) => caller)).toEqual(
				pairResults(transcript).map(({ caller }) => caller),
			);
			const again = await edit({ conversation, policy: policies("strip_after_edit") });
			expect(again.conversation).toBe(conversation);
		});

		it("refuse: changes nothing and gives the reason", async () => {
			const refused = edit({ conversation: messages, policy: policies("refuse") });
			await expect(refused).rejects.toMatchObject({
				code: "thinking_bound",
				message: expect.stringContaining("3 reasoning"),
			});
		});

		it("refuse: edits when no tied block follows", async () => {
			const policy = { ...policies("refuse"), mask: { ...policies("refuse").mask, window_turns: 4 } };
			expect((await edit({ conversation: messages, policy })).edits).toEqual([]);
		});

		it("the edits apply to the text and can be undone", async () => {
			const text = JSON.stringify(messages, null, 1);
			const { conversation, edits } = await edit({
				conversation: JSON.parse(text),
				policy: policies("strip_after_edit"),
			});
			const edited = applyEdits(text, edits);
			expect(JSON.parse(edited.text)).toEqual(conversation);
			expect(invertEdits(edited)).toBe(text);
		});
	});

	it("is unchanged by truncation and stays valid, since large texts are cut before they are sent", async () => {
		const guard = {
			ladder: ["truncate" as const],
			max_tool_result_chars: 300,
			truncate_head_chars: 50,
			truncate_tail_chars: 50,
		};
		const outcome = await guardConversation({
			conversation: messages,
			policy: policyOf({ guard }),
			contextWindow: 50_000,
		});
		expect(outcome.report.truncated_tool_results).toBe(4);
		expect(outcome.report.thinking).toBeUndefined();
		for (const { path } of bound) expect(valueAt(outcome.conversation, path)).toBe(valueAt(messages, path));
	});

	it("is dropped with its message by the guard, and later blocks are listed", async () => {
		const policy = policyOf({ preset: "context-guard", guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const whole = (await maskConversation({ conversation: messages, policy })).report.tokens.before;
		const contextWindow = Math.floor(whole * 0.6);
		const kept = await guardConversation({ conversation: messages, policy, contextWindow });
		expect(kept.report.dropped_messages).toBeGreaterThan(0);
		expect(kept.report.thinking?.count).toBe(signaturesIn(kept.conversation).length);
		const stripping = { ...policy, thinking: "strip_after_edit" as const };
		const stripped = await guardConversation({ conversation: messages, policy: stripping, contextWindow });
		expect(stripped.error).toBeUndefined();
		expect(signaturesIn(stripped.conversation)).toEqual([]);
		expect(emptyLists(stripped.conversation)).toBe(0);
	});
});
