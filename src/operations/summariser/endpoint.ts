import type { ClientRequest } from "node:http";
import { isJsonObject } from "../../engine/conversation/json.ts";
import { valueAt, wrongArgument } from "../../engine/policy/errors.ts";
import { checkOptions, number, optionsSchema, optionTypes, wholeNumber } from "../../engine/policy/options.ts";
import { PalimpsestError, SummariserError, type SummariserErrorCode } from "../../errors.ts";
import { version } from "../../version.ts";
import { type OutgoingError, openConnection, proxyRefused } from "../http/outgoing.ts";
import {
	answerOf,
	type ChatModel,
	type ChatOutcome,
	type ChatRequest,
	createPatientSummariser,
	type Patience,
	type RetryPolicy,
	requireFinished,
} from "./ask.ts";
import { endpointName, expectedBaseUrl, isBaseUrl, type Summariser, type SummaryAnswer } from "./summariser.ts";

/** A chat-completions endpoint (OpenAI, Albert, Mistral, Ollama, vLLM, llama.cpp, …), with time limits and retries. */
export interface OpenAiCompatibleOptions extends Patience {
	/** For example `https://api.openai.com/v1`. Its query is sent with each request and never shown. */
	readonly baseUrl: string;
	readonly model: string;
	/** Sent as bearer token. No error, progress or answer contains it. Local servers need none. */
	readonly apiKey?: string | undefined;
}

const { anything, callback, clock, object, string } = optionTypes;
const endpointOptions = optionsSchema<OpenAiCompatibleOptions>({
	// These two have errors of their own.
	baseUrl: anything,
	model: anything,
	apiKey: string,
	timeoutMs: number(1, "ms"),
	heartbeatMs: number(1, "ms"),
	retry: object,
	clock,
	random: callback,
});
const retryOptions = optionsSchema<RetryPolicy>({
	maxRetries: wholeNumber(0),
	baseDelayMs: number(0, "ms"),
	jitter: number(0),
	longestRetryAfterMs: number(0, "ms"),
});

/** Asks a model at its endpoint (docs/compaction.md). Throws `invalid_argument`, without a URL: it may hold a key. */
export function createOpenAiCompatible(options: OpenAiCompatibleOptions): Summariser {
	checkOptions(options, "createOpenAiCompatible", endpointOptions);
	const { model, retry } = options as Partial<OpenAiCompatibleOptions>;
	if (retry !== undefined) checkOptions(retry, "createOpenAiCompatible.retry", retryOptions);
	if (typeof model !== "string") {
		throw wrongArgument("the option `model` of `createOpenAiCompatible`", "a string", model);
	}
	// A model that writes 20 tokens a second needs 100 s for a summary of 2 000.
	const { timeoutMs = 120_000 } = options;
	const endpoint = createEndpointModel(options);
	return createPatientSummariser({ ...options, name: endpointName(model), model: endpoint, timeoutMs });
}

/** Statuses after which a request is retried (docs/compaction.md#retries). A failed connection has no status. */
const retried = new Set<number | undefined>([429, 500, 502, 503, 504, 408, undefined]);
/** Shorter keys are not removed from answers, since users give local servers words such as `none` as key. */
const shortestKey = 12;

function createEndpointModel({ baseUrl, model, apiKey }: OpenAiCompatibleOptions): ChatModel {
	if (!isBaseUrl(baseUrl)) throw new PalimpsestError("invalid_argument", expectedBaseUrl);
	const { origin, pathname, search } = new URL(baseUrl);
	const location = `${origin}${pathname.replace(/\/+$/, "")}`;
	const connection = connectTo(new URL(`${location}/chat/completions${search}`), [
		...["Accept", "application/json", "Content-Type", "application/json"],
		...["User-Agent", `palimpsest-mcp/${version}`],
		...(apiKey ? ["Authorization", `Bearer ${apiKey}`] : []),
	]);
	// OpenAI's newer models refuse `max_tokens`, which all other endpoints accept.
	let limitName: "max_tokens" | "max_completion_tokens" = "max_tokens";

	const send = async (request: ChatRequest): Promise<ChatOutcome> => {
		const { messages, maxTokens, signal } = request;
		const sent = JSON.stringify({ model, messages, [limitName]: maxTokens, stream: false });
		const { status, retryAfter, answered } = await connection.post(sent, signal);
		const fields = errorFieldsOf(answered);
		const failedWith = failureStatus(status, answered, fields);
		if (failedWith !== undefined) {
			if (limitName === "max_tokens" && fields.code === "unsupported_parameter" && fields.param === "max_tokens") {
				limitName = "max_completion_tokens";
				return send(request);
			}
			return { kind: "failure", error: statusError(location, failedWith, fields), retryAfter };
		}
		if (answered === undefined) {
			throw new SummariserError("unknown", `${location}: Its answer is not JSON.`, 200);
		}
		const answer = readCompletion(answered);
		const isSecret = apiKey !== undefined && apiKey.length >= shortestKey;
		return { kind: "answer", answer: isSecret ? { ...answer, text: answer.text.replaceAll(apiKey, "[key]") } : answer };
	};

	return {
		location,
		goodStatus: 200,
		ask: (request) =>
			send(request).catch((error: unknown) => ({ kind: "failure", error: connectionError(location, error) })),
		isRetried: (error) => error.is_retryable && retried.has(error.status_code),
		close: connection.close,
	};
}

const largestBody = 4 * 1024 * 1024;

/**
 * Not by `fetch`: Node's gives up after 300 s without headers, which a local model may exceed, and its connections
 * cannot be closed. Redirects are not followed: they would carry the conversation to a host that the user did not name.
 */
export function connectTo(url: URL, headers: readonly string[]) {
	// Servers commonly close an idle connection after 5 s.
	const connection = openConnection(url, { restMs: 4_000 });
	return {
		async post(body: string, signal: AbortSignal) {
			const sentHeaders = ["Host", url.host, ...headers, "Content-Length", String(Buffer.byteLength(body))];
			const send = (request: ClientRequest) => void request.end(body);
			const path = url.pathname + url.search;
			const asked = { method: "POST", path, headers: sentHeaders, signal, send, canSendAgain: true };
			const response = await connection.ask(asked);
			const { statusCode: status = 0, headers: received } = response;
			const pieces: Buffer[] = [];
			let bytes = 0;
			for await (const piece of response as AsyncIterable<Buffer>) {
				bytes += piece.length;
				if (bytes > largestBody) {
					const message = `The model's endpoint answers with more than ${largestBody} bytes, too many for a summary.`;
					throw new SummariserError("unknown", message, status);
				}
				pieces.push(piece);
			}
			const answered: unknown = await new Response(Buffer.concat(pieces)).json().catch(() => undefined);
			return { status, retryAfter: received["retry-after"], answered };
		},
		close: connection.close,
	};
}

/** The error of a request without a complete answer. It shows only the system's code, since a message may contain the key. */
export function connectionError(location: string, error: unknown): SummariserError {
	if (error instanceof SummariserError) return error;
	const { code, advice: ofNetwork } = error as OutgoingError;
	const shown = typeof code === "string" && /^[A-Z_]{1,40}$/.test(code) ? ` (${code})` : "";
	if (code === "ETIMEDOUT") return new SummariserError("timeout", `${location}: ${advice.timeout}${shown}.`);
	if (code === "ERR_INVALID_CHAR") {
		const message = `${location}: The key holds a character that no HTTP header can carry, such as a line break.`;
		return new SummariserError("unknown", message);
	}
	const advised = ofNetwork ?? "Check the base URL, and that the endpoint runs.";
	const message = `The connection to ${new URL(location).origin} failed or broke off${shown}. ${advised}`;
	return new SummariserError(code === proxyRefused ? "unknown" : "server_error", message);
}

/** The machine-readable fields of an error. Its message is ignored, since it may quote the prompt or the key. */
type ErrorFields = Readonly<Record<"code" | "type" | "param", string | undefined>>;

/** Under `error` (OpenAI, llama.cpp, newer vLLM), under `detail` (FastAPI), or bare (Mistral, older vLLM). */
export function errorFieldsOf(value: unknown): ErrorFields {
	const fields = [at(value, "error"), at(value, "detail"), value].find(isJsonObject);
	return { code: word(at(fields, "code")), type: word(at(fields, "type")), param: word(at(fields, "param")) };
}

/** A gateway that has begun to answer sends errors with a good status. The real status is in `code`, or unknown (200). */
function failureStatus(status: number, value: unknown, { code }: ErrorFields): number | undefined {
	if (status < 200 || status >= 300) return status;
	if (!isJsonObject(at(value, "error")) || at(value, "choices") !== undefined) return undefined;
	const own = Number(code);
	return own >= 400 && own < 600 ? own : 200;
}

const at = (value: unknown, key: string) => valueAt(value, [key]);

/** Drops longer values, which are prose. */
function word(value: unknown): string | undefined {
	const text = typeof value === "number" ? String(value) : value;
	return typeof text === "string" && text.length <= 100 ? text : undefined;
}

const codeOfStatus: Readonly<Record<number, SummariserErrorCode>> = {
	401: "auth_error",
	403: "auth_error",
	404: "model_not_found",
	408: "timeout",
	413: "context_too_long",
	429: "rate_limit",
};
/** Values of `code` or `type` for a prompt that is too long, at OpenAI, Azure, Groq and llama.cpp. */
const tooLong = new Set(["context_length_exceeded", "string_above_max_length", "exceed_context_size_error"]);
/** Values of `param` for such a prompt at vLLM. */
const tooLongParameters = new Set(["input_tokens", "input_text"]);
/** Mistral's code for invalid arguments. A request with one text can only be invalid because of its length. */
const mistralTooLong = "3051";

const advice: Readonly<Record<SummariserErrorCode, string>> = {
	rate_limit: "Too many requests, or the quota is used up. Try again later",
	context_too_long: "The prompt is too long for the model. Summarise a shorter range",
	model_not_found: "The model or the address was not found. Check the model's name and the base URL",
	timeout: "It did not answer in time. Try again, or allow more time",
	server_error: "It failed. Try again later",
	auth_error: "It does not accept the key. Check that one is set and may use this model",
	unknown: "The request was refused",
};

/** If only the message says that the prompt is too long (older vLLM), the code is `unknown`. */
export function statusError(location: string, status: number, fields: ErrorFields): SummariserError {
	const code = classify(status, fields);
	const isRedirect = status >= 300 && status < 400;
	const advised = isRedirect ? "It redirects elsewhere. Give the base URL that it leads to" : advice[code];
	// Only words are shown: any other value may be the key or the conversation.
	const said = [fields.code, fields.type].filter((value) => /^[a-z]{1,30}(?:_[a-z]{1,30}){1,6}$/.test(value ?? ""));
	const shown = [`HTTP ${status}`, ...new Set(said)].join(", ");
	return new SummariserError(code, `${location}: ${advised} (${shown}).`, status);
}

function classify(status: number, { code = "", type = "", param = "" }: ErrorFields): SummariserErrorCode {
	if (status >= 500) return "server_error";
	if (tooLong.has(code) || tooLong.has(type)) return "context_too_long";
	if (status === 400 && (code === mistralTooLong || tooLongParameters.has(param))) return "context_too_long";
	return codeOfStatus[status] ?? (code === "model_not_found" ? "model_not_found" : "unknown");
}

/** Finish reasons at the token limit: of OpenAI, Mistral and gateways. */
const cutOff = new Set(["length", "max_tokens", "model_length"]);

/** Throws SummariserError `context_too_long` for a full window; `unknown` for anything but a finished or cut text. */
function readCompletion(completion: unknown): SummaryAnswer {
	const unusable = (what: string) =>
		new SummariserError("unknown", `The model's endpoint answers with ${what}, not with a summary.`, 200);
	if (!isJsonObject(completion)) throw unusable("something that is not a chat completion");
	const choice: unknown = Array.isArray(completion.choices) ? completion.choices[0] : undefined;
	if (!isJsonObject(choice) || !isJsonObject(choice.message)) throw unusable("no choice");
	const reason = choice.finish_reason;
	if (reason === "model_context_window_exceeded") {
		throw new SummariserError("context_too_long", "The prompt fills the model's context window.", 200);
	}
	requireFinished(reason, unusable);
	// A text next to a refusal or a call is not a summary.
	const { content, refusal, tool_calls, function_call } = choice.message;
	if (typeof refusal === "string" && refusal !== "") throw unusable("a refusal");
	if ((Array.isArray(tool_calls) && tool_calls.length > 0) || isJsonObject(function_call))
		throw unusable("a tool call");
	const finishReason = cutOff.has(String(reason)) ? "length" : reason === "stop" ? "stop" : "other";
	const usage = usageOf(completion.usage);
	return { ...answerOf(textOf(content), finishReason, unusable), ...(usage ? { usage } : {}) };
}

function textOf(content: unknown): string {
	if (typeof content === "string") return content;
	if (!Array.isArray(content)) return "";
	const texts = content.map((part: unknown) => (at(part, "type") === "text" ? at(part, "text") : ""));
	return texts.filter((text) => typeof text === "string").join("");
}

function usageOf(usage: unknown): SummaryAnswer["usage"] {
	const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
	const [promptTokens, completionTokens] = [at(usage, "prompt_tokens"), at(usage, "completion_tokens")];
	return isCount(promptTokens) && isCount(completionTokens) ? { promptTokens, completionTokens } : undefined;
}
