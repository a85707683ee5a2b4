import { describe, expect, it } from "vitest";
import { askForBlock, type BrokenCondition, readBlock } from "../../../src/engine/compaction/provider-block.ts";

const body = { model: "claude-opus-5-5", max_tokens: 100, system: "Work." };
const user = (text: string) => ({ role: "user", content: text });
const call = (id: string) => ({ role: "assistant", content: [{ type: "tool_use", id, name: "Read", input: {} }] });
const result = (id: string) => ({ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "x" }] });
const system = { role: "system", content: "Be brief." };
const block = (signature?: string) => ({
	role: "assistant",
	content: [{ type: "compaction", content: "So far.", ...(signature && { signature }) }],
});
const turns = [user("Go."), call("a"), result("a"), call("b"), result("b"), call("c"), result("c")];

function conditions(
	messages: readonly unknown[],
	given: { at?: number; keep?: number; body?: object; instructions?: string } = {},
) {
	const asked = askForBlock({ ...given, body: { ...body, ...given.body }, messages });
	return asked.kind === "broken" ? asked.conditions : asked.messages;
}

describe("the request for a block of the provider", () => {
	it("holds the messages before the last cut that keeps enough and breaks nothing", () => {
		expect([0, 1, 2, 3, 4].map((keep) => conditions(turns, { keep }))).toEqual([7, 5, 5, 3, 3]);
		const asked = askForBlock({ body, messages: turns, keep: 2, instructions: "Sum up." });
		expect(asked).toMatchObject({
			kind: "request",
			beta: "compact-2026-09-04",
			body: { ...body, max_tokens: 8_192, compaction: { type: "summarize", instructions: "Sum up." } },
		});
		const sent = asked.kind === "request" ? (asked.body.messages as object[]) : [];
		expect(sent.slice(0, 4)).toEqual(turns.slice(0, 4));
		expect(sent[4]).toEqual({
			...result("b"),
			content: [{ ...result("b").content[0], cache_control: { type: "ephemeral" } }],
		});
	});

	it.each<[BrokenCondition, readonly unknown[], Parameters<typeof conditions>[1]]>([
		["nothing_to_summarise", [user("Go.")], { keep: 2 }],
		["nothing_to_summarise", [system, call("a"), result("a")], { at: 1 }],
		["call_without_result", turns.slice(0, 6), { at: 6 }],
		["call_and_result_apart", turns, { at: 4 }],
		["same_role_after_cut", [user("Go."), user("Now."), call("a")], { at: 1 }],
		["system_message_after_cut", [user("Go."), system, call("a"), result("a")], { at: 1 }],
		["several_blocks", [block("s"), user("Go."), block("t"), user("On.")], {}],
		["block_not_first", [user("Go."), block("s"), user("On.")], {}],
		["block_without_signature", [block(), user("Go.")], {}],
		["model_not_named", turns, { body: { model: undefined } }],
		["model_without_compaction", turns, { body: { model: "claude-opus-4-5-20251101" } }],
		["model_without_compaction", turns, { body: { model: "claude-3-7-sonnet-20250219" } }],
		["instructions_too_long", turns, { instructions: "x".repeat(16_385) }],
	])("says by name that a history breaks %s", (name, messages, given) => {
		expect(conditions(messages, given)).toContain(name);
	});

	it("compacts again: the new block replaces the old one and what follows it", () => {
		expect(conditions([block("s"), ...turns.slice(1)], { keep: 2 })).toBe(5);
	});

	it("leaves out what the API refuses beside it, and nothing else", () => {
		const given = {
			...body,
			thinking: { type: "adaptive" },
			metadata: { user_id: "u" },
			context_management: { edits: [] },
			stop_sequences: ["x"],
			stream: true,
			tool_choice: { type: "tool", name: "Read" },
			output_config: { effort: "high", format: {}, task_budget: { total: 9, remaining: 5 } },
		};
		const asked = askForBlock({ body: given, messages: turns, keep: 2 });
		if (asked.kind === "broken") throw new Error(asked.conditions.join());
		expect(Object.keys(asked.body).sort()).toEqual(
			["compaction", "max_tokens", "messages", "metadata", "model", "output_config", "system", "thinking"].sort(),
		);
		expect(asked.body.output_config).toEqual({ effort: "high", task_budget: { total: 9 } });
	});

	it("names the beta in the body for Bedrock, and not for Vertex", () => {
		const betas = (version: string) => {
			const asked = askForBlock({ body: { max_tokens: 9, anthropic_version: version }, messages: turns, keep: 2 });
			return asked.kind === "request" && asked.body.anthropic_beta;
		};
		expect(betas("bedrock-2023-05-31")).toEqual(["compact-2026-09-04"]);
		expect(betas("vertex-2023-10-16")).toBe(undefined);
	});

	it("adds no fifth breakpoint to the cache", () => {
		const marked = { type: "text", text: "x", cache_control: { type: "ephemeral" } };
		const asked = askForBlock({
			body: { ...body, system: [marked, marked, marked, marked] },
			messages: turns,
			keep: 2,
		});
		expect(asked.kind === "request" && asked.body.messages).toEqual(turns.slice(0, 5));
	});
});

describe("the answer", () => {
	const signed = { type: "compaction", content: "So far.", signature: "s" };

	it("is the message that goes first, exactly as it came", () => {
		expect(readBlock({ stop_reason: "compaction", content: [signed], id: "msg_1" })).toEqual({
			kind: "block",
			message: { role: "assistant", content: [signed] },
			text: "So far.",
		});
	});

	it.each([
		["max_tokens", { stop_reason: "max_tokens", content: [] }],
		["refusal", { stop_reason: "refusal", content: [] }],
		["end_turn", { stop_reason: "compaction", content: [{ ...signed, content: " " }] }],
		["malformed", { stop_reason: "compaction", content: [{ type: "compaction", content: "x" }] }],
		["malformed", { stop_reason: "compaction", content: [signed, signed] }],
		["malformed", { stop_reason: "something new", content: [signed] }],
		["malformed", "text"],
	])("without a block says %s and what to do", (reason, answer) => {
		expect(readBlock(answer)).toEqual({ kind: "none", reason, advice: expect.stringMatching(/^[A-Z].{15,}\.$/) });
	});
});
