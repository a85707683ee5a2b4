import { setMaxListeners } from "node:events";
import { type AskForLess, askForLess } from "../../engine/compaction/prompt.ts";
import { SummariserError } from "../../errors.ts";
import {
	type Clock,
	joinSignals,
	type Summariser,
	type SummaryAnswer,
	type SummaryRequest,
	systemClock,
	tellProgress,
} from "./summariser.ts";

export interface RetryPolicy {
	/** Retries after the first try. Default 3. */
	readonly maxRetries: number;
	/** Wait before the first retry, in ms; it doubles with each further one. Default 2 000. */
	readonly baseDelayMs: number;
	/** Random share of a wait, 0 (the default) to 1, that is added to it, so that many clients do not retry at once. */
	readonly jitter: number;
	/** Longest wait that a `Retry-After` can request, in ms. Default 60 000. */
	readonly longestRetryAfterMs: number;
}

export interface Patience {
	/** Longest time for one try, from sending it to the last byte of its answer, in ms. */
	readonly timeoutMs?: number | undefined;
	/** Time between two `waiting` progresses, in ms. */
	readonly heartbeatMs?: number | undefined;
	readonly retry?: Partial<RetryPolicy> | undefined;
	readonly clock?: Clock | undefined;
	/** For jitter: a number from 0 up to, not including, 1. */
	readonly random?: (() => number) | undefined;
}

export interface ChatRequest {
	readonly messages: AskForLess;
	readonly maxTokens: number;
	readonly signal: AbortSignal;
}

export type ChatOutcome =
	| { readonly kind: "answer"; readonly answer: SummaryAnswer }
	| { readonly kind: "failure"; readonly error: SummariserError; readonly retryAfter?: string | undefined };

/** Sends each request once, and never throws. */
export interface ChatModel {
	readonly location: string;
	/** The HTTP status of a good answer; `undefined` without HTTP. */
	readonly goodStatus: number | undefined;
	readonly ask: (request: ChatRequest) => Promise<ChatOutcome>;
	readonly isRetried: (error: SummariserError) => boolean;
	readonly close: () => void;
}

/** A timer with a longer delay fires at once. */
const longestTimer = 2 ** 31 - 1;

/**
 * Retries failures that may pass (docs/compaction.md#retries), and asks again, more concisely, after an answer
 * that was cut off (#cut-answers). Each happens at most `maxRetries` times in one call.
 */
export function createPatientSummariser(
	options: Patience & { readonly name: string; readonly model: ChatModel; readonly timeoutMs: number },
): Summariser {
	const { name, model, clock = systemClock, random = Math.random } = options;
	const { maxRetries = 3, baseDelayMs = 2_000, jitter = 0, longestRetryAfterMs = 60_000 } = options.retry ?? {};
	const timeoutMs = Math.min(options.timeoutMs, longestTimer);
	const heartbeatMs = Math.min(options.heartbeatMs ?? 5_000, longestTimer);
	const closing = new AbortController();
	// Every waiting request listens to it. Node.js warns of a leak from eleven listeners on.
	setMaxListeners(0, closing.signal);

	const askOnce = async (request: ChatRequest): Promise<ChatOutcome> => {
		const late = new AbortController();
		const timer = setTimeout(() => late.abort(), timeoutMs);
		const { signal, release } = joinSignals(request.signal, late.signal);
		try {
			const outcome = await model.ask({ ...request, signal });
			request.signal.throwIfAborted();
			if (outcome.kind === "answer" || !late.signal.aborted) return outcome;
			const message = `${model.location}: No whole answer within ${timeoutMs / 1000} s. Try again, or allow more time.`;
			return { kind: "failure", error: new SummariserError("timeout", message) };
		} finally {
			clearTimeout(timer);
			release();
		}
	};

	const delayBefore = (retry: number, retryAfter: string | undefined): number => {
		const asked = parseRetryAfter(retryAfter, clock.now());
		const wait = asked === undefined ? baseDelayMs * 2 ** (retry - 1) : Math.min(asked, longestRetryAfterMs);
		return wait + Math.floor(wait * jitter * random());
	};

	const summarise = async (request: SummaryRequest, signal: AbortSignal): Promise<SummaryAnswer> => {
		signal.throwIfAborted();
		const { prompt, maxTokens, locale = "fr" } = request;
		const started = clock.now();
		const tell = tellProgress(request.onProgress);
		const tellPhase = (phase: "asking" | "waiting" | "asking_for_less") =>
			tell({ kind: "phase", phase, elapsed: (clock.now() - started) / 1000 });

		let retries = 0;
		const askUntilAnswered = async (messages: ChatRequest["messages"]): Promise<SummaryAnswer> => {
			for (;;) {
				tellPhase("asking");
				const heartbeat = setInterval(() => tellPhase("waiting"), heartbeatMs);
				const outcome = await askOnce({ messages, maxTokens, signal }).finally(() => clearInterval(heartbeat));
				if (outcome.kind === "answer") return outcome.answer;
				const { error, retryAfter } = outcome;
				if (!model.isRetried(error) || retries === maxRetries) throw error;
				retries += 1;
				const delay = delayBefore(retries, retryAfter);
				const { code, status_code } = error;
				tell({ kind: "retry", attempt: retries, max_retries: maxRetries, delay: delay / 1000, code, status_code });
				await clock.sleep(delay, signal);
			}
		};

		let messages: AskForLess = [{ role: "user", content: prompt }];
		for (let asked = 0; ; asked += 1) {
			const answer = await askUntilAnswered(messages);
			if (answer.finishReason !== "length") return answer;
			if (asked === maxRetries) {
				const message = `${model.location}: Each of ${asked + 1} answers was cut off at ${maxTokens} tokens. Allow more tokens, or summarise a shorter range.`;
				throw new SummariserError("unknown", message, model.goodStatus);
			}
			messages = askForLess({ prompt, partial: answer.text, locale });
			tellPhase("asking_for_less");
		}
	};

	return {
		name,
		async summarise(request) {
			const { signal, release } = joinSignals(request.signal, closing.signal);
			return summarise(request, signal).finally(release);
		},
		async close() {
			closing.abort(new SummariserError("unknown", "The summariser was closed."));
			model.close();
		},
	};
}

/** Reads `Retry-After` (RFC 9110, section 10.2.3) as ms from `now`. `undefined` if it is invalid or requests no wait. */
function parseRetryAfter(field: string | undefined, now: number): number | undefined {
	const value = field?.trim() ?? "";
	// The date formats of HTTP (RFC 9110, section 5.6.7) begin with a day of the week.
	const date = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /.test(value) ? Date.parse(value) - now : Number.NaN;
	const ms = /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1_000 : date;
	return ms > 0 ? Math.ceil(ms) : undefined;
}

/** Finish reasons of answers that are not summaries: OpenAI, OpenRouter, DeepSeek, SGLang, Anthropic and MCP sampling. */
const unfinished: Readonly<Record<string, string>> = {
	contentfilter: "a text that its content filter stopped",
	refusal: "a refusal",
	toolcalls: "a tool call",
	tooluse: "a tool call",
	functioncall: "a tool call",
	error: "a text that broke off",
	abort: "a text that broke off",
	insufficientsystemresource: "a text that broke off",
};

type Unusable = (what: string) => SummariserError;

export function requireFinished(reason: unknown, unusable: Unusable): void {
	const name = typeof reason === "string" ? reason.toLowerCase().replaceAll("_", "") : "";
	const what = Object.hasOwn(unfinished, name) ? unfinished[name] : undefined;
	if (what !== undefined) throw unusable(what);
}

/** A cut answer may be empty: a model can spend all its tokens on thinking. */
export function answerOf(text: string, finishReason: SummaryAnswer["finishReason"], unusable: Unusable): SummaryAnswer {
	if (text.trim() === "" && finishReason !== "length") throw unusable("no text");
	return { text, finishReason };
}
