import { expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { answerText, type StdioSession, stdioSession } from "../support/stdio-session.ts";

const messages = agentConversation(3);
const mask = "mask_conversation";
const guard = "guard_context";
const truncate = "truncate_output";
const compact = "compact_conversation";

/** Every kind of bad input: what it is, the tool, the arguments, and what the error must say. */
const refused: [string, string, Record<string, unknown>, RegExp][] = [
	["no arguments", compact, {}, /^\[invalid_argument\] .*`messages`/],
	["no text", truncate, {}, /^\[invalid_argument\] .*text/],
	["messages as null", compact, { messages: null }, /^\[invalid_argument\] .*either `messages` or `path`/],
	["an unknown argument as null", mask, { messages, mesages: null }, /"mesages": unknown .*mean messages\?/],
	[
		"messages as text",
		mask,
		{ messages: JSON.stringify(messages) },
		/^\[invalid_argument\] .* - messages: expected .*\. Pass the JSON itself, not a text that holds it\./,
	],
	["messages as a number", guard, { messages: 7, context_window: 9 }, /^\[invalid_argument\] .* - messages: expected/],
	["an object without messages", mask, { messages: { text: secret } }, /^\[not_a_conversation\] .*object without/],
	["messages that are not a list", mask, { messages: { messages: secret } }, /^\[not_a_conversation\] .*got a string/],
	["a list of texts", mask, { messages: [secret] }, /^\[not_a_conversation\] .*message 0 .*object with `role`/],
	[
		"a message without a role",
		guard,
		{ messages: [...messages, { content: secret }], context_window: 9_000 },
		/^\[not_a_conversation\] .*OpenAI Chat Completions.*message 8/,
	],
	[
		"a message that is null",
		mask,
		{ messages: [null, { role: "user", content: secret }] },
		/^\[not_a_conversation\] .*message 0/,
	],
	[
		"no context window",
		guard,
		{ messages },
		/^\[context_window_unknown\] .*`context_window` in tokens, name a `model`/,
	],
	[
		"an unknown model",
		guard,
		{ messages, model: "no-such-model-9" },
		/^\[context_window_unknown\] .*"no-such-model-9": give `context_window`/,
	],
	[
		"an unknown model in a request body",
		guard,
		{ messages: { model: "no-such-model-9", messages } },
		/^\[context_window_unknown\] .*"no-such-model-9"/,
	],
	[
		"a negative window",
		guard,
		{ messages, context_window: -1 },
		/^\[invalid_argument\] .*`context_window`.* 1 or more; got -1/,
	],
	["half a token", guard, { messages, context_window: 1.5 }, / - context_window: expected a whole number, got 1\.5/],
	["NaN, which JSON writes as null", guard, { messages, context_window: Number.NaN }, /^\[context_window_unknown\] /],
	["a window as text", guard, { messages, context_window: "9000" }, / - context_window: expected a number, got a text/],
	["an endless window", guard, { messages, context_window: 1e300 }, /^\[invalid_argument\] .* - context_window: /],
	[
		"a negative reserve",
		guard,
		{ messages, context_window: 9_000, reserve_tokens: -1 },
		/^\[invalid_argument\] .*`reserve_tokens`.* 0 or more; got -1/,
	],
	["a text that is a number", truncate, { text: 5 }, /^\[invalid_argument\] .* - text: expected a text, got 5/],
	["a negative limit", truncate, { text: secret, max_chars: -1 }, /^\[invalid_argument\] Expected `max_chars`.*got -1/],
	[
		"an unknown answer",
		mask,
		{ messages, respond_with: secret },
		/ - respond_with: expected "messages", "edits" or "report", got a text/,
	],
	["an unknown argument", mask, { messages, respond_wth: "edits" }, /"respond_wth": unknown .*mean respond_with\?/],
	["an argument of another tool", mask, { messages, text: secret }, /"text": unknown argument\. Known: messages, /],
	["a policy that is not an object", mask, { messages, policy: secret }, /^\[invalid_argument\] .* - policy: /],
	[
		"a mistyped key of the policy",
		mask,
		{ messages, policy: { mask: { windw_turns: 3 } } },
		/^\[invalid_policy\] .*mask\.windw_turns: unknown key\. Did you mean mask\.window_turns\?/,
	],
	[
		"a wrong type in the policy",
		mask,
		{ messages, policy: { mask: { window_turns: [secret] } } },
		/^\[invalid_policy\] .*mask\.window_turns: expected a whole number/,
	],
	[
		"a negative number in the policy",
		truncate,
		{ text: secret, policy: { truncate: { head_chars: -5 } } },
		/^\[invalid_policy\] .*truncate\.head_chars: expected .*0.*, got -5/,
	],
	[
		"a template with an unknown variable",
		mask,
		{ messages, policy: { mask: { placeholder_template: `${secret} {tool}` } } },
		/^\[invalid_policy\] .*unknown variable \{tool\}; known: \{tool_call_id\}/,
	],
	[
		"an unknown preset",
		mask,
		{ messages, policy: { preset: "context-gard" } },
		/^\[invalid_policy\] .*preset: expected .*context-guard/,
	],
];

async function refusal(session: StdioSession, name: string, parameters: Record<string, unknown>): Promise<string> {
	const result = await session.call(name, parameters);
	expect(result.isError).toBe(true);
	expect(result.structuredContent).toBeUndefined();
	return answerText(result);
}

it("refuses each bad input with a code and advice, without text of the conversation", async () => {
	const session = await stdioSession();
	await session.client.listTools();
	for (const [what, name, parameters, words] of refused) {
		const text = await refusal(session, name, parameters);
		expect.soft(text.replaceAll("\n", " "), what).toMatch(words);
		expect.soft(text, what).not.toContain(secret);
	}
	expect(session.stderr()).toBe("");
	expect(session.logged).toEqual([]);
});

it("accepts null for an omitted argument, which a model in OpenAI's strict mode writes", async () => {
	const session = await stdioSession();
	const { tools } = await session.client.listTools();
	const given: Record<string, Record<string, unknown>> = {
		mask_conversation: { messages },
		guard_context: { messages, context_window: 9_000 },
		truncate_output: { text: "A long line. ".repeat(2000) },
		compact_conversation: { messages, strategy: "tool-result-hiding" },
	};
	for (const [name, parameters] of Object.entries(given)) {
		const { inputSchema } = tools.find((tool) => tool.name === name) ?? expect.fail(`no ${name}`);
		const nulls = Object.fromEntries(Object.keys(inputSchema.properties ?? {}).map((key) => [key, null]));
		expect(Object.keys(nulls).length).toBeGreaterThan(3);
		const answer = await session.call(name, { ...nulls, ...parameters });
		expect(answer.isError).toBeUndefined();
		expect(answer.structuredContent).toEqual((await session.call(name, parameters)).structuredContent);
	}
});

it("answers an unknown tool with a protocol error that names the tools", async () => {
	const session = await stdioSession();
	const call = session.call("mask_conversations", { messages: agentConversation(1) });
	await expect(call).rejects.toMatchObject({
		code: -32_602,
		message: expect.stringMatching(/Unknown tool.*mask_conversation, guard_context, truncate_output/),
	});
	await expect(call).rejects.not.toMatchObject({ message: expect.stringContaining(secret) });
});

it("keeps serving after errors", async () => {
	const session = await stdioSession();
	await refusal(session, mask, { messages: 1 });
	await session.client.listPrompts().catch(() => {});
	expect((await session.call(mask, { messages: [] })).isError).toBeUndefined();
	expect(session.protocolErrors).toEqual([]);
});
