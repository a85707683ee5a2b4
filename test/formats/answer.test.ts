import Anthropic from "@anthropic-ai/sdk";
import { fc } from "@fast-check/vitest";
import { generateText, jsonSchema, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { describe, expect, it } from "vitest";
import type { CallUsage } from "../../src/engine/conversation/transcript.ts";
import { PalimpsestError } from "../../src/errors.ts";
import { anthropicUsage, cacheApartUsage, cacheIncludedUsage } from "../../src/formats/answer.ts";
import { readConversation, readLastResponse } from "../../src/formats/detect.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import type { AnswerPart } from "./last-response/answer.ts";
import { answerRows } from "./last-response/answer-rows.ts";

const text = (said: string): AnswerPart => ({ kind: "text", text: said });

const thought = (said: string): AnswerPart => ({ kind: "thought", text: said });

const call = (id: string): AnswerPart => ({ kind: "call", id, name: "read_file" });

const cutCall = (id: string): AnswerPart => ({ kind: "call", id, name: "read_file", isCut: true });

describe.each(answerRows)("$title", ({ write, reasons, callsComeLast, hasNoIds }) => {
	const read = (reason: unknown, ...parts: AnswerPart[]) => readLastResponse(deepFreeze(write({ reason, parts })));
	const answered = (id: string, isUsable: boolean) => ({
		id: hasNoIds ? undefined : id,
		name: "read_file",
		isUsable,
	});
	const [cut] = reasons.length;

	it.each(reasons.length)("reads a truncated text: %s", (reason) => {
		expect(read(reason, thought("Let me see."), text("The files a"))).toEqual({
			finishReason: "length",
			text: "The files a",
			calls: [],
		});
	});

	it.each(reasons.length)("marks a truncated call as unusable: %s", (reason) => {
		const { finishReason, calls } = read(reason, thought("Let me see."), cutCall("a"));
		expect({ finishReason, calls }).toEqual({ finishReason: "length", calls: [answered("a", false)] });
	});

	it("reads a truncated answer with a complete call before a truncated one", () => {
		expect(read(cut, text("I look. "), call("a"), cutCall("b"))).toEqual({
			finishReason: "length",
			text: "I look. ",
			calls: [answered("a", true), answered("b", false)],
		});
	});

	if (!callsComeLast) {
		it("reads a complete call before a truncated text", () => {
			expect(read(cut, text("I look. "), call("a"), text("Then I"))).toEqual({
				finishReason: "length",
				text: "I look. Then I",
				calls: [answered("a", true)],
			});
		});
	}

	it.each(reasons.stop)("reads a complete answer: %s", (reason) => {
		expect(read(reason, thought("So."), text("Done."))).toEqual({ finishReason: "stop", text: "Done.", calls: [] });
	});

	it.each([...reasons.tool_calls, ...reasons.stop])("reads complete calls: %s", (reason) => {
		expect(read(reason, text("I look."), call("a"), call("b"))).toEqual({
			finishReason: "tool_calls",
			text: "I look.",
			calls: [answered("a", true), answered("b", true)],
		});
	});

	it.each(reasons.other)("recognises other endings: %s", (reason) => {
		expect(read(reason, text("Done."))).toEqual({ finishReason: "other", text: "Done.", calls: [] });
	});

	it("reads reasoning that used all tokens", () => {
		expect(read(cut, thought("Let me s"))).toEqual({ finishReason: "length", text: "", calls: [] });
	});
});

/** The error that a value is refused with. */
function refusalOf(response: unknown): PalimpsestError {
	try {
		readLastResponse(response);
	} catch (error) {
		if (error instanceof PalimpsestError) return error;
		throw error;
	}
	throw new Error("Expected the value to be refused.");
}

const textOf = (response: unknown) => readLastResponse(response).text;

const said = (content: unknown) => ({ finish_reason: "length", message: { content } });

describe("a visible text", () => {
	it("is joined from its parts", () => {
		const part = (text: string) => ({ type: "text", text });
		expect(textOf(said([part("One, "), { type: "image_url" }, part("two")]))).toBe("One, two");
		expect(textOf({ stop_reason: "end_turn", content: [part("One, "), part("two")] })).toBe("One, two");
		const citationsContent = { content: [{ text: "two" }], citations: [] };
		const content = [{ text: "One, " }, { citationsContent }];
		expect(textOf({ stopReason: "end_turn", output: { message: { content } } })).toBe("One, two");
		expect(textOf({ done: true, done_reason: "length", response: "One, two" })).toBe("One, two");
		expect(textOf({ finish_reason: "MAX_TOKENS", text: "One, two" })).toBe("One, two");
		expect(textOf({ choices: [{ finish_reason: "length", text: "One, two" }] })).toBe("One, two");
	});

	it("may be a refusal", () => {
		const message = { content: null, refusal: "I cannot" };
		expect(textOf({ choices: [{ finish_reason: "length", message }] })).toBe("I cannot");
		const content = [{ type: "refusal", refusal: "I cannot" }];
		const output = [{ type: "message", role: "assistant", status: "incomplete", content }];
		expect(textOf({ object: "response", output })).toBe("I cannot");
	});

	it("excludes reasoning that an endpoint left in it", () => {
		expect(textOf(said("<think>\nHm.\n</think>\n\nThe files a"))).toBe("The files a");
		expect(textOf(said("\n<think>\nHm, the fi"))).toBe("");
		expect(textOf(said("A tag is <think>"))).toBe("A tag is <think>");
	});

	it("has no split characters", () => {
		expect(textOf(said("Well 😀".slice(0, -1)))).toBe("Well \ufffd");
	});
});

describe("an answer", () => {
	it("is the last of several steps", () => {
		const step = (text: string, finishReason: string) => ({ content: [{ type: "text", text }], finishReason });
		expect(readLastResponse({ steps: [step("One", "tool-calls"), step("Two", "length")] })).toEqual({
			finishReason: "length",
			text: "Two",
			calls: [],
		});
	});

	it("is identified by its own names when others match too", () => {
		const calls = [{ id: "a", name: "ls", isUsable: true }];
		const read = { finishReason: "length", text: "One", calls };
		const written = { id: "a", function: { name: "ls", arguments: '{"path":"."}' } };
		const vllm = { finish_reason: "length", stop_reason: null, content: "One", tool_calls: [written] };
		const parts = { finishReason: "length", content: [{ type: "text", text: "One" }], toolCalls: [written] };
		const plain = { id: "a", name: "ls", parameters: { path: "." } };
		for (const response of [vllm, parts, { finishReason: "MAX_TOKENS", text: "One", toolCalls: [plain] }]) {
			expect(readLastResponse(response)).toEqual(read);
		}
	});

	it("may lack its stop reason", () => {
		const message = { role: "assistant", content: "One" };
		const other = { finishReason: "other", text: "One", calls: [] };
		for (const response of [
			{ choices: [{ index: 0, message }] },
			{ message },
			{ type: "message", role: "assistant", content: "One" },
			{ role: "assistant", model: "m", content: { type: "text", text: "One" } },
			{ content: { role: "model", parts: [{ text: "One" }] } },
			{ output: { message: { role: "assistant", content: [{ text: "One" }] } } },
			{ output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "One" }] }] },
			{ text: "One", toolCalls: [] },
			{ message, done: false },
		]) {
			expect(readLastResponse(response)).toEqual(other);
		}
	});

	it("may be empty", () => {
		const nothing = { finishReason: "other", text: "", calls: [] };
		for (const response of [
			{ object: "chat.completion", choices: [] },
			{ candidates: [], promptFeedback: { blockReason: "SAFETY" } },
			{ status: "failed", output: [] },
		]) {
			expect(readLastResponse(response)).toEqual(nothing);
		}
		for (const response of [
			{ stop_reason: "max_tokens", content: [] },
			{ stopReason: "max_tokens", output: { message: { content: [] } } },
			{ stopReason: "maxTokens", content: [] },
			{ candidates: [{ finishReason: "MAX_TOKENS" }] },
		]) {
			expect(readLastResponse(response)).toEqual({ ...nothing, finishReason: "length" });
		}
	});
});

describe("any other value", () => {
	it("is refused by kind, without quoting its text", () => {
		const kinds: [unknown, string][] = [
			[null, "null"],
			[undefined, "nothing"],
			["A secret.", "a string"],
			[7, "a number"],
			[true, "a boolean"],
			[[{ role: "assistant", content: "A secret." }], "a list"],
			[{ role: "assistant", content: "A secret." }, "an object of another shape"],
		];
		for (const [value, kind] of kinds) {
			const { code, message } = refusalOf(value);
			expect(code).toBe("invalid_argument");
			expect(message).toContain(`got ${kind}.`);
			expect(message).toContain("{stop_reason, content} of Anthropic Messages");
			expect(message).not.toContain("secret");
		}
	});

	it("is refused even when it resembles an answer", () => {
		for (const value of [
			{},
			{ messages: [{ role: "user", content: "Go." }] },
			{ error: { message: "Overloaded.", type: "overloaded_error" }, type: "error" },
			{ message: "Rate limit reached." },
			{ finish_reason: "length" },
			{ text: "x" },
			{ finish_reason: "length", content: [{ type: "tool_use", id: "a", name: "ls", input: { path: "." } }] },
			{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "x" }] },
			{ content: [{ type: "text", text: "x" }] },
			{ stopReason: "length", content: [{ type: "toolCall", id: "a", name: "ls", arguments: {} }] },
			{ object: "chat.completion.chunk", choices: [{ delta: { content: "x" }, finish_reason: "length" }] },
			{ finishReason: "length", message: { role: "assistant", parts: [{ type: "text", text: "x" }] } },
			{ choices: [null] },
			{ choices: "x" },
			{ candidates: [7] },
			{ output: "x", status: "incomplete" },
			{ output: [7], status: "incomplete" },
			{ stop_reason: "max_tokens", content: 7 },
			{ stop_reason: "max_tokens", content: [null] },
			Object.create({ stop_reason: "max_tokens", content: [] }),
		]) {
			expect(refusalOf(value).code).toBe("invalid_argument");
		}
	});

	it("never causes another error", () => {
		const keys = fc.constantFrom(
			...["choices", "message", "content", "parts", "candidates", "output", "type", "role", "status", "text", "model"],
			...[
				"finish_reason",
				"finishReason",
				"stop_reason",
				"stopReason",
				"done_reason",
				"steps",
				"tool_calls",
				"toolCalls",
			],
			...["function", "functionCall", "toolUse", "input", "arguments", "args", "name", "id", "response", "thought"],
			...["toolCallId", "toolName", "custom", "function_call", "citationsContent", "incomplete_details", "__proto__"],
		);
		const words = fc.constantFrom(
			"length",
			"max_tokens",
			"text",
			"tool_use",
			"tool-call",
			"message",
			"function_call",
			"{",
		);
		const { value } = fc.letrec((tie) => ({
			leaf: fc.oneof(words, fc.constantFrom(null, true, 7, ""), fc.string()),
			value: fc.oneof(
				{ maxDepth: 5, withCrossShrink: true },
				tie("leaf"),
				fc.array(tie("value"), { maxLength: 3 }),
				fc
					.uniqueArray(fc.tuple(keys, tie("value")), { selector: ([key]) => key, maxLength: 5 })
					.map(Object.fromEntries),
			),
		}));
		const written = answerRows.flatMap(({ write, reasons }) => {
			const parts = [{ kind: "text", text: "x" } as const, { kind: "call", id: "a", name: "ls" } as const];
			return [...reasons.length, ...reasons.stop].map((reason) => JSON.stringify(write({ reason, parts })));
		});
		const spoiled = fc.tuple(fc.constantFrom(...written), fc.nat(), value).map(([json, place, odd]) => {
			const all = (JSON.parse(json) as object) ?? {};
			const places: [Record<string, unknown>, string][] = [];
			const walk = (object: object) => {
				for (const [key, below] of Object.entries(object)) {
					places.push([object as Record<string, unknown>, key]);
					if (typeof below === "object" && below !== null) walk(below);
				}
			};
			walk(all);
			const [holder, key] = places[place % places.length] ?? [{}, ""];
			holder[key] = odd;
			return all;
		});
		const count = { read: 0, refused: 0 };
		const property = fc.property(fc.oneof(value, fc.jsonValue(), spoiled, spoiled), (response) => {
			try {
				const { finishReason, text, calls } = readLastResponse(response);
				expect(["length", "stop", "tool_calls", "other"]).toContain(finishReason);
				expect(typeof text).toBe("string");
				for (const call of calls) {
					expect(["string", "undefined"]).toContain(typeof call.id);
					expect(["string", "undefined"]).toContain(typeof call.name);
					expect(typeof call.isUsable).toBe("boolean");
				}
				count.read += 1;
			} catch (error) {
				if (!(error instanceof PalimpsestError) || error.code !== "invalid_argument") throw error;
				count.refused += 1;
			}
		});
		fc.assert(property, { numRuns: numberOfCases(2_000) });
		expect(count.read).toBeGreaterThan(leastOfCases(150));
		expect(count.refused).toBeGreaterThan(leastOfCases(150));
	});

	it("is read at any nesting depth", () => {
		let deep: unknown = "x";
		for (let depth = 0; depth < 20_000; depth += 1) deep = { content: [deep], arguments: deep };
		expect(refusalOf(deep).code).toBe("invalid_argument");
		const call = { id: "a", function: { name: "ls", arguments: "[".repeat(100_000) } };
		const response = { finish_reason: "length", message: { content: deep, tool_calls: [call] } };
		expect(refusalOf(response).code).toBe("invalid_argument");
		const { calls } = readLastResponse({ finish_reason: "length", message: { content: [deep], tool_calls: [call] } });
		expect(calls[0]?.isUsable).toBe(false);
	});
});

const usable = (response: unknown) => readLastResponse(response).calls.map((call) => call.isUsable);

const chat = (reason: string, ...calls: unknown[]) => ({
	choices: [{ finish_reason: reason, message: { content: null, tool_calls: calls } }],
});

const callWithArguments = (written: unknown, name: unknown = "ls") => ({
	id: "a",
	function: { name, arguments: written },
});

const anthropic = (reason: string, ...content: unknown[]) => ({ stop_reason: reason, content });

const use = (input: unknown) => ({ type: "tool_use", id: "a", name: "ls", input });

describe("a call of Chat Completions", () => {
	it("is usable when its arguments are a JSON object, truncated or not", () => {
		for (const reason of ["length", "tool_calls"]) {
			expect(usable(chat(reason, callWithArguments('{"path":"."}'), callWithArguments("{}")))).toEqual([true, true]);
			for (const written of ['{"path":".', "[1]", "7", '"x"', "null", "x", "{} {}", 7, [1], true]) {
				expect(usable(chat(reason, callWithArguments(written)))).toEqual([false]);
			}
		}
	});

	it("may have no arguments, unless the cut may have removed them", () => {
		for (const nothing of ["", " ", null, undefined, {}]) {
			expect(usable(chat("tool_calls", callWithArguments(nothing)))).toEqual([true]);
			expect(usable(chat("length", callWithArguments(nothing), callWithArguments(nothing)))).toEqual([true, false]);
		}
	});

	it("is not usable without a name", () => {
		for (const name of ["", null, 7])
			expect(usable(chat("tool_calls", callWithArguments("{}", name)))).toEqual([false]);
		expect(usable(chat("tool_calls", { id: "a", function: { arguments: "{}" } }))).toEqual([false]);
	});

	it("is truncated wherever its text ends early", () => {
		const count = { cut: 0 };
		const property = fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), (input) => {
			const whole = JSON.stringify(input);
			expect(usable(chat("length", callWithArguments(whole)))).toEqual([true]);
			for (let end = 0; end < whole.length; end += 1) {
				expect(usable(chat("length", callWithArguments(whole.slice(0, end))))).toEqual([false]);
				count.cut += 1;
			}
		});
		fc.assert(property, { numRuns: 50 });
		expect(count.cut).toBeGreaterThan(50);
	});

	it("may take free text, which is never known to be complete", () => {
		const custom = { id: "a", type: "custom", custom: { name: "sh", input: "ls -l" } };
		expect(usable(chat("tool_calls", custom))).toEqual([true]);
		expect(usable(chat("length", custom, custom))).toEqual([true, false]);
	});

	it("may be the older `function_call`", () => {
		const message = { content: null, function_call: { name: "ls", arguments: '{"path":"' } };
		const { calls } = readLastResponse({ choices: [{ finish_reason: "length", message }] });
		expect(calls).toEqual([{ id: undefined, name: "ls", isUsable: false }]);
	});
});

describe("a call that ends a truncated answer", () => {
	const whole = { path: "a.txt" };

	it("counts as truncated when an object was made from the partial text", () => {
		expect(usable(anthropic("max_tokens", use(whole)))).toEqual([false]);
		expect(usable(anthropic("max_tokens", use({})))).toEqual([false]);
		expect(usable(anthropic("max_tokens", use(whole), use(whole)))).toEqual([true, false]);
		expect(usable(anthropic("max_tokens", use({}), { type: "text", text: "So" }))).toEqual([true]);
		expect(usable(anthropic("tool_use", use({})))).toEqual([true]);
		const bedrock = { toolUse: { toolUseId: "a", name: "ls", input: whole } };
		expect(usable({ stopReason: "max_tokens", output: { message: { content: [bedrock] } } })).toEqual([false]);
		expect(usable({ stopReason: "maxTokens", content: use(whole) })).toEqual([false]);
		const toolCalls = [{ toolCallId: "a", toolName: "ls", args: whole }];
		expect(usable({ finishReason: "length", text: "", toolCalls })).toEqual([false]);
	});

	it("is complete when the SDK ran it", () => {
		const given = { type: "tool-call", toolCallId: "a", toolName: "ls", input: whole };
		const failed = { type: "tool-error", toolCallId: "a", toolName: "ls", input: whole, error: "x" };
		const result = { type: "tool-result", toolCallId: "a", toolName: "ls", input: whole, output: "x" };
		const step = (...content: unknown[]) => ({ finishReason: "length", content });
		expect(usable(step(given))).toEqual([false]);
		expect(usable(step(given, failed))).toEqual([false]);
		expect(usable(step(given, result))).toEqual([true]);
	});

	it("is not a call when the SDK says so", () => {
		const given = { type: "tool-call", toolCallId: "a", toolName: "ls", input: whole, dynamic: true };
		const step = (invalid: boolean) => ({ finishReason: "tool-calls", content: [{ ...given, invalid }] });
		expect(usable(step(false))).toEqual([true]);
		expect(usable(step(true))).toEqual([false]);
	});

	it("is complete when Gemini has parsed it", () => {
		const gemini = (args: unknown) => ({
			candidates: [{ finishReason: "MAX_TOKENS", content: { parts: [{ functionCall: { name: "ls", args } }] } }],
		});
		expect(usable(gemini(whole))).toEqual([true]);
		for (const nothing of [{}, undefined]) expect(usable(gemini(nothing))).toEqual([false]);
	});
});

describe("a call that failed to parse", () => {
	it("is reported when Gemini gives only its reason", () => {
		const candidate = { finishReason: "MALFORMED_FUNCTION_CALL", content: { role: "model" } };
		expect(readLastResponse({ candidates: [candidate] })).toEqual({
			finishReason: "other",
			text: "",
			calls: [{ id: undefined, name: undefined, isUsable: false }],
		});
	});

	it("is unusable in Bedrock", () => {
		const content = [{ toolUse: { toolUseId: "a", name: "ls", input: {} } }];
		expect(usable({ stopReason: "malformed_tool_use", output: { message: { content } } })).toEqual([false]);
	});
});

describe("calls of the provider's own tools", () => {
	const responses = (...output: unknown[]) => ({ object: "response", status: "completed", output });

	it("are not the caller's", () => {
		const search = { type: "web_search_call", id: "w", status: "completed" };
		const found = { type: "tool_search_call", call_id: "t", execution: "server", arguments: {} };
		const shell = { type: "shell_call", call_id: "s", action: {} };
		const ran = { type: "shell_call_output", call_id: "s", output: [] };
		expect(usable(responses(search, found, shell, ran))).toEqual([]);
		expect(usable(anthropic("end_turn", { type: "server_tool_use", id: "s", name: "web_search", input: {} }))).toEqual(
			[],
		);
		const grounding = { toolUse: { toolUseId: "a", name: "x", type: "server_tool_use", input: {} } };
		expect(usable({ stopReason: "end_turn", output: { message: { content: [grounding] } } })).toEqual([]);
		const executed = { type: "tool-call", toolCallId: "a", toolName: "x", input: {}, providerExecuted: true };
		expect(usable({ finishReason: "stop", text: "", toolCalls: [executed] })).toEqual([]);
	});

	it("are the caller's when it must run them", () => {
		const shell = { type: "local_shell_call", id: "l", call_id: "s", status: "completed", action: {} };
		const custom = { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: "*** Begin" };
		const approval = { type: "mcp_approval_request", id: "m", name: "ls", server_label: "x", arguments: "{}" };
		expect(readLastResponse(responses(shell, custom, approval)).calls).toEqual([
			{ id: "s", name: "local_shell", isUsable: true },
			{ id: "c", name: "apply_patch", isUsable: true },
			{ id: "m", name: "ls", isUsable: true },
		]);
		const cut = { object: "response", status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
		expect(usable({ ...cut, output: [shell, { ...custom, status: "incomplete" }] })).toEqual([true, false]);
		expect(usable({ ...cut, output: [custom, custom] })).toEqual([true, false]);
		const filtered = { ...cut, incomplete_details: { reason: "content_filter" } };
		const written = { type: "function_call", call_id: "f", name: "ls", arguments: "{}" };
		expect(usable({ ...filtered, output: [written, custom] })).toEqual([true, true]);
		const incomplete = [written, custom].map((item) => ({ ...item, status: "incomplete" }));
		expect(usable({ ...filtered, output: incomplete })).toEqual([false, false]);
	});
});

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

const encoder = new TextEncoder();

/** What Anthropic's SDK puts together from a stream whose last call was cut. */
async function streamedByAnthropic() {
	const usage = { input_tokens: 9, output_tokens: 9 };
	const use = { type: "tool_use", id: "a", name: "ls", input: {} };
	const pieces = ['{"path":"src","dep', 'th":'];
	const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, usage };
	const events = [
		{ type: "message_start", message },
		{ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
		{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I look." } },
		{ type: "content_block_stop", index: 0 },
		{ type: "content_block_start", index: 1, content_block: use },
		...pieces.map((partial_json) => ({
			type: "content_block_delta",
			index: 1,
			delta: { type: "input_json_delta", partial_json },
		})),
		{ type: "content_block_stop", index: 1 },
		{ type: "message_delta", delta: { stop_reason: "max_tokens", stop_sequence: null }, usage },
		{ type: "message_stop" },
	];
	const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
	const client = new Anthropic({
		apiKey: "none",
		baseURL: "http://localhost",
		fetch: async () => new Response(encoder.encode(body), { headers: { "content-type": "text/event-stream" } }),
	});
	const stream = client.messages.stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Go." }] });
	return stream.finalMessage();
}

/** What the AI SDK makes of a model's answer. */
function generatedBy(input: string, unified: "length" | "tool-calls") {
	const none = undefined;
	const model = new MockLanguageModelV3({
		doGenerate: async () => ({
			content: [
				{ type: "reasoning", text: "Let me see." },
				{ type: "text", text: "I look." },
				{ type: "tool-call", toolCallId: "a", toolName: "ls", input },
			],
			finishReason: { unified, raw: none },
			usage: {
				inputTokens: { total: 9, noCache: none, cacheRead: none, cacheWrite: none },
				outputTokens: { total: 9, text: none, reasoning: none },
			},
			warnings: [],
		}),
	});
	const inputSchema = jsonSchema<{ path?: string }>({ type: "object", properties: { path: { type: "string" } } });
	return generateText({ model, prompt: "Go.", tools: { ls: tool({ inputSchema }) } });
}

describe("answers of SDKs", () => {
	it("reads an Anthropic stream with a truncated input that is an object", async () => {
		const message = await streamedByAnthropic();
		expect(message.content[1]).toMatchObject({ type: "tool_use", input: { path: "src" } });
		expect(readLastResponse(message)).toEqual({
			finishReason: "length",
			text: "I look.",
			calls: [{ id: "a", name: "ls", isUsable: false }],
		});
	});

	it.each(['{"path":"sr', "{}", '{"path":"src"}'])("reads the Vercel AI SDK: %s, truncated", async (input) => {
		const result = await generatedBy(input, "length");
		for (const given of [result, JSON.parse(JSON.stringify(result)), result.steps[0]]) {
			expect(readLastResponse(given)).toEqual({
				finishReason: "length",
				text: "I look.",
				calls: [{ id: "a", name: "ls", isUsable: false }],
			});
		}
	});

	it("reads the Vercel AI SDK, complete", async () => {
		const result = await generatedBy("{}", "tool-calls");
		for (const given of [result, JSON.parse(JSON.stringify(result)), result.steps[0]]) {
			expect(readLastResponse(given)).toMatchObject({ finishReason: "tool_calls", calls: [{ isUsable: true }] });
		}
	});
});
