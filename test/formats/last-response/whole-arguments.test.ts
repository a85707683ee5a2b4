import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { readLastResponse } from "../../../src/formats/last-response.ts";

const usable = (response: unknown) => readLastResponse(response).calls.map((call) => call.isUsable);
const chat = (reason: string, ...calls: unknown[]) => ({
	choices: [{ finish_reason: reason, message: { content: null, tool_calls: calls } }],
});
const call = (written: unknown, name: unknown = "ls") => ({ id: "a", function: { name, arguments: written } });
const anthropic = (reason: string, ...content: unknown[]) => ({ stop_reason: reason, content });
const use = (input: unknown) => ({ type: "tool_use", id: "a", name: "ls", input });

describe("a call of Chat Completions", () => {
	it("is usable where its arguments are a JSON object, cut or not", () => {
		for (const reason of ["length", "tool_calls"]) {
			expect(usable(chat(reason, call('{"path":"."}'), call("{}")))).toEqual([true, true]);
			for (const written of ['{"path":".', "[1]", "7", '"x"', "null", "x", "{} {}", 7, [1], true]) {
				expect(usable(chat(reason, call(written)))).toEqual([false]);
			}
		}
	});

	it("may have no arguments, but not where the cut may have come before them", () => {
		for (const nothing of ["", " ", null, undefined, {}]) {
			expect(usable(chat("tool_calls", call(nothing)))).toEqual([true]);
			expect(usable(chat("length", call(nothing), call(nothing)))).toEqual([true, false]);
		}
	});

	it("is not usable without a name", () => {
		for (const name of ["", null, 7]) expect(usable(chat("tool_calls", call("{}", name)))).toEqual([false]);
		expect(usable(chat("tool_calls", { id: "a", function: { arguments: "{}" } }))).toEqual([false]);
	});

	it("is cut wherever its text ends before it does", () => {
		const count = { cut: 0 };
		const property = fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), (input) => {
			const whole = JSON.stringify(input);
			expect(usable(chat("length", call(whole)))).toEqual([true]);
			for (let end = 0; end < whole.length; end += 1) {
				expect(usable(chat("length", call(whole.slice(0, end))))).toEqual([false]);
				count.cut += 1;
			}
		});
		fc.assert(property, { numRuns: 50 });
		expect(count.cut).toBeGreaterThan(50);
	});

	it("may take free text, which nobody can tell to be whole", () => {
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

describe("a call that ends a cut answer", () => {
	const whole = { path: "a.txt" };

	it("is taken for cut where an object is made of what came", () => {
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

	it("is whole where the SDK ran it", () => {
		const given = { type: "tool-call", toolCallId: "a", toolName: "ls", input: whole };
		const failed = { type: "tool-error", toolCallId: "a", toolName: "ls", input: whole, error: "x" };
		const result = { type: "tool-result", toolCallId: "a", toolName: "ls", input: whole, output: "x" };
		const step = (...content: unknown[]) => ({ finishReason: "length", content });
		expect(usable(step(given))).toEqual([false]);
		expect(usable(step(given, failed))).toEqual([false]);
		expect(usable(step(given, result))).toEqual([true]);
	});

	it("is none where the SDK says so", () => {
		const given = { type: "tool-call", toolCallId: "a", toolName: "ls", input: whole, dynamic: true };
		const step = (invalid: boolean) => ({ finishReason: "tool-calls", content: [{ ...given, invalid }] });
		expect(usable(step(false))).toEqual([true]);
		expect(usable(step(true))).toEqual([false]);
	});

	it("is whole where Gemini has parsed it", () => {
		const gemini = (args: unknown) => ({
			candidates: [{ finishReason: "MAX_TOKENS", content: { parts: [{ functionCall: { name: "ls", args } }] } }],
		});
		expect(usable(gemini(whole))).toEqual([true]);
		for (const nothing of [{}, undefined]) expect(usable(gemini(nothing))).toEqual([false]);
	});
});

describe("a call that did not parse", () => {
	it("is told of where Gemini gives its reason only", () => {
		const candidate = { finishReason: "MALFORMED_FUNCTION_CALL", content: { role: "model" } };
		expect(readLastResponse({ candidates: [candidate] })).toEqual({
			finishReason: "other",
			text: "",
			calls: [{ id: undefined, name: undefined, isUsable: false }],
		});
	});

	it("is not usable in Bedrock", () => {
		const content = [{ toolUse: { toolUseId: "a", name: "ls", input: {} } }];
		expect(usable({ stopReason: "malformed_tool_use", output: { message: { content } } })).toEqual([false]);
	});
});

describe("calls of the provider's own tools", () => {
	const responses = (...output: unknown[]) => ({ object: "response", status: "completed", output });

	it("are none of the caller's", () => {
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

	it("are the caller's where it is to run them", () => {
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
