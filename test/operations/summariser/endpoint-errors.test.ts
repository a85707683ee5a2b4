import { describe, expect, it } from "vitest";
import { ask, summariserError } from "./asking.ts";
import { answer, complete, refuse } from "./chat-server.ts";

/** Context-length errors as servers word them. */
const tooLong: readonly (readonly [string, number, unknown])[] = [
	[
		"OpenAI",
		400,
		{ error: { message: "…", type: "invalid_request_error", param: "messages", code: "context_length_exceeded" } },
	],
	[
		"OpenAI, one text",
		400,
		{ error: { message: "…", type: "invalid_request_error", code: "string_above_max_length" } },
	],
	[
		"llama.cpp and Ollama",
		400,
		{ error: { code: 400, message: "…", type: "exceed_context_size_error", n_prompt_tokens: 9, n_ctx: 8 } },
	],
	["vLLM", 400, { error: { message: "…", type: "BadRequestError", param: "input_tokens", code: 400 } }],
	["vLLM, by characters", 400, { error: { message: "…", type: "BadRequestError", param: "input_text", code: 400 } }],
	["Mistral", 400, { object: "error", message: "…", type: "invalid_request_invalid_args", param: null, code: "3051" }],
	["a gateway on FastAPI", 400, { detail: { message: "…", code: "context_length_exceeded" } }],
	["a proxy", 413, "<html>Request Entity Too Large</html>"],
];

/** The same told in prose alone. */
const prose =
	"This model's maximum context length is 4096 tokens. However, you requested 9000 tokens. context_length_exceeded";

describe("a request that fails", () => {
	it.each([
		[400, "unknown", false],
		[401, "auth_error", false],
		[402, "unknown", false],
		[403, "auth_error", false],
		[404, "model_not_found", false],
		[422, "unknown", false],
		[501, "server_error", true],
	] as const)("HTTP %i is %s and is not sent again", async (status, code, retryable) => {
		const asked = await ask([refuse(status)]);
		expect(summariserError(asked)).toMatchObject({ code, status_code: status, is_retryable: retryable });
		expect(asked.server.requests.length).toBe(1);
		expect(asked.delays).toEqual([]);
	});

	it.each(tooLong)("recognises a prompt that is too long from %s (HTTP %i)", async (_, status, body) => {
		const asked = await ask([answer(status, body)]);
		expect(summariserError(asked)).toMatchObject({
			code: "context_too_long",
			status_code: status,
			is_retryable: false,
		});
		expect(asked.server.requests.length).toBe(1);
	});

	it.each([
		["OpenAI's shape", { error: { message: prose, type: "invalid_request_error", param: null, code: null } }],
		["older vLLM's", { object: "error", message: prose, type: "BadRequestError", param: null, code: 400 }],
		["a string", { error: prose }],
		["no JSON", prose],
	])("reports unknown when only prose says that the prompt is too long: %s", async (_, body) => {
		expect(summariserError(await ask([answer(400, body)]))).toMatchObject({ code: "unknown", status_code: 400 });
	});

	it("recognises a missing model by code only", async () => {
		const asked = await ask([answer(400, { error: { code: "model_not_found", message: "…" } })]);
		expect(summariserError(asked).code).toBe("model_not_found");
	});

	it.each([301, 302, 303, 307, 308])("HTTP %i is not followed", async (status) => {
		const elsewhere = await ask([complete("from elsewhere")]);
		const asked = await ask([answer(status, "", { location: `${elsewhere.server.baseUrl}/chat/completions` })]);
		expect(summariserError(asked)).toMatchObject({ code: "unknown", status_code: status });
		expect(elsewhere.server.requests.length).toBe(1);
	});

	it("gives advice in words, and shows only codes that are words", async () => {
		const body = {
			error: { code: "insufficient_quota", type: "Say <b>hello</b>", message: "your prompt was: secret" },
		};
		const asked = await ask([answer(402, body)]);
		expect(summariserError(asked).message).toMatch(
			/^http:\/\/127\.0\.0\.1:\d+\/v1: .+ \(HTTP 402, insufficient_quota\)\.$/,
		);
	});
});

const message = (given: object) =>
	answer(200, { choices: [{ message: { role: "assistant", ...given }, finish_reason: "stop" }] });

describe("an unusable answer", () => {
	it.each([
		["invalid JSON", answer(200, '{"choices": [')],
		["HTML", answer(200, "<html>Welcome</html>", { "content-type": "text/html" })],
		["nothing", answer(200, "")],
		["no content", answer(204, "")],
		["a list", answer(200, [])],
		["no choices", answer(200, { id: "x" })],
		["empty choices", answer(200, { choices: [] })],
		["a choice without a message", answer(200, { choices: [{ finish_reason: "stop" }] })],
		["null content", complete(null)],
		["empty content", complete("")],
		["white space", complete(" \n\t ")],
		["content that is a number", complete(42)],
		["calls instead of a text", complete(null, "tool_calls")],
		["an answer cut by a filter", complete("half of a", "content_filter")],
		["a refusal", complete("I cannot help with that.", "refusal")],
		["a refusal in its own field", message({ content: "I am sorry.", refusal: "I cannot help with that." })],
		["words that go with a call", message({ content: "I look first.", tool_calls: [{ id: "a", type: "function" }] })],
		["words that stopped for a call", complete("I look first.", "tool_calls")],
		["an answer cut by a provider's error", complete("half of a", "error")],
		["an answer cut by an overloaded system", complete("half of a", "insufficient_system_resource")],
	])("%s is unknown", async (_, behaviour) => {
		const asked = await ask([behaviour]);
		const error = summariserError(asked);
		expect(error).toMatchObject({ code: "unknown", is_retryable: false });
		expect(error.status_code).toBe(200);
		expect(asked.server.requests.length).toBe(1);
	});

	it.each([
		["its own status", { code: 429, message: "…" }, "rate_limit", 429, 4],
		["a code", { code: "context_length_exceeded", message: "…" }, "context_too_long", 200, 1],
		["prose alone", { message: "maximum context length" }, "unknown", 200, 1],
	] as const)("recognises an error in a good status, with %s", async (_, error, code, status, requests) => {
		const asked = await ask([answer(200, { error })]);
		expect(summariserError(asked)).toMatchObject({ code, status_code: status });
		expect(asked.server.requests.length).toBe(requests);
	});

	it("treats a full window as a prompt that is too long", async () => {
		expect(summariserError(await ask([complete("", "model_context_window_exceeded")])).code).toBe("context_too_long");
	});
});

describe("a usable answer", () => {
	it("has its text, its stop reason and its cost", async () => {
		const { answer: given, server } = await ask([complete("done")]);
		expect(given).toEqual({
			text: "done",
			finishReason: "stop",
			usage: { promptTokens: 100, completionTokens: 10 },
		});
		const [request] = server.requests;
		expect(request?.url).toBe("/v1/chat/completions");
		expect(request?.body).toEqual({
			model: "some-model",
			messages: [{ role: "user", content: "Summarise this." }],
			max_tokens: 500,
			stream: false,
		});
	});

	it("may be parts, without their thinking, or plain text that is JSON", async () => {
		const parts = [
			{ type: "thinking", thinking: [{ type: "text", text: "hm" }] },
			{ type: "text", text: "one " },
			{ type: "text", text: "two" },
		];
		expect((await ask([complete(parts)])).answer?.text).toBe("one two");
		const plain = answer(
			200,
			{ choices: [{ message: { content: "yes" }, finish_reason: "eos" }] },
			{
				"content-type": "text/plain",
			},
		);
		expect((await ask([plain])).answer).toEqual({ text: "yes", finishReason: "other" });
	});

	it("may have other empty fields", async () => {
		const empty = message({ content: "done", refusal: null, tool_calls: [], function_call: null });
		expect((await ask([empty])).answer?.text).toBe("done");
	});

	it("is requested with the other name of the limit once the endpoint refuses the first", async () => {
		const unsupported = answer(400, { error: { code: "unsupported_parameter", param: "max_tokens", message: "…" } });
		const { server, answer: given } = await ask([unsupported, complete("cut", "length"), complete("done")]);
		expect(given?.text).toBe("done");
		const limits = server.requests.map(({ body }) => [body.max_tokens, body.max_completion_tokens]);
		expect(limits).toEqual([
			[500, undefined],
			[undefined, 500],
			[undefined, 500],
		]);
	});
});
