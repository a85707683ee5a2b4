import { type AskForLess, askForLess } from "../engine/compaction/ask-for-less.ts";
import { SummariserError } from "../errors.ts";
import type { LocaleName } from "../policy/schema.ts";
import { type Clock, systemClock } from "./clock.ts";
import { startGuess } from "./guess-seconds.ts";
import { type ChatOutcome, type ChatRequest, createChatClient, type LoadOpenAi } from "./openai-client.ts";
import { parseRetryAfter } from "./parse-retry-after.ts";
import { defaultRetryPolicy, type RetryPolicy, retryDelay } from "./retry-delay.ts";
import type { Summariser, SummaryAnswer, SummaryRequest } from "./summariser.ts";
import { tellProgress } from "./tell-progress.ts";
import { startTimeLimit } from "./time-limit.ts";

/** A chat-completions endpoint (OpenAI, Albert, Mistral, Ollama, vLLM, llama.cpp, …) and how patiently it is asked. */
export interface OpenAiCompatibleOptions {
	/** Such as `https://api.openai.com/v1`. */
	readonly baseUrl: string;
	readonly model: string;
	/** In no error, no progress and no answer. Absent: none is sent. */
	readonly apiKey?: string | undefined;
	/** Language in which a more concise answer is asked for. */
	readonly locale?: LocaleName;
	/** Longest time for one try, from sending it to the last byte of its answer, in ms. */
	readonly timeoutMs?: number;
	/** Time between two `waiting` progresses, in ms. */
	readonly heartbeatMs?: number;
	readonly retry?: Partial<RetryPolicy>;
	readonly clock?: Clock;
	/** For jitter: a number from 0 up to, not including, 1. */
	readonly random?: () => number;
	readonly load?: LoadOpenAi;
}

/** Two minutes: a model that writes 20 tokens a second needs 100 s for a hand-over of 2 000. */
const defaultTimeoutMs = 120_000;
const defaultHeartbeatMs = 5_000;
const largestBody = 4 * 1024 * 1024;
/** What is sent again (seed 4, task 2), and a connection that failed, which has no status. */
const retried = new Set<number | undefined>([429, 500, 502, 503, 504, 408, undefined]);

/**
 * Asks a model by its chat-completions endpoint (seed 4, tasks 2, 5 and 6). In one call there are at most `maxRetries`
 * retries after failures and `maxRetries` requests for a more concise answer.
 *
 * @throws PalimpsestError `invalid_argument` for a base URL that is none.
 */
export function createOpenAiCompatible(options: OpenAiCompatibleOptions): Summariser {
	const { model, locale = "fr", clock = systemClock, random = Math.random } = options;
	const { timeoutMs = defaultTimeoutMs, heartbeatMs = defaultHeartbeatMs } = options;
	const policy = { ...defaultRetryPolicy, ...options.retry };
	const load = options.load ?? (() => import("openai"));
	const client = createChatClient({ ...options, timeoutMs, largestBody, load });
	const guess = startGuess();
	const closing = new AbortController();

	const askOnce = async (request: ChatRequest): Promise<ChatOutcome> => {
		const limit = startTimeLimit([request.signal], timeoutMs);
		try {
			const outcome = await client.ask({ ...request, signal: limit.signal });
			request.signal.throwIfAborted();
			if (outcome.kind === "answer" || !limit.isOver()) return outcome;
			const message = `${client.location}: No whole answer within ${timeoutMs / 1000} s. Try again, or allow more time.`;
			return { kind: "failure", error: new SummariserError("timeout", message), retryAfter: undefined };
		} finally {
			limit.end();
		}
	};

	const summarise = async (request: SummaryRequest, signal: AbortSignal): Promise<SummaryAnswer> => {
		const started = clock.now();
		const tell = tellProgress(request.onProgress);
		let expected = guess.of(request.maxTokens);
		const tellPhase = (phase: "asking" | "waiting" | "asking_for_less") =>
			tell({ kind: "phase", phase, elapsed: (clock.now() - started) / 1000, expected });

		let retries = 0;
		const askUntilAnswered = async (messages: ChatRequest["messages"]): Promise<SummaryAnswer> => {
			for (;;) {
				tellPhase("asking");
				const sent = clock.now();
				const heartbeat = setInterval(() => tellPhase("waiting"), heartbeatMs);
				const outcome = await askOnce({ messages, maxTokens: request.maxTokens, signal }).finally(() =>
					clearInterval(heartbeat),
				);
				if (outcome.kind === "answer") {
					guess.learn(outcome.answer, (clock.now() - sent) / 1000);
					return outcome.answer;
				}
				const { error, retryAfter } = outcome;
				const isRetried = error.is_retryable && retried.has(error.status_code);
				if (!isRetried || retries === policy.maxRetries) throw error;
				retries += 1;
				const retryAfterMs = parseRetryAfter(retryAfter, clock.now());
				const delay = retryDelay({ policy, retry: retries, retryAfterMs, random });
				const { code, status_code } = error;
				const progress = { attempt: retries, max_retries: policy.maxRetries, delay: delay / 1000 };
				tell({ kind: "retry", ...progress, code, status_code });
				expected += delay / 1000;
				await clock.sleep(delay, signal);
			}
		};

		let messages: AskForLess = [{ role: "user", content: request.prompt }];
		for (let asked = 0; ; asked += 1) {
			const answer = await askUntilAnswered(messages);
			if (answer.finishReason !== "length") return answer;
			if (asked === policy.maxRetries) throw alwaysCutOff(client.location, asked + 1, request.maxTokens);
			messages = askForLess({ prompt: request.prompt, partial: answer.text, locale });
			expected += guess.of(request.maxTokens);
			tellPhase("asking_for_less");
		}
	};

	return {
		name: `openai-compatible (${model})`,
		async summarise(request) {
			if (closing.signal.aborted) throw closed();
			const linked = startTimeLimit([request.signal, closing.signal]);
			try {
				linked.signal.throwIfAborted();
				return await summarise(request, linked.signal);
			} finally {
				linked.end();
			}
		},
		async close() {
			closing.abort(closed());
			client.close();
		},
	};
}

function alwaysCutOff(location: string, tries: number, maxTokens: number): SummariserError {
	const message = `${location}: Each of ${tries} answers was cut off at ${maxTokens} tokens. Allow more tokens, or summarise a shorter range.`;
	return new SummariserError("unknown", message, 200);
}

function closed(): SummariserError {
	return new SummariserError("unknown", "The summariser was closed.");
}
