import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createServer } from "../../src/mcp/server.ts";
import { zodWords } from "../support/zod-words.ts";
import { stubPolicySource } from "./http/harness.ts";

interface Answer {
	readonly error?: { readonly code: number; readonly message: string };
	readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text: string }[] };
}

const [client, far] = InMemoryTransport.createLinkedPair();
const server = createServer({ policySource: stubPolicySource(), log: () => {} });
const waiting = new Map<unknown, (answer: Answer) => void>();
let lastId = 0;

function send(method: string, params: unknown): Promise<Answer> {
	lastId += 1;
	const id = lastId;
	const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
	void client.send({ jsonrpc: "2.0", id, method, params } as JSONRPCMessage);
	return answered;
}

beforeAll(async () => {
	client.onmessage = (message) => void ("id" in message && waiting.get(message.id)?.(message as Answer));
	await Promise.all([server.connect(far), client.start()]);
	const clientInfo = { name: "test", version: "1" };
	await send("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
	await client.send({ jsonrpc: "2.0", method: "notifications/initialized" });
});
afterAll(() => server.close());

const messages = [{ role: "user", content: "TOPSECRET" }];

/** Requests that are none of the protocol's shape, with words that their answer must hold. */
const badRequests: readonly [method: string, params: unknown, says: RegExp][] = [
	["initialize", { protocolVersion: 5 }, /params\.protocolVersion: expected a text, got 5/],
	["initialize", {}, /params\.protocolVersion: expected a text, got nothing/],
	["tools/call", {}, /params\.name: expected a text, got nothing/],
	["tools/call", { name: 5 }, /params\.name: expected a text, got 5/],
	[
		"tools/call",
		{ name: "mask_conversation", arguments: "{}" },
		/arguments: expected an object, got a text .*JSON itself/,
	],
	["tools/call", { name: "mask_conversation", arguments: [] }, /arguments: expected an object, got a list/],
	["tools/call", { name: "mask_conversation", arguments: { messages }, task: 5 }, /task: expected an object, got 5/],
	["prompts/get", {}, /params\.name: expected a text, got nothing/],
	["prompts/get", { name: "compact", arguments: { keep: 5 } }, /arguments\.keep: expected a text, got 5/],
	[
		"prompts/get",
		{ name: "compact", arguments: { keep: "k".repeat(5_000) } },
		/keep: expected a text of at most 4000 characters, got one of 5000/,
	],
	["resources/read", {}, /params\.uri: expected a text, got nothing/],
	["resources/subscribe", { uri: [] }, /params\.uri: expected a text, got a list/],
	["resources/list", { cursor: 5 }, /params\.cursor: expected a text, got 5/],
	[
		"logging/setLevel",
		{ level: "loud" },
		/params\.level: expected "debug", .* or "emergency", got a text of 4 characters/,
	],
	["completion/complete", { ref: { type: "ref/none" }, argument: {} }, /params\.ref/],
	[
		"completion/complete",
		{ ref: { type: "ref/prompt", name: "compact" } },
		/params\.argument: expected an object, got nothing/,
	],
];

/** Arguments that a tool does not take. */
const badArguments: readonly [tool: string, given: Record<string, unknown>, says: RegExp][] = [
	[
		"mask_conversation",
		{ messages: JSON.stringify(messages) },
		/- messages: expected a list of messages, .*, got a text of 39 characters\. Pass the JSON itself, not a text/,
	],
	["mask_conversation", { messages: 7 }, /- messages: expected a list of messages, .* got 7$/],
	["mask_conversation", { path: 7 }, /- path: expected a text, got 7/],
	[
		"mask_conversation",
		{ messages, respond_with: "edit" },
		/expected "messages", "edits" or "report", got a text of 4 characters\. Did you mean edits\?/,
	],
	[
		"mask_conversation",
		{ messages, overwrite: "yes" },
		/- overwrite: expected true or false, got a text of 3 characters/,
	],
	[
		"mask_conversation",
		{ messages, policy: '{"mask":{}}' },
		/- policy: expected an object, got a text .* Pass the JSON itself/,
	],
	["mask_conversation", { messages, polcy: {} }, /- "polcy": unknown argument\. Did you mean policy\?/],
	["mask_conversation", { messages, TOPSECRET_1: 1 }, /unknown argument\. Known: messages, /],
	["guard_context", { messages, context_window: 1.5 }, /- context_window: expected a whole number, got 1\.5/],
	[
		"guard_context",
		{ messages, context_window: "9000" },
		/- context_window: expected a number, got a text of 4 characters/,
	],
	[
		"guard_context",
		{ messages, context_window: 1e300 },
		/- context_window: expected a whole number of at most 9007199254740991, got 1e\+300/,
	],
	[
		"guard_context",
		{ messages, model: "" },
		/- model: expected a text of at least 1 characters, got a text of 0 characters/,
	],
	[
		"guard_context",
		{ messages, tools: "[]" },
		/- tools: expected a list, got a text of 2 characters\. Pass the JSON itself/,
	],
	["guard_context", { messages, usage: [] }, /- usage: expected an object, got a list/],
	["guard_context", { messages, last_response: 1 }, /- last_response: expected an object, got 1/],
	["compact_conversation", { messages, strategy: "llm-summry" }, /Did you mean llm-summary\?/],
	["compact_conversation", { messages, force: 1 }, /- force: expected true or false, got 1/],
	["truncate_output", { text: ["TOPSECRET"] }, /- text: expected a text, got a list/],
	["truncate_output", { text: "TOPSECRET", max_tokens: false }, /- max_tokens: expected a number, got false/],
	["truncate_output", {}, /Give `text` or `path`\./],
	["truncate_output", { text: "TOPSECRET", path: "a.log" }, /Give only one of `text` and `path`\./],
	[
		"truncate_output",
		{ text: "TOPSECRET", policy: { guard: { max_tool_result_chars: -5 } } },
		/guard\.max_tool_result_chars: expected a whole number, at least/,
	],
];

describe("errors over the protocol", () => {
	it.each(badRequests)("%s with %j is refused with our own message", async (method, params, says) => {
		const { error } = await send(method, params);
		expect(error?.code).toBe(-32_602);
		expect(error?.message).toMatch(says);
		expect(error?.message).not.toMatch(zodWords);
	});

	it.each(badArguments)("%s names the problem with %j", async (name, given, says) => {
		const { result } = await send("tools/call", { name, arguments: given });
		expect(result?.isError).toBe(true);
		const text = result?.content?.[0]?.text ?? "";
		expect(text).toMatch(says);
		expect(text).not.toMatch(zodWords);
		expect(text.replace("TOPSECRET_1", "")).not.toContain("TOPSECRET");
	});

	it("leaves other errors unchanged", async () => {
		expect((await send("tools/call", { name: "none" })).error?.message).toContain("Unknown tool. Known:");
		expect((await send("no/such", {})).error).toMatchObject({ code: -32_601 });
	});
});
