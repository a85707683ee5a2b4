import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { createCacheDiagnostics } from "./cache-diagnostics.ts";
import { refusalOfPairing } from "./pairing-rules.ts";
import { messageId, outputTokens, streamedAnswer, wholeAnswer } from "./provider-answers.ts";
import { type Api, createProviderCache, type InputUsage, promptTokens } from "./provider-cache.ts";
import { nextAnswer, type SessionScript } from "./scripted-session.ts";
import { codeAssistAnswer, refusalOfSignIn } from "./sign-ins.ts";
import { createStrictMessages, type StandInThinking, type ThinkingFindings } from "./stand-in-thinking.ts";

type Json = Readonly<Record<string, unknown>>;

/** A request for an answer, as it came, with the tokens that it is billed for. */
export interface LoggedRequest {
	readonly api: Api;
	readonly path: string;
	readonly model: string;
	readonly body: string;
	readonly usage: InputUsage;
	/** Of the answer, thinking among it. */
	readonly outputTokens: number;
	readonly thinkingTokens: number;
	/** With the option `thinking`, for Anthropic's Messages. */
	readonly thinking?: ThinkingFindings | undefined;
}

/** A request that got a 400, for an answer or for a count of tokens. */
export interface RefusedRequest {
	readonly path: string;
	readonly body: string;
	readonly message: string;
}

/** Prices of a token, relative to one that the cache has no part in. */
export interface ProviderPrices {
	readonly cacheRead: number;
	readonly cacheWrite: number;
	readonly cacheWriteForAnHour: number;
	/** Of a token of the output. */
	readonly output?: number;
	/** A prompt of more tokens than `over` multiplies the price of every token of the request. */
	readonly step?: { readonly over: number; readonly factor: number };
}

export interface ProviderTotals {
	readonly requests: number;
	/** Input tokens of all requests. */
	readonly sent: number;
	/** The same at their prices. */
	readonly billed: number;
	/** Requests that read less from the cache than the one before them in the conversation had left there. */
	readonly cacheBreaks: number;
	/** Output tokens of all requests, thinking among them, and at their price. */
	readonly output: number;
	readonly thought: number;
	readonly billedOutput: number;
	/** Tokens that the API cleared from the requests, and the requests from which it cleared some. */
	readonly cleared: number;
	readonly clearings: number;
	/** Requests that got a 400; they are no part of `requests`. */
	readonly refused: number;
	/** Blocks of thinking in the requests, and how many of them the API left out. */
	readonly blocksSent: number;
	readonly blocksDropped: number;
	/** Blocks of thinking that were valid at their places in a request and were not in it, for each request. */
	readonly blocksLost: number;
	/** Blocks of thinking that the model was no longer shown, though their answers were in the request; each block once. */
	readonly blocksGone: number;
	/** Requests that came for the first time without any thinking, though thinking of their answers had been sent before. */
	readonly stripped: number;
}

export interface StandInProvider {
	/** Such as http://127.0.0.1:40123. */
	readonly origin: string;
	readonly requests: readonly LoggedRequest[];
	readonly refusals: readonly RefusedRequest[];
	/** Method and path of everything that was asked, in order. */
	readonly paths: readonly string[];
	readonly totals: () => ProviderTotals;
	readonly close: () => Promise<void>;
}

export const usualPrices: ProviderPrices = { cacheRead: 0.1, cacheWrite: 1.25, cacheWriteForAnHour: 2, output: 5 };

/**
 * A server in the place of the providers: Anthropic's Messages, OpenAI's Chat Completions and Responses, and Gemini, streamed
 * and whole, with a prompt cache of its own. It plays a scripted session and names no address but its own.
 */
export async function startStandInProvider(options: {
	readonly script: SessionScript;
	/** The model, in place of `nextAnswer`. */
	readonly next?: typeof nextAnswer;
	/** Milliseconds, for the lifetime of cache entries. */
	readonly now?: () => number;
	readonly prices?: ProviderPrices | ((model: string) => ProviderPrices);
	/** Answers think, and requests are checked as Anthropic's API checks them. */
	readonly thinking?: StandInThinking;
	/** Requests whose calls and results do not fit get a 400, of every API. */
	readonly checksPairing?: boolean;
	/** A folder for the bodies, one file each. */
	readonly folder?: string;
	/** Before each answer. */
	readonly delayMs?: number;
}): Promise<StandInProvider> {
	const {
		script,
		next = nextAnswer,
		now = Date.now,
		prices = usualPrices,
		thinking,
		checksPairing,
		folder,
		delayMs,
	} = options;
	const strict = thinking && createStrictMessages(thinking);
	const diagnostics = createCacheDiagnostics();
	const useCache = createProviderCache(now, strict?.tokensOf);
	const requests: LoggedRequest[] = [];
	const refusals: RefusedRequest[] = [];
	const paths: string[] = [];
	const seen = new Map<string, Set<number>>();
	/** By the signature of a compaction block, the conversation that it summarises. */
	const ofBlocks = new Map<string, string>();
	if (folder !== undefined) await mkdir(folder, { recursive: true });

	const server = createServer((request, response) => {
		answer(request, response).catch((error: unknown) => {
			send(response, 500, { error: { message: String(error), type: "stand_in" } });
		});
	});
	// Codex tries a WebSocket first.
	server.on("upgrade", (request, socket) => {
		paths.push(`UPGRADE ${request.url}`);
		socket.end("HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	});
	server.requestTimeout = 0;
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;

	async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
		paths.push(`${request.method} ${request.url}`);
		const text = await bodyOf(request);
		const asked = request.method === "POST" ? askedOf(pathname) : undefined;
		if (asked === undefined) return answerElse(request, response, pathname);
		const sent = JSON.parse(text) as Json;
		const came = asked.isWrapped ? ({ ...(sent.request as Json), model: sent.model } as Json) : sent;
		const refusal =
			refusalOfSignIn({ pathname, headers: request.headers }, sent) ??
			(checksPairing && asked.kind === "answer" ? refusalOfPairing(asked.api, came) : undefined);
		if (refusal !== undefined) {
			refusals.push({ path: request.url ?? "", body: text, message: refusal });
			return send(response, 400, { error: { code: 400, status: "INVALID_ARGUMENT", message: refusal } });
		}
		const received = asked.api === "anthropic" ? strict?.receive(came, betasOf(request)) : undefined;
		if (received?.kind === "refused") {
			const { message, headers, code } = received.refusal;
			refusals.push({ path: request.url ?? "", body: text, message });
			if (folder !== undefined) await writeFile(join(folder, `refused-${refusals.length}.json`), text);
			const details = code === undefined ? {} : { details: { error_code: code } };
			const error = { type: "invalid_request_error", message, ...details };
			return send(response, 400, { type: "error", error, request_id: `req_${refusals.length}` }, headers);
		}
		const body = received?.body ?? came;
		if (asked.kind === "count") {
			const tokens = promptTokens(asked.api, body, strict?.tokensOf);
			if (asked.api === "gemini") return send(response, 200, { totalTokens: tokens });
			const original = received?.original;
			const managed = original === undefined ? {} : { context_management: { original_input_tokens: original } };
			return send(response, 200, { input_tokens: tokens, ...managed });
		}
		const { api } = asked;
		const model = asked.model ?? String(body.model);
		const usage = useCache(api, model, body);
		const number = requests.length + 1;
		// A program may offer more tools later in a conversation.
		const conversation = ofBlocks.get(signatureIn(body)) ?? conversationOf(api, model, { ...body, tools: [] });
		const seenThere = seen.get(conversation) ?? new Set();
		seen.set(conversation, seenThere);
		const isSummary = api === "anthropic" && body.compaction !== undefined;
		const answer = isSummary ? ({ kind: "text", text: "" } as const) : next(script, api, body, seenThere);
		const anthropic = received?.answer({ number, answer });
		if (anthropic?.compaction?.reason === 529) {
			const error = {
				type: "overloaded_error",
				message: "Overloaded",
				details: { error_code: "compaction_unavailable" },
			};
			return send(response, 529, { type: "error", error });
		}
		if (isSummary) ofBlocks.set(String(anthropic?.content[0]?.signature), conversation);
		const thinkingTokens = anthropic?.thinkingTokens ?? 0;
		const written = anthropic?.compaction?.outputTokens ?? outputTokens + thinkingTokens;
		const tokens = { outputTokens: written, thinkingTokens };
		requests.push({ api, path: request.url ?? "", model, body: text, usage, ...tokens, thinking: received?.findings });
		if (delayMs !== undefined) await new Promise((resolve) => setTimeout(resolve, delayMs));
		if (folder !== undefined) await writeFile(join(folder, `${String(number).padStart(4, "0")}-${api}.json`), text);
		const told = api === "anthropic" ? diagnostics.answer(messageId(number), body) : undefined;
		const parts = { number, model, usage, answer, anthropic, told };
		const streams = api === "gemini" ? pathname.includes(":stream") : body.stream === true;
		const wrap = (one: unknown) => (asked.isWrapped ? { response: one, traceId: `trace_${number}` } : one);
		if (!streams) return send(response, 200, wrap(wholeAnswer(api, parts)));
		if (asked.isWrapped) {
			response.writeHead(200, { "content-type": "text/event-stream" });
			response.end(`data: ${JSON.stringify(wrap(wholeAnswer(api, parts)))}\n\n`);
			return;
		}
		if (api === "gemini" && searchParams.get("alt") !== "sse") return send(response, 200, [wholeAnswer(api, parts)]);
		const usageAsked = (body.stream_options as Json | undefined)?.include_usage === true;
		response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
		for (const event of streamedAnswer(api, parts, { usageAsked })) response.write(event);
		response.end();
	}

	return {
		origin: `http://127.0.0.1:${port}`,
		requests,
		refusals,
		paths,
		totals: () => totalsOf(requests, refusals.length, typeof prices === "function" ? prices : () => prices),
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

function totalsOf(
	requests: readonly LoggedRequest[],
	refused: number,
	pricesOf: (model: string) => ProviderPrices,
): ProviderTotals {
	let [sent, billed, billedOutput, cacheBreaks] = [0, 0, 0, 0];
	const left = new Map<string, number>();
	for (const { api, model, body: text, usage, outputTokens: output } of requests) {
		const body = JSON.parse(text) as Json;
		const { uncached, cacheRead, written, writtenForAnHour } = usage;
		const prices = pricesOf(model);
		const cached = cacheRead + written + writtenForAnHour;
		const factor = prices.step && uncached + cached > prices.step.over ? prices.step.factor : 1;
		sent += uncached + cached;
		billedOutput += factor * output * (prices.output ?? 0);
		billed +=
			factor *
			(uncached +
				cacheRead * prices.cacheRead +
				written * prices.cacheWrite +
				writtenForAnHour * prices.cacheWriteForAnHour);
		const conversation = conversationOf(api, model, (body.request ?? body) as Json);
		if (cacheRead < (left.get(conversation) ?? 0)) cacheBreaks += 1;
		left.set(conversation, cached);
	}
	const sum = (of: (request: LoggedRequest) => number) => requests.reduce((total, one) => total + of(one), 0);
	return {
		requests: requests.length,
		sent,
		billed: Math.round(billed),
		cacheBreaks,
		output: sum((one) => one.outputTokens),
		thought: sum((one) => one.thinkingTokens),
		billedOutput: Math.round(billedOutput),
		cleared: sum(({ thinking }) => thinking?.applied[0]?.cleared_input_tokens ?? 0),
		clearings: sum(({ thinking }) => thinking?.applied.length ?? 0),
		refused,
		blocksSent: sum(({ thinking }) => thinking?.sent ?? 0),
		blocksDropped: sum(({ thinking }) => thinking?.dropped ?? 0),
		blocksLost: sum(({ thinking }) => thinking?.lost ?? 0),
		blocksGone: sum(({ thinking }) => thinking?.gone ?? 0),
		stripped: sum(({ thinking }) => Number(thinking?.isStripped ?? false)),
	};
}

function signatureIn({ messages }: Json): string {
	const content = Array.isArray(messages) ? (messages[0] as Json | undefined)?.content : undefined;
	return String(Array.isArray(content) ? (content[0] as Json | undefined)?.signature : undefined);
}

/** Conversations differ by their tools and their first message. */
function conversationOf(api: Api, model: string, body: Json): string {
	const messages = (
		api === "gemini" ? body.contents : api === "openai-responses" ? body.input : body.messages
	) as Json[];
	const first = Array.isArray(messages) ? messages.find(({ role }) => role === "user") : messages;
	const toolsLength = JSON.stringify(body.tools ?? []).length;
	const content = first && typeof first === "object" ? (first.content ?? first.parts) : first;
	const text = Array.isArray(content) ? content.map((part: Json) => part.text ?? "").join("") : content;
	return `${api} ${model} ${toolsLength} ${JSON.stringify(text)}`;
}

interface Asked {
	readonly kind: "answer" | "count";
	readonly api: Api;
	readonly model?: string;
	/** With a Google sign-in, the request is in the member `request`, and the answer in `response`. */
	readonly isWrapped?: boolean;
}

/** Base URLs come with and without a version. */
function askedOf(pathname: string): Asked | undefined {
	if (pathname.endsWith("/messages/count_tokens")) return { kind: "count", api: "anthropic" };
	if (pathname.endsWith("/messages")) return { kind: "answer", api: "anthropic" };
	if (pathname.endsWith("/chat/completions")) return { kind: "answer", api: "openai-chat" };
	if (pathname.endsWith("/responses")) return { kind: "answer", api: "openai-responses" };
	const wrapped = /^\/v1internal:(generateContent|streamGenerateContent|countTokens)$/.exec(pathname)?.[1];
	if (wrapped !== undefined)
		return { kind: wrapped === "countTokens" ? "count" : "answer", api: "gemini", isWrapped: true };
	const gemini = /\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/.exec(pathname);
	if (gemini === null) return undefined;
	const [, model = "", method] = gemini;
	return method === "countTokens" ? { kind: "count", api: "gemini" } : { kind: "answer", api: "gemini", model };
}

const modelNames = ["claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro"];

function answerElse(request: IncomingMessage, response: ServerResponse, pathname: string): void {
	const ofCodeAssist = codeAssistAnswer(pathname);
	if (ofCodeAssist) send(response, 200, ofCodeAssist);
	else if (request.method === "GET" && /\/models$/.test(pathname)) {
		const listed = modelNames.map((id) => ({ id, object: "model", type: "model", display_name: id, created: 1 }));
		const models = modelNames.map((id) => ({ name: `models/${id}`, displayName: id }));
		const answer = pathname.includes("v1beta") ? { models } : { object: "list", data: listed, has_more: false };
		send(response, 200, answer);
	} else if (request.method === "HEAD") response.writeHead(200).end();
	else {
		const message = `The stand-in has nothing at ${request.method} ${pathname}.`;
		send(response, 404, { type: "error", error: { type: "not_found_error", message } });
	}
}

function send(
	response: ServerResponse,
	status: number,
	value: unknown,
	headers: Readonly<Record<string, string>> = {},
): void {
	if (response.headersSent) response.destroy();
	else response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

function betasOf({ headersDistinct }: IncomingMessage): string[] {
	return (headersDistinct["anthropic-beta"] ?? []).flatMap((value) => value.split(",")).map((one) => one.trim());
}

async function bodyOf(request: IncomingMessage): Promise<string> {
	const chunks: Buffer[] = [];
	for await (const chunk of request) chunks.push(chunk as Buffer);
	const bytes = Buffer.concat(chunks);
	const encoding = request.headers["content-encoding"];
	if (encoding === "gzip") return gunzipSync(bytes).toString("utf8");
	if (encoding === "br") return brotliDecompressSync(bytes).toString("utf8");
	return (encoding === "deflate" ? inflateSync(bytes) : bytes).toString("utf8");
}
