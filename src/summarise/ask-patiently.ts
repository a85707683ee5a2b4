import { setMaxListeners } from "node:events";
import { type AskForLess, askForLess } from "../engine/compaction/ask-for-less.ts";
import { SummariserError } from "../errors.ts";
import type { ChatModel, ChatOutcome, ChatRequest } from "./chat-model.ts";
import { type Clock, systemClock } from "./clock.ts";
import { startGuess } from "./guess-seconds.ts";
import { parseRetryAfter } from "./parse-retry-after.ts";
import { defaultRetryPolicy, type RetryPolicy, retryDelay } from "./retry-delay.ts";
import type { Summariser, SummaryAnswer, SummaryRequest } from "./summariser.ts";
import { tellProgress } from "./tell-progress.ts";
import { startTimeLimit } from "./time-limit.ts";

/** How patiently a model is asked. */
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

/** A model to be asked, under the name that reports give it. */
export interface PatientSummariserOptions extends Patience {
	readonly name: string;
	readonly model: ChatModel;
	readonly timeoutMs: number;
}

const defaultHeartbeatMs = 5_000;

/**
 * Makes a summariser of a model (seed 4, tasks 2 and 5): failures that may pass are retried after a wait, and an answer
 * that was cut off is asked for again, more concisely. In one call there are at most `maxRetries` retries after failures
 * and `maxRetries` requests for a more concise answer.
 */
export function createPatientSummariser(options: PatientSummariserOptions): Summariser {
	const { name, model, timeoutMs, heartbeatMs = defaultHeartbeatMs } = options;
	const { clock = systemClock, random = Math.random } = options;
	const policy = { ...defaultRetryPolicy, ...options.retry };
	const guess = startGuess();
	const closing = new AbortController();
	// Every question that waits listens to it; Node takes more than ten listeners for a leak.
	setMaxListeners(0, closing.signal);

	const askOnce = async (request: ChatRequest): Promise<ChatOutcome> => {
		const limit = startTimeLimit([request.signal], timeoutMs);
		try {
			const outcome = await model.ask({ ...request, signal: limit.signal });
			request.signal.throwIfAborted();
			if (outcome.kind === "answer" || !limit.isOver()) return outcome;
			const message = `${model.location}: No whole answer within ${timeoutMs / 1000} s. Try again, or allow more time.`;
			return { kind: "failure", error: new SummariserError("timeout", message), retryAfter: undefined };
		} finally {
			limit.end();
		}
	};

	const summarise = async (request: SummaryRequest, signal: AbortSignal): Promise<SummaryAnswer> => {
		const { prompt, maxTokens, locale = "fr" } = request;
		const started = clock.now();
		const tell = tellProgress(request.onProgress);
		let expected = guess.of(maxTokens);
		const tellPhase = (phase: "asking" | "waiting" | "asking_for_less") =>
			tell({ kind: "phase", phase, elapsed: (clock.now() - started) / 1000, expected });

		let retries = 0;
		const askUntilAnswered = async (messages: ChatRequest["messages"]): Promise<SummaryAnswer> => {
			for (;;) {
				tellPhase("asking");
				const sent = clock.now();
				const heartbeat = setInterval(() => tellPhase("waiting"), heartbeatMs);
				const outcome = await askOnce({ messages, maxTokens, signal }).finally(() => clearInterval(heartbeat));
				if (outcome.kind === "answer") {
					guess.learn(outcome.answer, (clock.now() - sent) / 1000);
					return outcome.answer;
				}
				const { error, retryAfter } = outcome;
				if (!model.isRetried(error) || retries === policy.maxRetries) throw error;
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

		let messages: AskForLess = [{ role: "user", content: prompt }];
		for (let asked = 0; ; asked += 1) {
			const answer = await askUntilAnswered(messages);
			if (answer.finishReason !== "length") return answer;
			if (asked === policy.maxRetries) throw alwaysCutOff(model, asked + 1, maxTokens);
			messages = askForLess({ prompt, partial: answer.text, locale });
			expected += guess.of(maxTokens);
			tellPhase("asking_for_less");
		}
	};

	return {
		name,
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
			model.close();
		},
	};
}

function alwaysCutOff({ location, goodStatus }: ChatModel, tries: number, maxTokens: number): SummariserError {
	const message = `${location}: Each of ${tries} answers was cut off at ${maxTokens} tokens. Allow more tokens, or summarise a shorter range.`;
	return new SummariserError("unknown", message, goodStatus);
}

function closed(): SummariserError {
	return new SummariserError("unknown", "The summariser was closed.");
}
