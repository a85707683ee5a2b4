import { describe, expect, it } from "vitest";
import type { CallUsage } from "../../src/engine/conversation/transcript.ts";
import { anthropicUsage, cacheApartUsage, cacheIncludedUsage } from "../../src/formats/answer.ts";
import { readConversation } from "../../src/formats/detect.ts";

const usagesOf = (records: readonly unknown[]): CallUsage[] =>
	readConversation(records).transcript.messages.flatMap(({ usage }) => usage ?? []);

describe("the usage of Anthropic's API", () => {
	const usage = { input_tokens: 3, cache_read_input_tokens: 900, cache_creation_input_tokens: 100 };

	it("adds up the API's separate counts", () => {
		expect(anthropicUsage({ usage, model: "some-model" })).toEqual({
			inputTokens: 1_003,
			cachedTokens: 900,
			model: "some-model",
		});
	});

	it.each([
		[0, 100, 3_600],
		[100, 0, 300],
		[60, 40, 300],
		[0, 0, undefined],
	])("%i tokens for five minutes and %i for an hour are kept for %s seconds", (minutes, hour, seconds) => {
		const cache_creation = { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour };
		expect(anthropicUsage({ usage: { ...usage, cache_creation } })?.cacheSeconds).toBe(seconds);
	});

	it("is absent for an answer that no model gave, and for a call without input", () => {
		expect(anthropicUsage({ usage, model: "<synthetic>" })).toBeUndefined();
		expect(anthropicUsage({ usage: { input_tokens: 0 } })).toBeUndefined();
		expect(anthropicUsage({})).toBeUndefined();
	});
});

describe("other usages", () => {
	it("ignore values that are not numbers of tokens", () => {
		expect(cacheApartUsage({ input: "5", cacheRead: null, cacheWrite: -1, model: 7 })).toBeUndefined();
		expect(cacheApartUsage({ input: 5, cacheRead: -1, cacheWrite: Number.NaN, model: 7 })).toEqual({
			inputTokens: 5,
			cachedTokens: 0,
		});
	});

	it("of Chat Completions are read only with their cached tokens", () => {
		const usage = { prompt_tokens: 50, prompt_tokens_details: { cached_tokens: 40 } };
		const usageIn = (extra: object) => {
			const document = [
				{ role: "assistant", content: "a", extra },
				{ role: "user", content: "b" },
			];
			return readConversation(document).transcript.messages[0]?.usage;
		};
		expect(usageIn({ response: { usage } })).toEqual({ inputTokens: 50, cachedTokens: 40 });
		expect(usageIn({ response: { usage: { prompt_tokens: 50 } } })).toBeUndefined();
	});

	it("of Cline are read from its messages", () => {
		const answer = { role: "assistant", content: [{ type: "text", text: "a" }], ts: 1, modelInfo: { id: "m" } };
		const messages = [
			{ role: "user", content: "q" },
			{ ...answer, metrics: { inputTokens: 90, cacheReadTokens: 60 } },
		];
		expect(usagesOf(messages)).toEqual([{ inputTokens: 90, cachedTokens: 60, model: "m" }]);
	});

	it("never have more cached tokens than tokens", () => {
		expect(cacheIncludedUsage({ input: 5, cached: 9, model: undefined })).toEqual({ inputTokens: 5, cachedTokens: 5 });
	});
});

describe("the usage in a session", () => {
	it("of Claude Code comes from the last record of an answer", () => {
		const answer = (uuid: string, parentUuid: string | null, read: number) => ({
			type: "assistant",
			uuid,
			parentUuid,
			sessionId: "s",
			message: {
				id: "msg_1",
				role: "assistant",
				model: "m",
				content: [{ type: "text", text: uuid }],
				usage: { input_tokens: 1, cache_read_input_tokens: read, cache_creation_input_tokens: 0 },
			},
		});
		expect(usagesOf([answer("a", null, 0), answer("b", "a", 9)])).toEqual([
			{ inputTokens: 10, cachedTokens: 9, model: "m" },
		]);
	});

	it("of Codex comes from the event after the answer, with the model of the turn", () => {
		const line = (type: string, payload: object) => ({ timestamp: "2026-01-01T00:00:00.000Z", type, payload });
		const count = (input: number, cached: number, total: number) =>
			line("event_msg", {
				type: "token_count",
				info: {
					last_token_usage: { input_tokens: input, cached_input_tokens: cached },
					total_token_usage: { total_tokens: total },
				},
			});
		const call = (id: string) =>
			line("response_item", { type: "function_call", name: "shell", arguments: "{}", call_id: id });
		const output = (id: string) => line("response_item", { type: "function_call_output", call_id: id, output: "ok" });
		const records = [
			line("session_meta", { id: "s", cwd: "/" }),
			line("turn_context", { model: "gpt-x" }),
			call("a"),
			output("a"),
			count(100, 0, 100),
			call("b"),
			// The event of the first call again.
			count(100, 0, 100),
			output("b"),
			count(200, 90, 300),
		];
		expect(usagesOf(records)).toEqual([
			{ inputTokens: 100, cachedTokens: 0, model: "gpt-x" },
			{ inputTokens: 200, cachedTokens: 90, model: "gpt-x" },
		]);
	});

	it("of pi and opencode leaves the cache out of the input", () => {
		const message = { role: "assistant", content: [], model: "m", usage: { input: 3, cacheRead: 5, cacheWrite: 2 } };
		expect(
			usagesOf([
				{ type: "session", id: "s" },
				{ type: "message", id: "a", parentId: null, message },
			]),
		).toEqual([{ inputTokens: 10, cachedTokens: 5, model: "m" }]);
		const tool = {
			type: "tool",
			callID: "c",
			tool: "bash",
			state: { status: "completed", output: "ok", time: { start: 5e12, end: 6e12 } },
		};
		const steps = [
			{ type: "step-start" },
			tool,
			{ type: "step-finish", tokens: { input: 3, cache: { read: 5, write: 0 } } },
			{ type: "step-start" },
			{ type: "text", text: "Done." },
			{ type: "step-finish", tokens: { input: 4, cache: { read: 8, write: 0 } } },
		];
		const session = [{ info: { id: "m1", role: "assistant", modelID: "m", time: { created: 4e12 } }, parts: steps }];
		expect(usagesOf(session)).toEqual([
			{ inputTokens: 8, cachedTokens: 5, model: "m" },
			{ inputTokens: 12, cachedTokens: 8, model: "m" },
		]);
		const { messages } = readConversation(session).transcript;
		expect(messages.map(({ time, endTime }) => [time, endTime])).toEqual([
			[4e12, 6e12],
			[undefined, undefined],
		]);
	});
});
