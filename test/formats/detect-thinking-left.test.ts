import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";

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
