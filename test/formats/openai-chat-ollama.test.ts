import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const policy = policyOf({ locale: "en", mask: { window_turns: 1 } });

const user = { role: "user", content: "What is in the folder?" };
const call = (name: string) => ({ function: { name, arguments: { path: "." } } });
const calls = (...all: unknown[]) => ({ role: "assistant", content: "", tool_calls: all });
const answer = (name: string, content: unknown) => ({ role: "tool", tool_name: name, content });
const formatOf = (...messages: unknown[]) => readConversation(messages).format.name;
const pairs = (...messages: unknown[]) =>
	pairResults(readConversation(messages).transcript).map(({ result, call, caller }) => [
		result.texts[0]?.text,
		caller,
		call?.id,
	]);

describe("Ollama: pairing", () => {
	it("pairs without ids, by name and order within the turn", () => {
		const messages = [
			user,
			calls(call("ls"), call("cat"), call("ls")),
			answer("ls", "1"),
			answer("cat", "2"),
			answer("ls", "3"),
			calls(call("ls")),
			answer("ls", "4"),
		];
		expect(pairs(...messages)).toEqual([
			["1", 1, "ls#1"],
			["2", 1, "cat#1"],
			["3", 1, "ls#2"],
			["4", 5, "ls#1"],
		]);
	});

	it("pairs without names, as on old servers, by order only", () => {
		const nameless = (content: string) => ({ role: "tool", content });
		expect(pairs(calls(call("ls"), call("cat")), nameless("1"), nameless("2"), nameless("3"))).toEqual([
			["1", 0, "ls#1"],
			["2", 0, "cat#1"],
			["3", undefined, undefined],
		]);
	});

	it("pairs by the tool's `name` of older programs, across a user message", () => {
		const named = (name: string, content: string) => ({ role: "tool", name, content });
		expect(pairs(calls(call("ls"), call("cat")), named("cat", "1"), user, named("ls", "2"))).toEqual([
			["1", 0, "cat#1"],
			["2", 0, "ls#1"],
		]);
	});

	it("pairs by the ids of newer servers, and by position when only the tool is named", () => {
		const [one, two] = ["a", "b"].map((id, index) => ({
			id: `call_${id}`,
			function: { index, name: "ls", arguments: { path: id } },
		}));
		const named = { role: "tool", tool_call_id: "call_b", tool_name: "ls", content: "B" };
		expect(pairs(calls(one, two), named, answer("ls", "A"))).toEqual([
			["B", 0, "call_b"],
			["A", 0, "call_a"],
		]);
	});

	it("an answer of a tool that was not called is an orphan", () => {
		expect(pairs(calls(call("ls")), answer("cat", "1"))).toEqual([["1", undefined, undefined]]);
	});
});

describe("Ollama: detection", () => {
	const chatCall = (args: unknown, rest = {}) => ({
		id: "c",
		type: "function",
		function: { name: "ls", arguments: args, ...rest },
	});
	const chatAnswer = { role: "tool", tool_call_id: "c", content: "x" };
	it.each<[string, string, unknown[]]>([
		["ollama", "a call without an id", [user, calls(call("ls"))]],
		["ollama", "a call with its number", [user, calls(chatCall({}, { index: 0 })), chatAnswer]],
		["ollama", "a result with the tool's name alone", [user, calls(chatCall({})), answer("ls", "x")]],
		["ollama", "images next to the content, before any call", [{ ...user, images: ["iVBORw0KGgo="] }]],
		["openai-chat", "images that a gateway hands through", [{ ...user, images: [{ type: "image_url" }] }]],
		["openai-chat", "no images", [{ ...user, images: [] }]],
		[
			"openai-chat",
			"images of a program's own, arguments as a string",
			[{ ...user, images: ["iVBORw0KGgo="] }, calls(chatCall("{}"))],
		],
		["openai-chat", "texts alone", [user, { role: "assistant", content: "Nothing." }]],
		["openai-chat", "arguments as an object, with ids", [user, calls(chatCall({})), chatAnswer]],
		["openai-chat", "arguments as a string", [user, calls(chatCall("{}")), { ...chatAnswer, tool_name: "ls" }]],
		[
			"openai-chat",
			"a call without an id, arguments as a string",
			[user, calls({ function: { name: "ls", arguments: "{}" } })],
		],
		[
			"openai-chat",
			"content parts",
			[
				{ role: "user", content: [{ type: "text", text: "a" }] },
				{ ...chatAnswer, tool_name: "ls" },
			],
		],
	])("%s: %s", (name, _, messages) => {
		expect(formatOf(...messages)).toBe(name);
	});
});

describe("Ollama: masking and guarding", () => {
	const turn = (name: string) => [calls(call(name)), answer(name, outputOf(name))];
	const body = (...messages: unknown[]) => ({
		model: "qwen3",
		options: { num_ctx: 32_768 },
		messages: [user, ...messages],
	});

	it("a placeholder names the tool and its call by number", async () => {
		const { conversation, report } = await maskConversation({
			conversation: body(...turn("ls"), ...turn("cat")),
			policy,
		});
		expect(report).toMatchObject({ format: "ollama", tool_turns: 2, masked_tool_results: 1 });
		expect((conversation as ReturnType<typeof body>).messages[2]).toEqual(
			answer("ls", expect.stringMatching(/tool_call_id=ls#1, tool=ls,/)),
		);
	});

	it("calls and results are dropped together", async () => {
		const outcome = await guardConversation({
			conversation: body(...turn("ls"), ...turn("cat"), ...turn("grep")),
			policy: policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } }),
			contextWindow: 900,
		});
		const { messages } = outcome.conversation as { messages: { role: string }[] };
		expect(outcome.report.fits).toBe(true);
		expect(outcome.report.dropped_messages).toBeGreaterThanOrEqual(2);
		expect(messages.filter(({ role }) => role === "assistant").length).toBe(
			messages.filter(({ role }) => role === "tool").length,
		);
	});

	it("images and thinking are counted", async () => {
		const count = async (message: object) => {
			const { report } = await maskConversation({
				conversation: [user, ...turn("ls"), { role: "user", content: "", ...message }],
				policy,
			});
			return report.tokens.before;
		};
		const plain = await count({});
		const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
		expect(await count({ images: [png, png] })).toBeGreaterThan(plain + 100);
		const alone = await maskConversation({ conversation: [{ ...user, images: [png, png] }], policy });
		expect(alone.report.tokens.before).toBeGreaterThan(100);
		expect(await count({ role: "assistant", thinking: "One two three four." })).toBeGreaterThanOrEqual(plain + 5);
	});
});
