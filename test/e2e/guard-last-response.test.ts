import { beforeAll, describe, expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { applyPlainly } from "../support/apply-plainly.ts";
import { compactSession, contentOf, firstText, type StdioCompactSession } from "./compact-session.ts";

const messages = agentConversation(3);
const window = { context_window: 20_000, reserve_tokens: 1_000 };
/** The wording of docs/compaction.md#cut-answers. */
const request = "[Système] Ta réponse a été tronquée (max_tokens atteint). Résume ta réponse de manière plus concise.";
const partial = "The parser fails since it takes the last";

const call = (json: string) => ({ id: "c1", type: "function", function: { name: "bash", arguments: json } });
const ofOpenai = (reason: string, content: string | null, ...calls: readonly object[]) => ({
	id: "chatcmpl-1",
	object: "chat.completion",
	choices: [
		{
			index: 0,
			finish_reason: reason,
			message: { role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
		},
	],
	usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 },
});
const ofAnthropic = (reason: string, ...content: readonly object[]) => ({
	id: "msg_1",
	type: "message",
	role: "assistant",
	model: "claude",
	content,
	stop_reason: reason,
	stop_sequence: null,
	usage: { input_tokens: 9, output_tokens: 9 },
});
const text = { type: "text", text: partial };
const use = (input: object) => ({ type: "tool_use", id: "t1", name: "bash", input });

let session: StdioCompactSession;
beforeAll(async () => {
	session = await compactSession({ sampling: true });
});

async function guard(last_response: object, parameters: object = {}) {
	const given = { messages, ...window, last_response, ...parameters };
	const whole = contentOf(await session.call("guard_context", given));
	const { edits } = contentOf(await session.call("guard_context", { ...given, respond_with: "edits" }));
	expect(applyPlainly(given.messages, edits)).toEqual(whole.messages);
	return whole;
}

describe("a truncated answer", () => {
	it("is appended as far as it got, with the documented request for a shorter one", async () => {
		const { messages: after, report } = await guard(ofOpenai("length", partial));
		const appended = [
			{ role: "assistant", content: partial },
			{ role: "user", content: request },
		];
		expect(after).toEqual([...messages, ...appended]);
		expect(report).toMatchObject({ changed: true, fits: true, follow_up: { appended: true, broken_calls: 0 } });
	});

	it("counts towards the budget", async () => {
		const long = agentConversation(12);
		const narrow = { messages: long, context_window: 4_000, reserve_tokens: 500 };
		const said = `${partial} ${"word ".repeat(1_000)}`;
		const { messages: after, report } = await guard(ofOpenai("length", said), narrow);
		expect(report).toMatchObject({ fits: true, follow_up: { appended: true } });
		expect((report.tokens as { after: number }).after).toBeLessThanOrEqual(3_500);
		expect(after.slice(-2)).toEqual([
			{ role: "assistant", content: said },
			{ role: "user", content: request },
		]);
	});
});

describe("a truncated tool call", () => {
	it.each([
		["OpenAI", ofOpenai("length", partial, call('{"command": "rm -rf /tm'))],
		["Anthropic", ofAnthropic("max_tokens", text, use({}))],
	])("of %s is reported and never passed on", async (_what, answer) => {
		const { messages: after, report } = await guard(answer);
		expect(report.follow_up).toEqual({ appended: true, broken_calls: 1 });
		expect(after.slice(-2).map(({ content }) => content)).toEqual([partial, request]);
		expect(JSON.stringify(after.slice(messages.length))).not.toMatch(/bash|tool_calls|rm -rf/);
	});
});

describe("an invalid last response is refused", () => {
	it.each([
		["a value that is not an answer", { reply: secret }, messages, /^\[invalid_argument\] /],
		["nothing", {}, messages, /^\[invalid_argument\] /],
		[
			"an answer whose call has no result there",
			ofOpenai("length", partial),
			messages.slice(0, -1),
			/calls without results/,
		],
	])("%s", async (_what, last_response, conversation, words) => {
		const parameters = { messages: conversation, ...window, last_response };
		const refused = await session.call("guard_context", parameters);
		expect(refused.isError).toBe(true);
		expect(firstText(refused)).toMatch(words);
		expect(firstText(refused)).not.toContain(secret);
	});
});
