import { fc } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { PalimpsestError } from "../../../src/errors.ts";
import { readLastResponse } from "../../../src/formats/last-response.ts";
import { answerRows } from "./answer-rows.ts";

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
	it("is put together from its parts", () => {
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

	it("has no reasoning that an endpoint left in it", () => {
		expect(textOf(said("<think>\nHm.\n</think>\n\nThe files a"))).toBe("The files a");
		expect(textOf(said("\n<think>\nHm, the fi"))).toBe("");
		expect(textOf(said("A tag is <think>"))).toBe("A tag is <think>");
	});

	it("has no half characters", () => {
		expect(textOf(said("Well 😀".slice(0, -1)))).toBe("Well \ufffd");
	});
});

describe("an answer", () => {
	it("is the last step of several", () => {
		const step = (text: string, finishReason: string) => ({ content: [{ type: "text", text }], finishReason });
		expect(readLastResponse({ steps: [step("One", "tool-calls"), step("Two", "length")] })).toEqual({
			finishReason: "length",
			text: "Two",
			calls: [],
		});
	});

	it("is known by its own names where others fit too", () => {
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

	it("need not say why it ended", () => {
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

	it("may hold nothing", () => {
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

describe("anything else", () => {
	it("is refused, by kind and without its text", () => {
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

	it("is refused where it looks like an answer only", () => {
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

	it("never fails in another way", () => {
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
		fc.assert(property, { numRuns: 2000 });
		expect(count.read).toBeGreaterThan(150);
		expect(count.refused).toBeGreaterThan(150);
	});

	it("is read however deep it is nested", () => {
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
