import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { modelOfCall } from "../../src/formats/model.ts";
import type { TokenEstimate } from "../../src/formats/tokens/estimate.ts";
import { calibrate } from "../../src/operations/context-window.ts";
import { asSent, countingReport, countText, tokenMeter } from "../../src/operations/count.ts";
import { shortenedRef } from "../../src/storage/restore/recognise.ts";
import { policyOf } from "../support/policy-of.ts";
import { messageOf, transcriptOf } from "../support/transcripts.ts";

const policy = policyOf();

describe("the count of a text", () => {
	it("is in the encoding of the call, else of the policy, else of the model", async () => {
		const text = "one two three";
		expect(await countText({ text, policy })).toEqual({
			...{ tokens: 3, low: 3, high: 3, encoding: "o200k_base", method: "exact", factor: 1, notes: [] },
		});
		const named = await countText({ text, policy, model: "gpt-4" });
		expect(named).toMatchObject({ tokens: 3, encoding: "cl100k_base", method: "exact" });
		const configured = policyOf({ guard: { model: "gpt-4" } });
		expect(await countText({ text, policy: configured })).toMatchObject({ encoding: "cl100k_base" });
		expect(await countText({ text, policy: configured, model: "gpt-4o" })).toMatchObject({ encoding: "o200k_base" });
		expect(await countText({ text, policy: configured, encoding: "o200k_base" })).toMatchObject({
			encoding: "o200k_base",
		});
		const claude = await countText({ text: "word ".repeat(100), policy, model: "claude-opus-4-8" });
		expect(claude).toMatchObject({ method: "estimated", factor: 1.56 });
		expect(claude.low).toBeLessThan(claude.tokens);
		expect(claude.high).toBeGreaterThan(claude.tokens);
	});

	it("is refused for no text, and in an unknown encoding", async () => {
		const refused = { code: "invalid_argument" };
		await expect(countText({ text: 7 as never, policy })).rejects.toMatchObject(refused);
		await expect(countText({ text: "x", policy, encoding: "p50k" as never })).rejects.toMatchObject(refused);
	});

	it("adds the overhead of a message that the policy sets", async () => {
		const other = policyOf({ tokens: { message_overhead: 9 } });
		const { meter, estimate } = await tokenMeter(other, undefined);
		expect([meter.messageOverhead, meter.countTokens("x")]).toEqual([9, 1]);
		expect(countingReport(estimate)).toEqual({ encoding: "o200k_base", method: "exact", factor: 1 });
	});
});

describe("the model of a call", () => {
	const of = (document: unknown, named?: string, model?: string) =>
		modelOfCall(named, document, policyOf(model === undefined ? {} : { guard: { model } }));
	const messages = [{ role: "user", content: "Go." }];

	it("is the named one, else the request body's, else the policy's", () => {
		expect(of({ model: "a", messages }, "b", "c")).toBe("b");
		expect(of({ model: "a", modelId: "d", messages }, undefined, "c")).toBe("a");
		expect(of({ modelId: "d", messages }, undefined, "c")).toBe("d");
		expect(of({ model: 7, messages }, undefined, "c")).toBe("c");
		expect(of(messages, undefined, "c")).toBe("c");
		expect(of(messages)).toBeUndefined();
	});
});

describe("the overhead of a conversation", () => {
	const messages = [{ role: "user", content: "Go." }];
	const tools = [{ type: "function", function: { name: "ls" } }];
	const sent = (document: unknown, given: { tools?: unknown; model?: string } = {}) =>
		asSent(readConversation(document), { model: given.model, tools: given.tools });
	const counted = (text: string) => text.length;

	it("has the tools of the body, or those that are passed, but not both", () => {
		expect(sent(messages).transcript.surroundings).toEqual([]);
		expect(sent(messages, { tools }).transcript.surroundings).toEqual([JSON.stringify(tools)]);
		expect(sent({ messages, tools }).transcript.surroundings).toEqual([JSON.stringify(tools)]);
		expect(() => sent({ messages, tools }, { tools })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
		const converse = { messages: [{ role: "user", content: [{ text: "Go." }] }], toolConfig: { tools } };
		expect(() => sent(converse, { tools })).toThrow("holds none");
		expect(() => sent({ messages, tools: null }, { tools })).not.toThrow();
	});

	it("has the provider's addition for tools, where the model is known", () => {
		const overhead = (given: { tools?: unknown; model?: string }, document: unknown = messages) =>
			sent(document, given).requestOverhead(counted);
		expect(overhead({ tools })).toBe(0);
		expect(overhead({ model: "claude-sonnet-4-5" })).toBe(0);
		const added = overhead({ model: "claude-sonnet-4-5", tools });
		expect(added).toBeGreaterThan(100);
		expect(overhead({ model: "claude-sonnet-4-5" }, { messages, tools })).toBe(added);
	});
});

describe("a count that is calibrated", () => {
	const estimate: TokenEstimate = {
		...{ encoding: "o200k_base", method: "exact", notes: ["a note"] },
		scale: { low: 1, factor: 1, high: 1 },
	};
	const size = (tokens: number) => ({ chars: 0, tokens, fixed: 10 });
	const [question, answer] = [messageOf({ role: "user" }), messageOf()];

	/** Of 210 tokens with 20 fixed ones, 110 with 10 stand before the answer. */
	const by = (inputTokens: number | undefined) =>
		calibrate(estimate, {
			transcript: transcriptOf(question, answer),
			measurement: { messages: [size(110), size(100)], surroundingTokens: 0, total: { ...size(210), fixed: 20 } },
			inputTokens,
		});

	it("follows the provider's number for the messages before the answer", () => {
		expect(by(undefined)).toBe(estimate);
		const { scale, ...rest } = by(10 + 104) ?? {};
		expect(rest).toEqual({ encoding: "o200k_base", method: "calibrated", notes: [] });
		const width = 0.05 + 0.2 * (1 - 100 / 190);
		expect(scale?.factor).toBe(1.04);
		expect(scale?.low).toBeCloseTo(1.04 * (1 - width), 9);
		expect(scale?.high).toBeCloseTo(1.04 * (1 + width), 9);
		expect(by(10 + 33.36 * 3)).toMatchObject({ scale: { factor: 1.001 } });
	});

	it("notes a number that is too large to be explained, and ignores an impossible one", () => {
		expect(by(10 + 110)?.notes).toEqual([]);
		expect(by(10 + 111)?.notes).toEqual([expect.stringMatching(/^The usage given is larger/)]);
		expect(by(10 + 20)?.method).toBe("calibrated");
		expect(by(10 + 500)?.method).toBe("calibrated");
		for (const impossible of [10 + 19, 10 + 501, 0]) {
			expect(by(impossible)).toEqual({
				...estimate,
				notes: [
					"a note",
					expect.stringMatching(/^The given usage, \d+ input tokens, cannot belong .* which had 110 counted/),
				],
			});
		}
	});
});

describe("the reference of a shortened text", () => {
	const notice = "[Output shortened: 7 of 9 lines left out (70 of 90 characters), ref=abc12345]";

	it("is in a notice at its top, or after the command of a hook", () => {
		expect(shortenedRef(`${notice}\nline`)).toBe("abc12345");
		expect(shortenedRef(`[Exit code 1 after 2.0 s. All of it: palimpsest recall abc-12345]\nx`)).toBe("abc-12345");
		expect(shortenedRef(`line\n${notice}`)).toBeUndefined();
		expect(shortenedRef("[All of it: palimpsest recall abcd]\nx")).toBeUndefined();
		expect(shortenedRef(`[All of it: palimpsest recall ${"a".repeat(41)}]\nx`)).toBeUndefined();
		expect(shortenedRef("x\n[All of it: palimpsest recall abc12345]")).toBeUndefined();
		expect(shortenedRef("So: [All of it: palimpsest recall abc12345]")).toBeUndefined();
		expect(shortenedRef("[Output shortened: 7 of 9 lines left out (70 of 90 characters)]\nx")).toBeUndefined();
		expect(shortenedRef("")).toBeUndefined();
	});
});
