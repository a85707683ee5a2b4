import { describe, expect, it } from "vitest";
import { readConversation } from "../../../src/formats/detect.ts";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { billUnedited, type SizedPart, tokensOf } from "../../../src/proxy/billing/unedited-bill.ts";
import { partsAfter, partsOf } from "../../../src/proxy/sending/parts.ts";
import { policyOf } from "../../support/policy-of.ts";

const meter = { countTokens: (text: string) => text.length, messageOverhead: 3 };
const tools = [{ name: "bash", description: "Runs a command.", input_schema: { type: "object" } }];
const result = (content: string) => ({ type: "tool_result", tool_use_id: "toolu_01", content });

function partsOfBody(system: unknown, content = "a\nb") {
	const body = {
		system,
		tools,
		messages: [
			{ role: "user", content: "List the files." },
			{ role: "assistant", content: [{ type: "tool_use", id: "toolu_01", name: "bash", input: { command: "ls" } }] },
			{ role: "user", content: [result(content)] },
		],
	};
	return partsOf(readConversation(body).transcript, meter, 7);
}

const header = (value: string, more = {}) => ({
	type: "text",
	text: `x-anthropic-billing-header: cch=${value};`,
	...more,
});
const prompt = { type: "text", text: "You are an agent.", cache_control: { type: "ephemeral" } };

const terms = cacheTerms({}, "anthropic", policyOf().prices);

/** Tokens of the common start of two requests, as the bill counts them. */
function commonTokens(sent: readonly SizedPart[], before: readonly SizedPart[]): number {
	const request = { usage: undefined, scale: 1, terms, isCold: false };
	return billUnedited({
		...request,
		parts: { unedited: sent, sent },
		before: { unedited: before, sent: before },
	}).repeated;
}

describe("the parts of a request", () => {
	it("are what surrounds the messages, and then each message", () => {
		const parts = partsOfBody([prompt]);
		expect(parts).toHaveLength(4);
		expect(new Set(parts.map(({ key }) => key)).size).toBe(4);
		expect(parts.every(({ tokens }) => tokens > 3)).toBe(true);
	});

	it("have a common start up to the first message that differs", () => {
		const [one, other] = [partsOfBody([prompt]), partsOfBody([prompt], "c")];
		expect(commonTokens(one, one)).toBe(tokensOf(one));
		expect(commonTokens(one, other)).toBe(tokensOf(one.slice(0, 3)));
		expect(commonTokens(one, partsOfBody("Another prompt."))).toBe(0);
		expect(commonTokens(one, [])).toBe(0);
	});

	it.each([
		["first", [header("a1"), prompt], [header("b2", { cache_control: { type: "ephemeral" } }), prompt]],
		["last", [prompt, header("a1")], [prompt, header("b2")]],
	])("stay the same when the billing header of Claude Code changes, which is %s in `system`", (_, one, other) => {
		expect(partsOfBody(one)[0]?.key).toBe(partsOfBody(other)[0]?.key);
	});

	it.each([
		["another block of `system`", [header("a"), prompt], [header("a"), { type: "text", text: "You are a cat." }]],
		[
			"a text that quotes the header",
			"It sends x-anthropic-billing-header: a",
			"It sends x-anthropic-billing-header: b",
		],
		[
			"a block that quotes it",
			[{ type: "text", text: "See x-anthropic-billing-header: a" }],
			[{ type: "text", text: "See x-anthropic-billing-header: b" }],
		],
	])("differ by %s", (_, one, other) => {
		expect(partsOfBody(one)[0]?.key).not.toBe(partsOfBody(other)[0]?.key);
	});

	it("after an edit differ in the message that holds it, and have its tokens", () => {
		const parts = partsOfBody([prompt], "x".repeat(1_000));
		const after = partsAfter(parts, [{ message: 2, name: "masked 3", saved: 960 }]);
		expect(commonTokens(after, parts)).toBe(tokensOf(parts.slice(0, 3)));
		expect(tokensOf(parts) - tokensOf(after)).toBe(960);
	});
});
