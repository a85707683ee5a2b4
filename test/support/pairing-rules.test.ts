import { describe, expect, it } from "vitest";
import { refusalOfPairing } from "./pairing-rules.ts";

const user = { role: "user", content: "Hello" };

describe("the rules on calls and results", () => {
	it("ask for an answer to each call of Chat Completions before the next message", () => {
		const call = { role: "assistant", tool_calls: [{ id: "a" }, { id: "b" }] };
		const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });
		const refusal = (...messages: unknown[]) => refusalOfPairing("openai-chat", { messages });
		expect(refusal(user, call, result("b"), result("a"), user)).toBeUndefined();
		expect(refusal(user, call, result("a"), user)).toMatch(/did not have response messages: b/);
		expect(refusal(user, call, result("a"))).toMatch(/did not have response messages: b/);
		expect(refusal(user, result("a"))).toMatch(/must be a response/);
		expect(refusal(user, call, result("a"), result("a"))).toMatch(/must be a response/);
	});

	it("ask for one output to each call of Responses", () => {
		const call = { type: "function_call", call_id: "a" };
		const output = { type: "function_call_output", call_id: "a", output: "x" };
		const refusal = (...input: unknown[]) => refusalOfPairing("openai-responses", { input });
		expect(refusal(user, call, output)).toBeUndefined();
		expect(refusal(user, call)).toMatch(/No tool output found for function call a/);
		expect(refusal(user, output)).toMatch(/No tool call found/);
		expect(refusal(user, call, output, output)).toMatch(/Duplicate/);
	});

	it("ask for as many responses as calls of Gemini, in the next content", () => {
		const call = { role: "model", parts: [{ functionCall: { name: "a" } }, { functionCall: { name: "b" } }] };
		const responses = (...names: string[]) => ({
			role: "user",
			parts: names.map((name) => ({ functionResponse: { name } })),
		});
		const refusal = (...contents: unknown[]) => refusalOfPairing("gemini", { contents });
		const text = { role: "user", parts: [{ text: "Hello" }] };
		expect(refusal(text, call, responses("a", "b"))).toBeUndefined();
		expect(refusal(text, call, responses("a"))).toMatch(/equal to the number/);
		expect(refusal(text, call, text)).toMatch(/equal to the number/);
		expect(refusal(responses("a"))).toMatch(/equal to the number/);
		expect(refusal(text, text, responses("a"))).toMatch(/equal to the number/);
	});

	it("match Anthropic's Messages without the rules on thinking", () => {
		const asked = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "x", input: {} }] };
		const answered = { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "x" }] };
		const thinking = { type: "enabled", budget_tokens: 1024 };
		const refusal = (...messages: unknown[]) => refusalOfPairing("anthropic", { thinking, max_tokens: 1, messages });
		expect(refusal(user, asked, answered)).toBeUndefined();
		expect(refusal(user, asked, user)).toMatch(/without `tool_result` blocks/);
	});
});
