import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { tiktoken } from "../formats/tokens/reference.ts";
import { awsFrame } from "../support/stand-in-cloud.ts";
import { requestOf, type SessionApi, type Turn, textsIn } from "./sessions.ts";
import type { Received, Sent } from "./upstream.ts";

type Json = Readonly<Record<string, unknown>>;

/**
 * `reported`: prompts are cached, and answers tell so. `none`: no prompt is cached, and answers have no field for it. `untold`:
 * prompts are cached, and no answer tells any tokens.
 */
export type Caches = "reported" | "none" | "untold";

/**
 * How the usage of an answer is told. Of `cut`, `zero`, `missing` and `tiers` these are some answers: they end before the last
 * event, tell zeros, tell nothing, or were served for half the price.
 */
export const usageKinds = ["nested", "tiers", "packed", "cut", "zero", "missing"] as const;

export type UsageKind = (typeof usageKinds)[number];

/** An API as a program asks it for a model. */
export interface PlayedApi {
	readonly name: string;
	readonly upstream: "anthropic" | "openai" | "gemini" | "bedrock" | "vertex";
	readonly tariff: Tariff;
	/** The provider counts in tokens of its own; `undefined`: in those of o200k_base. */
	readonly charsPerToken?: number;
	readonly requestAfter: (turns: readonly Turn[], options: { readonly streams: boolean }) => Sent;
	/** What an answer in another tier costs; by default half. 0: our table has no price for it. */
	readonly otherTier?: number;
	/** Events of a stream tell the input first. */
	readonly tellsInputFirst?: true;
	/** Amazon's frames hold the events as they are. */
	readonly hasPlainFrames?: true;
	/** The events of an answer with the usage in the fields of this API, the last alone where it is not streamed. */
	readonly eventsOf: (tokens: Tokens, caches: Caches) => readonly Json[];
}

/** By the provider's page of prices. Factors are multiples of the price of an input token. */
interface Tariff {
	readonly read: number;
	readonly write: number;
	/** All tokens of a larger prompt cost so many times as much. */
	readonly step?: { readonly over: number; readonly input: number; readonly output: number };
	/** US dollars for a million tokens of input and of output. */
	readonly dollars: readonly [number, number];
	readonly cacheMinutes: number;
	/** Prompts are cached in steps of so many tokens. */
	readonly grain: number;
}

interface Tokens {
	/** Neither read nor written. */
	readonly input: number;
	readonly read: number;
	readonly written: number;
	readonly output: number;
}

/** A provider that keeps its own books: it knows nothing but the bytes of the requests and its prices. */
export function startBooks({
	api,
	caches,
	now,
	kind,
}: {
	readonly api: PlayedApi;
	readonly caches: Caches;
	readonly now: () => number;
	readonly kind?: UsageKind | undefined;
}) {
	const { tariff, charsPerToken } = api;
	const totals = { requests: 0, billed: 0, dollars: 0, overStep: 0 };
	let before = { text: "", at: 0 };
	const tokensOf = (text: string) =>
		charsPerToken === undefined ? tiktoken.o200k_base(text) : Math.ceil(text.length / charsPerToken);

	/** Told in another way, where the kind is of some answers: of none that is the first of a process. */
	const isOdd = () => [3, 5, 8, 12].includes(totals.requests);

	const enter = (body: string): Tokens => {
		const text = promptOf(JSON.parse(body) as Json);
		const isWarm = caches !== "none" && now() - before.at < tariff.cacheMinutes * 60_000;
		const common = isWarm ? tokensOf(text.slice(0, commonChars(text, before.text))) : 0;
		const read = common < 1_024 ? 0 : Math.floor(common / tariff.grain) * tariff.grain;
		before = { text, at: now() };
		const rest = tokensOf(text) - read;
		const written = caches !== "none" && tariff.write > 1 ? rest - 3 : 0;
		const tokens = { input: rest - written, read, written, output: 700 };
		const all = rest + read;
		const { input: factor, output: outputFactor } =
			tariff.step && all > tariff.step.over ? tariff.step : { input: 1, output: 1 };
		const billed = factor * (tokens.input + tariff.read * read + tariff.write * written);
		const [input, output] = tariff.dollars;
		totals.requests += 1;
		totals.billed += billed;
		const tier = kind === "tiers" && isOdd() ? (api.otherTier ?? 0.5) : 1;
		totals.dollars += (tier * (billed * input + outputFactor * tokens.output * output)) / 1_000_000;
		totals.overStep += factor > 1 ? 1 : 0;
		return tokens;
	};

	const answer = ({ path, body }: Received, response: ServerResponse) => {
		const tokens = enter(body.toString());
		const told = caches === "untold" ? [{ object: "chat.completion.chunk" }] : api.eventsOf(tokens, caches);
		const events = kind ? told.map((event) => retold(event, kind, isOdd())) : told;
		const streams = /stream/i.test(path) || (JSON.parse(body.toString()) as Json).stream === true;
		const isAws = api.upstream === "bedrock";
		const type = !streams ? "application/json" : isAws ? "application/vnd.amazon.eventstream" : "text/event-stream";
		const as = api.hasPlainFrames ? "plain" : undefined;
		const frame = (event: Json) => (isAws ? awsFrame(JSON.stringify(event), as) : `data: ${JSON.stringify(event)}\n\n`);
		const pieces = streams ? events.map(frame) : [JSON.stringify(events.at(-1))];
		const whole = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
		if (kind === "packed") {
			response.writeHead(200, { "Content-Type": type, "Content-Encoding": "gzip" }).end(gzipSync(whole));
		} else if (kind === "cut" && isOdd()) {
			const begun = streams ? whole.subarray(0, whole.length - Buffer.byteLength(pieces.at(-1) as string)) : "{";
			response.writeHead(200, { "Content-Type": type }).write(begun, () => response.destroy());
		} else response.writeHead(200, { "Content-Type": type }).end(whole);
	};

	return { enter: ({ body }: Sent) => void enter(String(body)), answer, totals };
}

/** An event or an answer with its usage told in another way. */
function retold(event: Json, kind: UsageKind, isOdd: boolean): Json {
	return Object.fromEntries(
		Object.entries(event).flatMap(([key, value]): [string, unknown][] => {
			if (key === "message" || key === "response") return [[key, retold(value as Json, kind, isOdd)]];
			if (!/^usage/.test(key) || value === null) return [[key, value]];
			const usage = value as Json;
			if (kind === "nested") return [[key, nested(usage)]];
			if (!isOdd) return [[key, usage]];
			if (kind === "missing") return [];
			if (kind === "zero") return [[key, zeros(usage)]];
			if (kind !== "tiers") return [[key, usage]];
			if (key === "usageMetadata") return [[key, { ...usage, trafficType: "ON_DEMAND_FLEX" }]];
			if (usage.inputTokens !== undefined)
				return [
					[key, usage],
					["serviceTier", { type: "flex" }],
				];
			const isOpenai = usage.total_tokens !== undefined;
			if (!isOpenai) return [[key, { ...usage, service_tier: "batch" }]];
			return [
				[key, usage],
				["service_tier", "flex"],
			];
		}),
	);
}

function zeros(usage: Json): Json {
	const isCount = (value: unknown) => typeof value === "number";
	return Object.fromEntries(
		Object.entries(usage).map(([key, value]) => [key, isCount(value) ? 0 : zeros(value as Json)]),
	);
}

/** The same tokens: Messages tells two messages of an answer, the other APIs parts of their sums. */
function nested(usage: Json): Json {
	const { input_tokens: input = 0, output_tokens: output = 0 } = usage as Readonly<Record<string, number>>;
	const { promptTokenCount: prompt, prompt_tokens: whole } = usage as Readonly<Record<string, number>>;
	const { cacheWriteInputTokens: written = 0 } = usage as Readonly<Record<string, number>>;
	if (usage.inputTokens !== undefined)
		return { ...usage, cacheDetails: [1, written - 1].map((inputTokens) => ({ ttl: "5m", inputTokens })) };
	if (prompt !== undefined) return { ...usage, promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }] };
	if (whole !== undefined || usage.total_tokens !== undefined)
		return { ...usage, completion_tokens_details: { reasoning_tokens: 500, accepted_prediction_tokens: 3 } };
	const { output_tokens: _, ...first } = usage;
	const iterations = [
		{ type: "message", ...first, input_tokens: input - 2, output_tokens: output - 1 },
		{ type: "message", input_tokens: 2, output_tokens: 1 },
	];
	return { ...usage, iterations };
}

/** The texts in the order in which a provider reads them. Ids and marks for the cache are no part of the prompt. */
function promptOf(body: Json): string {
	const { tools, toolConfig, system, instructions, systemInstruction, messages, input, contents } = (body.request ??
		body) as Json;
	const parts = [tools ?? toolConfig, system ?? instructions ?? systemInstruction, messages ?? input ?? contents];
	const unseen = /^(?:cache_control|type|id|call_id|tool_call_id|tool_use_id|toolUseId)$/;
	const seen = JSON.parse(JSON.stringify(parts, (key, value) => (unseen.test(key) ? undefined : value)));
	return [JSON.stringify(seen[0]), ...textsIn(seen.slice(1))].join("\n");
}

function commonChars(text: string, other: string): number {
	let at = 0;
	while (at < text.length && text[at] === other[at]) at += 1;
	return at;
}

type Step = NonNullable<Tariff["step"]>;

const claude = (dollars: Tariff["dollars"], read: number, step?: Step): Tariff => ({
	read,
	write: 1.25,
	dollars,
	cacheMinutes: 5,
	grain: 1,
	...(step && { step }),
});

const openai = (dollars: Tariff["dollars"], read: number, step?: Step): Tariff => ({
	...claude(dollars, read, step),
	write: 1,
	grain: 128,
});

const pro25 = openai([1.25, 10], 0.1, { over: 200_000, input: 2, output: 1.5 });

/** A request of `sessions.ts` with another body, at another path. */
function asked(
	session: SessionApi,
	turns: readonly Turn[],
	changed: { readonly path?: string; readonly body: (body: Json) => Json },
): Sent {
	const request = requestOf(session, turns);
	const body = changed.body(JSON.parse(String(request.body)) as Json);
	return { ...request, path: changed.path ?? request.path, body: JSON.stringify(body, null, 1) };
}

const chat =
	(model: string): PlayedApi["requestAfter"] =>
	(turns, { streams }) =>
		asked("chat", turns, {
			body: (body) => ({
				...body,
				model,
				...(streams && { stream: true, stream_options: { include_usage: true } }),
			}),
		});

const chatEvents: PlayedApi["eventsOf"] = ({ input, read, written, output }, caches) => {
	const usage = {
		prompt_tokens: input + read + written,
		completion_tokens: output,
		total_tokens: input + read + written + output,
		...(caches === "reported" && { prompt_tokens_details: { cached_tokens: read, audio_tokens: 0 } }),
	};
	const choice = { index: 0, delta: { role: "assistant", content: "Read." }, finish_reason: null };
	return [
		{ object: "chat.completion.chunk", choices: [choice], usage: null },
		{ object: "chat.completion.chunk", choices: [], usage },
	];
};

const responsesEvents: PlayedApi["eventsOf"] = ({ input, read, written, output }, caches) => {
	const usage = {
		input_tokens: input + read + written,
		...(caches === "reported" && { input_tokens_details: { cached_tokens: read, cache_write_tokens: written } }),
		output_tokens: output,
		output_tokens_details: { reasoning_tokens: 500 },
		total_tokens: input + read + written + output,
	};
	const begun = { type: "response.created", response: { status: "in_progress", output: [], usage: null } };
	// An answer that is not streamed is the response itself.
	return [begun, { type: "response.completed", response: { status: "completed", output: [], usage }, usage }];
};

const geminiEvents: PlayedApi["eventsOf"] = ({ input, read, output }) => {
	const event = (candidatesTokenCount: number, ends: Json = {}) => ({
		candidates: [{ content: { role: "model", parts: [{ text: "Read." }] }, ...ends, index: 0 }],
		usageMetadata: {
			promptTokenCount: input + read,
			candidatesTokenCount,
			thoughtsTokenCount: 500,
			totalTokenCount: input + read + candidatesTokenCount + 500,
			...(read > 0 && { cachedContentTokenCount: read }),
		},
	});
	return [event(20), event(output - 500, { finishReason: "STOP" })];
};

const converseEvents: PlayedApi["eventsOf"] = ({ input, read, written, output }) => {
	const usage = {
		...{ inputTokens: input, outputTokens: output, totalTokens: input + read + written + output },
		...{ cacheReadInputTokens: read, cacheWriteInputTokens: written },
	};
	// An answer that is not streamed has the message beside the usage.
	const message = { role: "assistant", content: [{ text: "Read." }] };
	return [{ role: "assistant" }, { output: { message }, stopReason: "end_turn", usage, metrics: { latencyMs: 9 } }];
};

const messagesEvents: PlayedApi["eventsOf"] = ({ input, read, written, output }, caches) => {
	const usage = {
		input_tokens: input,
		...(caches === "reported" && {
			cache_read_input_tokens: read,
			cache_creation_input_tokens: written,
			cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
		}),
	};
	// Events of a stream tell the input first; an answer tells all in one.
	return [
		{ type: "message_start", message: { type: "message", content: [], usage: { ...usage, output_tokens: 1 } } },
		{ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { ...usage, output_tokens: output } },
	];
};

const onCloud =
	(version: string, pathOf: (streams: boolean) => string): PlayedApi["requestAfter"] =>
	(turns, { streams }) =>
		asked("anthropic", turns, {
			path: pathOf(streams),
			body: ({ model: _, context_management, ...body }) => ({
				anthropic_version: version,
				...body,
				...(streams && version.startsWith("vertex") && { stream: true }),
			}),
		});

const converse: PlayedApi["requestAfter"] = (turns, { streams }) => {
	const mark = { cachePoint: { type: "default" } };
	const block = (one: Json): Json => {
		const { type, text, id, name, input, tool_use_id: toolUseId, content } = one;
		if (type === "text") return { text };
		if (type === "tool_use") return { toolUse: { toolUseId: id, name, input } };
		return { toolResult: { toolUseId, content: [{ text: content }] } };
	};
	return asked("anthropic", turns, {
		path: `/model/us.anthropic.claude-opus-4-6-v1/${streams ? "converse-stream" : "converse"}`,
		body: ({ system, tools, messages }) => ({
			system: [...(system as readonly Json[]).map(block), mark],
			toolConfig: {
				tools: (tools as readonly Json[]).map(({ name, description, input_schema: json }) => ({
					toolSpec: { name, description, inputSchema: { json } },
				})),
			},
			messages: (messages as readonly { role: string; content: readonly Json[] }[]).map(
				({ role, content }, at, all) => {
					const blocks = content.filter(({ type }) => type !== "thinking").map(block);
					return { role, content: at === all.length - 1 ? [...blocks, mark] : blocks };
				},
			),
		}),
	});
};

export const playedApis: readonly PlayedApi[] = [
	{
		name: "chat completions",
		upstream: "openai",
		tariff: openai([2.5, 10], 0.5),
		charsPerToken: 3.7,
		requestAfter: chat("gpt-4o-2024-11-20"),
		eventsOf: chatEvents,
	},
	{
		name: "chat completions over a price step",
		upstream: "openai",
		tariff: openai([2.5, 15], 0.1, { over: 272_000, input: 2, output: 1.5 }),
		charsPerToken: 0.05,
		requestAfter: chat("gpt-5.4"),
		eventsOf: chatEvents,
	},
	{
		name: "Responses with billed writes",
		upstream: "openai",
		tariff: { ...openai([4, 20], 0.1), write: 1.25, cacheMinutes: 30 },
		charsPerToken: 3.7,
		requestAfter: (turns, { streams }) =>
			asked("responses", turns, { body: (body) => ({ ...body, model: "gpt-5.6", stream: streams }) }),
		eventsOf: responsesEvents,
	},
	{
		name: "Gemini over a price step",
		upstream: "gemini",
		tariff: pro25,
		charsPerToken: 0.07,
		requestAfter: (turns, { streams }) =>
			asked("gemini", turns, {
				path: `/v1beta/models/gemini-2.5-pro:${streams ? "streamGenerateContent?alt=sse" : "generateContent"}`,
				body: (body) => body,
			}),
		eventsOf: geminiEvents,
	},
	{
		name: "Gemini with a Google sign-in",
		upstream: "gemini",
		tariff: pro25,
		charsPerToken: 3.7,
		requestAfter: (turns, { streams }) =>
			asked("gemini", turns, {
				path: `/v1internal:${streams ? "streamGenerateContent?alt=sse" : "generateContent"}`,
				body: (request) => ({ model: "gemini-2.5-pro", project: "p", user_prompt_id: "u", request }),
			}),
		eventsOf: (tokens, caches) => geminiEvents(tokens, caches).map((response) => ({ response, traceId: "t" })),
	},
	{
		name: "Claude on Bedrock over a price step",
		upstream: "bedrock",
		// A region costs a tenth more.
		tariff: claude([0.11, 0.55], 0.1, { over: 100_000, input: 5, output: 5 }),
		charsPerToken: 0.15,
		requestAfter: onCloud("bedrock-2023-05-31", (streams) => {
			const model = encodeURIComponent("us.anthropic.claude-haiku-5-5-20261020-v1:0");
			return `/model/${model}/${streams ? "invoke-with-response-stream" : "invoke"}`;
		}),
		eventsOf: messagesEvents,
	},
	{
		name: "Gemini",
		upstream: "gemini",
		tariff: { ...openai([2, 10], 0.05), grain: 1 },
		charsPerToken: 3.7,
		tellsInputFirst: true,
		requestAfter: (turns, { streams }) =>
			asked("gemini", turns, {
				path: `/v1beta/models/gemini-4-carbon:${streams ? "streamGenerateContent?alt=sse" : "generateContent"}`,
				body: (body) => body,
			}),
		eventsOf: geminiEvents,
	},
	{
		name: "Claude on Bedrock by Converse",
		upstream: "bedrock",
		tariff: claude([5.5, 27.5], 0.1),
		charsPerToken: 3.4,
		otherTier: 0,
		hasPlainFrames: true,
		requestAfter: converse,
		eventsOf: converseEvents,
	},
	{
		name: "Claude on Vertex",
		upstream: "vertex",
		tariff: claude([4.4, 22], 0.05),
		charsPerToken: 2.8,
		tellsInputFirst: true,
		requestAfter: onCloud("vertex-2023-10-16", (streams) => {
			const verb = streams ? "streamRawPredict" : "rawPredict";
			return `/v1/projects/p/locations/eu/publishers/anthropic/models/claude-opus-5-5@20261020:${verb}`;
		}),
		eventsOf: messagesEvents,
	},
];

export const messagesApi: PlayedApi = {
	name: "Messages",
	upstream: "anthropic",
	tariff: claude([3, 15], 0.1),
	charsPerToken: 3,
	tellsInputFirst: true,
	requestAfter: (turns, { streams }) =>
		asked("anthropic", turns, { body: (body) => ({ ...body, ...(streams && { stream: true }) }) }),
	eventsOf: messagesEvents,
};

/** A chat whose program does not ask for the usage of streams. */
export const untoldApi: PlayedApi = {
	name: "chat completions without usage",
	upstream: "openai",
	tariff: openai([1.25, 10], 0.1),
	requestAfter: (turns) => asked("chat", turns, { body: (body) => ({ ...body, stream: true }) }),
	eventsOf: chatEvents,
};
