import { describe, expect, it } from "vitest";
import type { Api } from "../../../src/proxy/billing/observed-caching.ts";
import { readUsage } from "../../../src/proxy/billing/read-usage.ts";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import { inputBill, type Usage } from "../../../src/proxy/billing/usage.ts";
import { policyOf } from "../../support/policy-of.ts";
import { awsFrame } from "../../support/stand-in-cloud.ts";

const { prices } = policyOf();

async function readFrom(api: Api, type: string, text: string): Promise<Usage | undefined> {
	const reader = readUsage({ headers: { "content-type": type } }, api);
	for (let at = 0; at < text.length; at += 11) reader.push(Buffer.from(text.slice(at, at + 11)));
	return reader.end();
}

const whole = (api: Api, answer: unknown) => readFrom(api, "application/json", JSON.stringify(answer));
const streamed = (api: Api, ...events: readonly unknown[]) =>
	readFrom(api, "text/event-stream; charset=utf-8", events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));

/** Usage of 10 000 tokens of input and 10 of output, as each provider and gateway documents it. */
const chat = { prompt_tokens: 10_000, completion_tokens: 10, total_tokens: 10_010 };
const responses = { input_tokens: 10_000, output_tokens: 10, total_tokens: 10_010 };
const split = (input: number, cacheRead: number, cacheWrite = 0, more = {}) => ({
	input,
	cacheRead,
	cacheWrite,
	...more,
	output: 10,
});
const kinds: readonly (readonly [string, object, Usage])[] = [
	["OpenAI", { ...chat, prompt_tokens_details: { cached_tokens: 9_000 } }, split(1_000, 9_000)],
	[
		"OpenAI from GPT-5.6 on",
		{ ...chat, prompt_tokens_details: { cached_tokens: 6_000, cache_write_tokens: 3_000 } },
		split(1_000, 6_000, 3_000),
	],
	["Responses", { ...responses, input_tokens_details: { cached_tokens: 9_000 } }, split(1_000, 9_000)],
	[
		"Responses from GPT-5.6 on",
		{ ...responses, input_tokens_details: { cached_tokens: 6_000, cache_write_tokens: 4_000 } },
		split(0, 6_000, 4_000),
	],
	["DeepSeek", { ...chat, prompt_cache_hit_tokens: 9_000, prompt_cache_miss_tokens: 1_000 }, split(1_000, 9_000)],
	[
		"DeepSeek without a sum",
		{ completion_tokens: 10, prompt_cache_hit_tokens: 9_000, prompt_cache_miss_tokens: 1_000 },
		split(1_000, 9_000),
	],
	["Moonshot", { ...chat, cached_tokens: 9_000 }, split(1_000, 9_000)],
	[
		"LiteLLM for Claude",
		{
			...chat,
			prompt_tokens_details: { cached_tokens: 6_000, cache_creation_tokens: 3_000 },
			cache_read_input_tokens: 6_000,
			cache_creation_input_tokens: 3_000,
		},
		split(1_000, 6_000, 3_000),
	],
	[
		"LiteLLM with the times of writes",
		{
			...chat,
			prompt_tokens_details: {
				cached_tokens: 6_000,
				cache_creation_tokens: 3_000,
				cache_creation_token_details: { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 2_000 },
			},
		},
		split(1_000, 6_000, 3_000, { cacheWriteForHour: 2_000 }),
	],
	[
		"a gateway with the fields of Anthropic alone",
		{ ...responses, cache_read_input_tokens: 6_000, cache_creation_input_tokens: 3_000 },
		split(1_000, 6_000, 3_000),
	],
	[
		"OpenRouter for Claude",
		{ ...chat, prompt_tokens_details: { cached_tokens: 6_000, cache_write_tokens: 3_000 } },
		split(1_000, 6_000, 3_000),
	],
	["a server that does not cache", chat, split(10_000, 0)],
	["one with details of null", { ...chat, prompt_tokens_details: null, cached_tokens: null }, split(10_000, 0)],
];

describe("the usage of an answer", () => {
	it.each(kinds)("of %s is read", async (_, usage, expected) => {
		expect(await whole("openai", { choices: [], usage })).toEqual(expected);
		expect(await whole("openai", { object: "response", output: [], usage })).toEqual(expected);
	});

	it.each(kinds)("of %s is read from a stream", async (_, usage, expected) => {
		expect(await streamed("openai", { choices: [{ delta: {} }], usage: null }, { choices: [], usage })).toEqual(
			expected,
		);
		const created = { type: "response.created", response: { usage: null } };
		expect(await streamed("openai", created, { type: "response.completed", response: { usage } })).toEqual(expected);
		// Moonshot's streams tell it in the last choice.
		expect(await streamed("openai", { choices: [{ delta: {} }] }, { choices: [{ delta: {}, usage }] })).toEqual(
			expected,
		);
	});

	it("of Anthropic counts read and written tokens in addition to the input", async () => {
		const usage = { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 10 };
		expect(await whole("anthropic", { usage })).toEqual(split(5, 100, 20));
	});

	it.each([
		["cached_tokens", { input_tokens: 10_000, cached_tokens: 9_000, output_tokens: 10 }],
		["prompt_cache_hit_tokens", { input_tokens: 10_000, prompt_cache_hit_tokens: 9_000, output_tokens: 10 }],
	])("of an endpoint of that style that includes reads in the input is recognised by %s", async (_, usage) => {
		expect(await whole("anthropic", { usage })).toEqual(split(1_000, 9_000));
	});

	it.each([
		["null", { input_tokens: null, cache_read_input_tokens: null, output_tokens: 10 }],
		["0", { input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 10 }],
		["nothing", { output_tokens: 10 }],
		["the same", { input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 10 }],
	])("of a stream of Anthropic stays when the last event repeats it as %s", async (_, last) => {
		const usage = { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 };
		const start = { type: "message_start", message: { usage } };
		expect(await streamed("anthropic", start, { type: "message_delta", usage: last })).toEqual(split(5, 100, 20));
	});

	it("of Bedrock's Converse is read", async () => {
		const usage = { inputTokens: 5, cacheReadInputTokens: 100, cacheWriteInputTokens: 20, outputTokens: 10 };
		expect(await whole("anthropic", { output: {}, usage })).toEqual(split(5, 100, 20));
	});

	it("of a stream with figures in the last event alone comes from that event", async () => {
		const start = { type: "message_start", message: { usage: { input_tokens: 0, output_tokens: 0 } } };
		const usage = { input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 10 };
		expect(await streamed("anthropic", start, { type: "message_delta", usage })).toEqual(split(5, 100));
	});

	it.each([
		["a line", undefined],
		["an event of many lines", 1],
	])("of %s of more than a megabyte, which is not kept, is in its end", async (_, indent) => {
		const reader = readUsage({ headers: { "content-type": "text/event-stream" } }, "openai");
		const push = (tokens: number, list: readonly string[], to = reader) => {
			const json = JSON.stringify({ list, usage: { prompt_tokens: tokens, completion_tokens: 10 } }, null, indent);
			const text = `${json.replace(/^/gm, "data: ")}\n\n`;
			for (let at = 0; at < text.length; at += 50_000) to.push(Buffer.from(text.slice(at, at + 50_000)));
		};
		const large = Array<string>(1_200).fill("x".repeat(1_000));
		push(7, large);
		push(8, []);
		expect(await reader.end()).toEqual(split(8, 0));
		const other = readUsage({ headers: { "content-type": "text/event-stream" } }, "openai");
		push(8, [], other);
		push(9, large, other);
		expect(await other.end()).toEqual(split(9, 0));
	});

	it.each([
		["the first chunk alone", { choices: [], service_tier: "flex", usage: null }, { choices: [], usage: chat }],
		[
			"an event that is too large to be held",
			{ type: "response.created", response: { service_tier: "auto", usage: null } },
			{ response: { output: [{ text: "a".repeat(1_200_000) }], service_tier: "flex", usage: responses } },
		],
	])("has the tier of %s", async (_, first, last) => {
		const reader = readUsage({ headers: { "content-type": "text/event-stream" } }, "openai");
		const text = [first, last].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
		for (let at = 0; at < text.length; at += 50_000) reader.push(Buffer.from(text.slice(at, at + 50_000)));
		expect(await reader.end()).toEqual(split(10_000, 0));
		expect(reader.served().tier).toBe("flex");
	});

	it("of Gemini is split by what its cache held", async () => {
		const usageMetadata = {
			promptTokenCount: 125,
			cachedContentTokenCount: 100,
			candidatesTokenCount: 4,
			thoughtsTokenCount: 6,
		};
		expect(await whole("gemini", { usageMetadata })).toEqual(split(25, 100));
		const withPage = { ...usageMetadata, toolUsePromptTokenCount: 1_000 };
		expect(await whole("gemini", { usageMetadata: withPage })).toEqual(split(1_025, 100));
	});

	it.each([
		["openai", { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 1e6, cache_write_tokens: 1e6 } }],
		["openai", { prompt_tokens: 10, cached_tokens: 1e6 }],
		["openai", { prompt_tokens: 10, prompt_cache_hit_tokens: 1e6 }],
		["openai", { input_tokens: 10, input_tokens_details: { cached_tokens: 9, cache_write_tokens: 9 } }],
		["openai", { prompt_tokens: 1e300, cached_tokens: -5 }],
		["openai", { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
		["gemini", { promptTokenCount: 10, cachedContentTokenCount: 1e6 }],
		["anthropic", { input_tokens: 10, cached_tokens: 1e6 }],
		["anthropic", { input_tokens: 0, output_tokens: 7, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 }],
		["anthropic", { inputTokens: 0, outputTokens: 3 }],
	] as const)("of %s is unknown where it contradicts itself or has no prompt: %j", async (api, usage) => {
		expect(await whole(api, { usage, usageMetadata: usage })).toBeUndefined();
	});

	it("never has more tokens written for an hour than written", async () => {
		const creation = { ephemeral_1h_input_tokens: 1e6, ephemeral_5m_input_tokens: -7 };
		const usage = { input_tokens: 0, cache_creation_input_tokens: 10, cache_creation: creation };
		expect(await whole("anthropic", { usage })).toMatchObject({ cacheWrite: 10, cacheWriteForHour: 10 });
	});
});

describe("the bill of the input", () => {
	const marked = (ttl?: string) => [
		{ content: [{ type: "text", text: "a", cache_control: { type: "ephemeral", ttl } }] },
	];
	const usage = { input: 100, cacheRead: 1_000, cacheWrite: 400, output: 10 };

	it.each([
		["claude-opus-5-5", "anthropic", { messages: marked() }, 100 + 1_000 * 0.05 + 400 * 1.25],
		["claude-opus-5-5", "anthropic", { messages: marked("1h") }, 100 + 1_000 * 0.05 + 400 * 2],
		["anthropic/claude-opus-5.5", "openai", { messages: [] }, 100 + 1_000 * 0.05 + 400 * 1.25],
		["us.anthropic.claude-opus-5-5-v1:0", "anthropic", { messages: marked() }, 100 + 1_000 * 0.05 + 400 * 1.25],
		["claude-opus-5-5@20261101", "anthropic", { messages: marked() }, 100 + 1_000 * 0.05 + 400 * 1.25],
		["gpt-5.6-sol", "openai", { input: [] }, 100 + 1_000 * 0.1 + 400 * 1.25],
		["gpt-4o", "openai", { messages: [] }, 100 + 1_000 * 0.5 + 400 * 1.25],
		// Nothing was asked to be cached, and yet the answer says that it was.
		["claude-opus-5", "anthropic", { messages: [] }, 100 + 1_000 * 0.1 + 400 * 1.25],
	] as const)("has the prices of %s (%s)", (model, api, body, expected) => {
		expect(inputBill(usage, cacheTerms({ model, ...body }, api, prices))).toBeCloseTo(expected, 6);
	});

	it("counts each token for as long as it was written", () => {
		const terms = cacheTerms({ model: "claude-opus-5-5", messages: marked() }, "anthropic", prices);
		expect(inputBill({ ...usage, cacheWriteForHour: 300 }, terms)).toBeCloseTo(100 + 50 + 300 * 2 + 100 * 1.25, 6);
	});

	it("of a prompt over a step is multiplied, for tokens read and written too", () => {
		const terms = cacheTerms({ model: "claude-haiku-5-5", messages: marked() }, "anthropic", prices);
		const below = { input: 1_000, cacheRead: 90_000, cacheWrite: 9_000, output: 0 };
		expect(inputBill(below, terms)).toBeCloseTo(1_000 + 9_000 + 11_250, 6);
		expect(inputBill({ ...below, input: 1_001 }, terms)).toBeCloseTo(5 * (1_001 + 9_000 + 11_250), 6);
	});
});

describe("the usage in a stream of AWS", () => {
	const type = "application/vnd.amazon.eventstream";
	const usage = { input_tokens: 5, cache_read_input_tokens: 900, cache_creation_input_tokens: 95, output_tokens: 1 };
	const start = awsFrame(JSON.stringify({ type: "message_start", message: { usage } }));
	const end = awsFrame(JSON.stringify({ type: "message_delta", usage: { output_tokens: 30 } }));
	const read = async (bytes: Buffer, pieceLength: number) => {
		const reader = readUsage({ headers: { "content-type": type } }, "anthropic");
		for (let at = 0; at < bytes.length; at += pieceLength) reader.push(bytes.subarray(at, at + pieceLength));
		return reader.end();
	};
	const found = { input: 5, cacheRead: 900, cacheWrite: 95, output: 30 };

	it.each([1, 7, 64, 100_000])("is found in pieces of %i bytes", async (length) => {
		expect(await read(Buffer.concat([start, end]), length)).toEqual(found);
	});

	it.each([100, 65_536, 10_000_000])("is found behind a large frame, in pieces of %i bytes", async (length) => {
		const large = awsFrame("x".repeat(3_000_000));
		expect(await read(Buffer.concat([start, large, end]), length)).toEqual(found);
	});

	it("ends at bytes that are not a frame, and comes from the frames before them", async () => {
		const noise = Buffer.from("HTTP/1.1 200 OK this is no frame");
		expect(await read(Buffer.concat([start, noise, end]), 10)).toEqual({ ...found, output: 1, isCut: true });
		expect(await read(Buffer.concat([start, awsFrame("no JSON"), end]), 10)).toEqual(found);
		expect(await read(noise, 3)).toBeUndefined();
		expect(await read(Buffer.alloc(100), 3)).toBeUndefined();
	});
});
