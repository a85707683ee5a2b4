import type { OpenAI } from "openai";
import { SummariserError } from "../errors.ts";
import { parseBaseUrl } from "./base-url.ts";
import type { ChatModel, ChatOutcome, ChatRequest } from "./chat-model.ts";
import { statusError } from "./classify-status.ts";
import { errorInSuccess } from "./error-fields.ts";
import { createHttpFetch } from "./http-fetch.ts";
import { readCompletion } from "./read-completion.ts";
import type { SummaryAnswer } from "./summariser.ts";

/**
 * Loads the official client, which takes a moment and is not needed by those who ask no endpoint: the module `openai`. Its
 * own type is not named here, since whoever has not installed it could not compile against ours.
 */
export type LoadOpenAi = () => Promise<{ readonly OpenAI: unknown }>;

/** Where a model is asked, and as whom. */
export interface Endpoint {
	/** Such as `https://api.openai.com/v1`. A query is sent with each request and never shown. */
	readonly baseUrl: string;
	readonly model: string;
	/** Sent as bearer token; without one no `Authorization` is sent, as local servers want it. */
	readonly apiKey?: string | undefined;
	/** Largest body of an answer, in bytes. */
	readonly largestBody: number;
	/** Longest time for one request, in ms. */
	readonly timeoutMs: number;
	readonly load: LoadOpenAi;
}

/** What is sent again (seed 4, task 2), and a connection that failed, which has no status. */
const retried = new Set<number | undefined>([429, 500, 502, 503, 504, 408, undefined]);

/**
 * Prepares a client of one endpoint, which keeps its connections open; the first request loads and opens it.
 *
 * @throws PalimpsestError `invalid_argument` for a base URL that is none.
 */
export function createChatClient(endpoint: Endpoint): ChatModel {
	const url = parseBaseUrl(endpoint.baseUrl);
	const location = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
	const http = createHttpFetch({ largestBody: endpoint.largestBody });
	let client: Promise<OpenAI> | undefined;
	// Newer models of OpenAI refuse the name that all other endpoints know.
	let limitName: "max_tokens" | "max_completion_tokens" = "max_tokens";

	const open = async (): Promise<OpenAI> => {
		const { OpenAI } = (await endpoint.load()) as typeof import("openai");
		return new OpenAI({
			baseURL: location,
			apiKey: endpoint.apiKey || "none",
			// Set here, since it would otherwise read them from the environment and send them to any endpoint.
			adminAPIKey: null,
			organization: null,
			project: null,
			webhookSecret: null,
			defaultHeaders: { Authorization: endpoint.apiKey ? `Bearer ${endpoint.apiKey}` : null },
			defaultQuery: Object.fromEntries(url.searchParams),
			maxRetries: 0,
			timeout: endpoint.timeoutMs,
			fetch: http.fetch,
			// Its log goes to standard output, where the protocol is spoken, and can hold the whole request.
			logLevel: "off",
		});
	};

	const send = async ({ messages, maxTokens, signal }: ChatRequest): Promise<SummaryAnswer> => {
		client ??= open();
		const { chat } = await client;
		const body = { model: endpoint.model, messages: [...messages], [limitName]: maxTokens, stream: false as const };
		const completion: unknown = await chat.completions.create(body, { signal });
		const refused = errorInSuccess(completion);
		if (refused) throw statusError(location, refused.status, refused.fields);
		const answer = readCompletion(completion);
		return { ...answer, text: withoutKey(answer.text, endpoint.apiKey) };
	};

	const ask = async (request: ChatRequest): Promise<ChatOutcome> => {
		try {
			return { kind: "answer", answer: await send(request) };
		} catch (error) {
			if (limitName === "max_tokens" && refusesMaxTokens(error)) {
				limitName = "max_completion_tokens";
				return ask(request);
			}
			return { kind: "failure", ...failureOf(error, location) };
		}
	};

	const isRetried = (error: SummariserError) => error.is_retryable && retried.has(error.status_code);
	return { location, goodStatus: 200, ask, isRetried, close: http.close };
}

interface StatusError {
	readonly status: number;
	readonly code?: unknown;
	readonly type?: unknown;
	readonly param?: unknown;
	readonly headers?: Headers;
}

const hasStatus = (error: unknown): error is StatusError =>
	error instanceof Error && "status" in error && typeof error.status === "number";

function refusesMaxTokens(error: unknown): boolean {
	return hasStatus(error) && error.code === "unsupported_parameter" && error.param === "max_tokens";
}

function failureOf(error: unknown, location: string): Omit<Extract<ChatOutcome, { kind: "failure" }>, "kind"> {
	if (error instanceof SummariserError) return { error, retryAfter: undefined };
	if (hasStatus(error)) {
		const text = (value: unknown) => (typeof value === "string" ? value : undefined);
		const fields = { code: text(error.code), type: text(error.type), param: text(error.param) };
		const retryAfter = error.headers?.get("retry-after") ?? undefined;
		return { error: statusError(location, error.status, fields), retryAfter };
	}
	const { cause } = error as Error;
	if (cause instanceof SummariserError) return { error: cause, retryAfter: undefined };
	return { error: otherError(location, error as Error), retryAfter: undefined };
}

/** What else the client throws is told by its class alone: its messages quote what the endpoint wrote. */
function otherError(location: string, error: Error & { readonly code?: unknown }): SummariserError {
	// It takes every error that speaks of a time-out for one of its own, the system's ETIMEDOUT among them.
	if (error.constructor.name === "APIConnectionTimeoutError") {
		return new SummariserError("timeout", `${location}: It did not answer in time. Try again, or allow more time.`);
	}
	if (error.code === "ERR_MODULE_NOT_FOUND") {
		const message = "Asking an endpoint for a summary needs the package openai. Install it: npm install openai";
		return new SummariserError("unknown", message);
	}
	if (error.name === "SyntaxError") {
		return new SummariserError("unknown", `${location}: It answers with something that is not JSON.`, 200);
	}
	return new SummariserError("unknown", `${location}: The request could not be sent, or its answer not be read.`);
}

/** Shortest key that is secret enough to be looked for; local servers are given such words as `none`. */
const shortestKey = 12;

function withoutKey(text: string, key: string | undefined): string {
	return key !== undefined && key.length >= shortestKey ? text.replaceAll(key, "[key]") : text;
}
