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

describe("left", () => {
	const ids = ["a", "b", "c", "d"];
	const policies = (thinking: "strip_after_edit" | "refuse") => policyOf({ thinking, mask: { window_turns: 2 } });
	const signaturesIn = (document: unknown) => JSON.stringify(document).match(/signature-of-\w+/g) ?? [];

	describe("reasoning that cannot be removed", () => {
		const policy = policies("strip_after_edit");
		const turn = (id: string, ...before: unknown[]) => [
			{ role: "assistant", content: [...before, { type: "tool_use", id, name: "look", input: {} }] },
			{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "output ".repeat(300) }] },
		];
		const signed = { type: "thinking", thinking: "Hm.", signature: "c2ln" };
		const redacted = { type: "redacted_thinking", data: "ZGF0YQ==" };

		it("stays as the only content of its message, and the report says so", async () => {
			const conversation = [
				...turn("a", signed),
				...turn("b", signed),
				{ role: "assistant", content: [signed, redacted] },
				{ role: "user", content: "Go on." },
				...turn("c", signed, redacted),
			];
			const outcome = await maskConversation({ conversation, policy });
			expect(outcome.error).toBeUndefined();
			expect((outcome.conversation as unknown[])[4]).toBe(conversation[4]);
			expect(outcome.report.thinking).toMatchObject({
				count: 5,
				stripped: 3,
				left: ["/4/content/0", "/4/content/1"],
				advice: expect.stringContaining("2 of them stayed"),
			});
			expect(outcome.report.thinking?.advice).toContain("drop_block");
		});

		it("stays as the only record of its message", async () => {
			const record = (index: number, type: string, message: object) => ({
				...{ type, sessionId: "s", uuid: `u${index}`, parentUuid: index ? `u${index - 1}` : null },
				message,
			});
			const messages = [
				...turn("a", signed),
				...turn("b", signed),
				{ role: "assistant", content: [signed] },
				{ role: "user", content: "Go on." },
				...turn("c"),
			];
			const conversation = messages.map((message, index) =>
				record(index, message.role, message.role === "assistant" ? { ...message, id: `m${index}` } : message),
			);
			const outcome = await maskConversation({ conversation, policy });
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.thinking).toMatchObject({ count: 2, stripped: 1, left: ["/4"] });
		});

		it("includes Gemini's signature on a call", async () => {
			const conversation = ["a", "b", "c", "d"].flatMap((id) => [
				{ role: "model", parts: [{ functionCall: { name: id, args: {} }, thoughtSignature: `sig-${id}` }] },
				{ role: "user", parts: [{ functionResponse: { name: id, response: { output: "output ".repeat(300) } } }] },
			]);
			const outcome = await maskConversation({ conversation, policy });
			expect(outcome.error).toBeUndefined();
			expect(outcome.report).toMatchObject({
				format: "gemini",
				masked_tool_results: 2,
				thinking: { count: 3, stripped: 0, left: ["/2/parts/0", "/4/parts/0", "/6/parts/0"] },
			});
			expect(JSON.stringify(outcome.conversation).match(/sig-./g)).toEqual(["sig-a", "sig-b", "sig-c", "sig-d"]);
		});

		it("includes reasoning that a gateway passes next to the content", async () => {
			const conversation = ["a", "b", "c", "d"].flatMap((id) => [
				{
					role: "assistant",
					content: null,
					reasoning_content: "Hm.",
					reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "c2ln" }],
					tool_calls: [{ id, type: "function", function: { name: "look", arguments: "{}" } }],
				},
				{ role: "tool", tool_call_id: id, content: "output ".repeat(300) },
			]);
			const outcome = await maskConversation({ conversation, policy });
			expect(outcome.report.thinking).toMatchObject({ count: 3, stripped: 0 });
			expect(readConversation(conversation).transcript.messages[0]?.counted.filter((text) => text === "Hm.")).toEqual([
				"Hm.",
			]);
		});

		it("includes OpenAI's, which is encrypted but independent of earlier content", async () => {
			const conversation = ["a", "b", "c", "d"].flatMap((id) => [
				{ type: "reasoning", id: `rs_${id}`, summary: [], encrypted_content: "gAAAA" },
				{ type: "function_call", id: `fc_${id}`, call_id: id, name: "look", arguments: "{}" },
				{ type: "function_call_output", call_id: id, output: "output ".repeat(300) },
			]);
			const refusing = await maskConversation({ conversation, policy: policies("refuse") });
			expect(refusing.report).toMatchObject({ format: "openai-responses", masked_tool_results: 2 });
			expect(refusing.report.thinking).toBeUndefined();
			const stripping = await maskConversation({ conversation, policy });
			expect(JSON.stringify(stripping.conversation).match(/rs_./g)).toEqual(["rs_a", "rs_b", "rs_c", "rs_d"]);
		});
	});

	describe("several steps in one message", () => {
		it("counts the reasoning after a masked result of the same message, not before it", async () => {
			const steps = ids.flatMap((id) => [
				{ type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: `signature-of-${id}` } } },
				{ type: "tool-look", toolCallId: id, state: "output-available", input: {}, output: "output ".repeat(300) },
			]);
			// Without `step-start` all of it counts as one call of the model; the message after it makes it an old one.
			const later = steps.map((part) => ({ ...part, toolCallId: "later" }));
			const conversation = [
				{ id: "u", role: "user", parts: [{ type: "text", text: "Go." }] },
				{ id: "m", role: "assistant", parts: steps },
				{ id: "v", role: "user", parts: [{ type: "text", text: "And?" }] },
				{ id: "n", role: "assistant", parts: later.slice(1, 2) },
			];
			const policy = policyOf({ thinking: "strip_after_edit", mask: { window_turns: 1 } });
			const outcome = await maskConversation({ conversation, policy });
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.masked_tool_results).toBe(4);
			expect(signaturesIn(outcome.conversation)).toEqual(["signature-of-a"]);
			expect(outcome.report.thinking?.paths).toEqual(["/1/parts/2", "/1/parts/4", "/1/parts/6"]);
		});
	});
});
