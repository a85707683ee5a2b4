import { describe, expect, it } from "vitest";
import { refusalOfBinding, refusalOfGateway, refusalOfShape } from "./message-rules.ts";
import { bindingBeta } from "./preserved-thinking.ts";

type Json = Record<string, unknown>;

const mark = { type: "ephemeral" };
const hour = { type: "ephemeral", ttl: "1h" };
const text = (words: string, cache_control?: unknown) => {
	return { type: "text", text: words, ...(cache_control ? { cache_control } : {}) };
};
const user = (...content: readonly unknown[]) => ({ role: "user", content });
const assistant = (...content: readonly unknown[]) => ({ role: "assistant", content });
const call = (id: string) => ({ type: "tool_use", id, name: "Bash", input: {} });
const result = (id: string, content: unknown = "output") => ({ type: "tool_result", tool_use_id: id, content });
const thought = { type: "thinking", thinking: "", signature: "s" };
const shapeOf = (messages: readonly unknown[], rest: Json = {}) => refusalOfShape({ messages, ...rest });

describe("a request that the API accepts", () => {
	it.each([
		["a text", [{ role: "user", content: "Look." }]],
		["calls and results", [user(text("a")), assistant(call("1"), call("2")), user(result("1"), result("2"))]],
		[
			"results in two messages",
			[user(text("a")), assistant(call("1"), call("2")), user(result("1")), user(result("2"))],
		],
		[
			"calls in two messages",
			[user(text("a")), assistant(call("1")), assistant(call("2")), user(result("1"), result("2"))],
		],
		[
			"a message of the role system",
			[user(text("a")), { role: "system", content: "b" }, assistant(call("1")), user(result("1"))],
		],
		[
			"a message of the role system before a result",
			[user(text("a")), assistant(call("1")), { role: "system", content: "b" }, user(result("1"))],
		],
		["an empty result", [user(text("a")), assistant(call("1")), user(result("1", ""))]],
		["an empty final answer", [user(text("a")), assistant()]],
		[
			"an empty message that sets the effort",
			[user(text("a")), { role: "system", content: [], output_config: { effort: "low" } }],
		],
	])("has %s", (_, messages) => {
		expect(shapeOf(messages)).toBeUndefined();
	});
});

describe("an empty message or text", () => {
	it("is refused with the place of the message", () => {
		const empty =
			"messages.1: all messages must have non-empty content except for the optional final assistant message";
		expect(shapeOf([user(text("a")), assistant(), user(text("b"))])).toBe(empty);
		expect(shapeOf([user(text("a")), user()])).toBe(empty);
		expect(shapeOf([user(text("a")), { role: "user", content: "" }])).toBe(empty);
		expect(shapeOf([])).toBe("messages: at least one message is required");
	});

	it("is refused as a text, also in a result", () => {
		expect(shapeOf([user(text(""))])).toBe("messages: text content blocks must be non-empty");
		expect(shapeOf([user(text(" \n"))])).toBe("messages: text content blocks must contain non-whitespace text");
		const inner = [user(text("a")), assistant(call("1")), user(result("1", [text("")]))];
		expect(shapeOf(inner)).toBe("messages: text content blocks must be non-empty");
	});
});

describe("calls and results", () => {
	it("are refused if a call has no result in the next message", () => {
		const missing =
			"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 2. Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
		expect(shapeOf([user(text("a")), assistant(call("1"), call("2")), user(result("1"))])).toBe(missing);
		expect(shapeOf([user(text("a")), assistant(call("2"))])).toBe(missing);
	});

	it("are refused if a result has no call in the message before", () => {
		const lonely =
			"messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 9. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
		expect(shapeOf([user(text("a")), assistant(text("b")), user(result("9"))])).toBe(lonely);
		const late = [user(text("a")), assistant(call("1")), user(result("1")), assistant(text("b")), user(result("1"))];
		expect(shapeOf(late)).toContain("messages.4.content.0: unexpected `tool_use_id`");
	});

	it("are refused if an id is used twice", () => {
		const twice = [user(text("a")), assistant(call("1")), user(result("1"), result("1"))];
		expect(shapeOf(twice)).toContain("messages.2.content.1: each tool_use must have a single result.");
		const again = [user(text("a")), assistant(call("1")), user(result("1")), assistant(call("1")), user(result("1"))];
		expect(shapeOf(again)).toBe("messages: `tool_use` ids must be unique");
	});
});

describe("breakpoints", () => {
	const marks = (...controls: readonly unknown[]) => [user(...controls.map((one, index) => text(`a${index}`, one)))];

	it("are at most four in tools, system, messages, results and the request together", () => {
		const tools = [{ name: "a", cache_control: mark }];
		const system = [text("b", mark)];
		const results = [user(text("a")), assistant(call("1")), user(result("1", [text("c", mark)]))];
		expect(shapeOf(marks(mark, mark), { tools, system })).toBeUndefined();
		const five = "A maximum of 4 blocks with cache_control may be provided. Found 5.";
		expect(shapeOf(marks(mark, mark, mark), { tools, system })).toBe(five);
		expect(shapeOf([...results, ...marks(mark)], { tools, system, cache_control: mark })).toBe(five);
	});

	it("of an hour do not come after breakpoints of five minutes, in the order tools, system, messages", () => {
		const late = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.";
		expect(shapeOf(marks(hour, hour, mark))).toBeUndefined();
		expect(shapeOf(marks(hour, mark, hour))).toContain(`messages.0.content.2.cache_control.ttl: ${late}`);
		expect(shapeOf(marks(hour), { system: [text("b", { ...mark, ttl: "5m" })] })).toContain(late);
		expect(shapeOf(marks(mark), { tools: [{ name: "a", cache_control: hour }] })).toBeUndefined();
	});

	it("are not part of thinking", () => {
		const messages = [user(text("a")), assistant({ ...thought, cache_control: mark }, text("b")), user(text("c"))];
		expect(shapeOf(messages)).toBe("messages.1.content.0.thinking.cache_control: Extra inputs are not permitted");
	});
});

describe("thinking of the type enabled", () => {
	it("begins the answer whose calls are being answered; adaptive thinking need not", () => {
		const messages = [user(text("a")), assistant(call("1")), user(result("1"))];
		expect(shapeOf(messages, { thinking: { type: "enabled" } })).toContain(
			"messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
		);
		expect(shapeOf(messages, { thinking: { type: "adaptive" } })).toBeUndefined();
		const thinks = [user(text("a")), assistant(thought, call("1")), user(result("1"))];
		expect(shapeOf(thinks, { thinking: { type: "enabled" } })).toBeUndefined();
	});
});

describe("the budget of thinking", () => {
	it("is below the limit of the answer", () => {
		const thinking = { type: "enabled", budget_tokens: 2_000 };
		expect(shapeOf([user(text("a"))], { thinking, max_tokens: 2_001 })).toBeUndefined();
		expect(shapeOf([user(text("a"))], { thinking, max_tokens: 1 })).toBe(
			"`max_tokens` must be greater than `thinking.budget_tokens`.",
		);
		expect(shapeOf([user(text("a"))], { thinking: { type: "adaptive" }, max_tokens: 1 })).toBeUndefined();
	});
});

describe("block_binding", () => {
	const body = (type: string, prefix_mismatch_behavior: unknown) => {
		return { thinking: { type, block_binding: { prefix_mismatch_behavior } } };
	};

	it("is refused without the beta header, by the name of its place", () => {
		const extra = (type: string) => `thinking.${type}.block_binding: Extra inputs are not permitted`;
		expect(refusalOfBinding(body("adaptive", "drop_block"), [])).toBe(extra("adaptive"));
		expect(refusalOfBinding(body("enabled", "drop_block"), ["other"])).toBe(extra("enabled"));
		expect(refusalOfBinding(body("adaptive", "drop_block"), ["other", bindingBeta])).toBeUndefined();
		expect(refusalOfBinding({ thinking: { type: "adaptive" } }, [])).toBeUndefined();
	});

	it("takes two values, and null for the default", () => {
		for (const value of ["error", "drop_block", null, undefined]) {
			expect(refusalOfBinding(body("adaptive", value), [bindingBeta])).toBeUndefined();
		}
		expect(refusalOfBinding(body("adaptive", "drop"), [bindingBeta])).toBe(
			"thinking.adaptive.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
		);
	});

	it("is refused by a gateway that does not support it, and so is its header", () => {
		const known = ["context-management-2025-06-27", "per-turn-control-2026-07-01"];
		expect(refusalOfGateway({ thinking: { type: "adaptive" } }, known)).toBeUndefined();
		expect(refusalOfGateway({}, [...known, bindingBeta])).toContain(
			`Unexpected value(s) \`${bindingBeta}\` for the \`anthropic-beta\` header.`,
		);
		expect(refusalOfGateway(body("adaptive", "drop_block"), known)).toBe(
			"thinking.adaptive.block_binding: Extra inputs are not permitted",
		);
	});
});
