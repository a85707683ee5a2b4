// A server loads this file when it starts, so it imports only types of ours. The first summary loads the rest.
import { setTimeout as pause } from "node:timers/promises";
import type { LocaleName } from "../../engine/policy/names.ts";
import type { SummariserErrorCode } from "../../errors.ts";

export interface SummaryRequest {
	readonly prompt: string;
	/** Tokens of the answer, as the model counts them. */
	readonly maxTokens: number;
	/** Language of the request for a shorter answer. Default: French. */
	readonly locale?: LocaleName | undefined;
	readonly signal?: AbortSignal | undefined;
	/** Called at each step and each retry. Errors that it throws are ignored. */
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/** The text is untrusted and unchecked. */
export interface SummaryAnswer {
	readonly text: string;
	/** `length`: the text was cut off at the token limit. */
	readonly finishReason: "stop" | "length" | "other";
	/** Tokens, if the endpoint counts them. */
	readonly usage?: { readonly promptTokens: number; readonly completionTokens: number };
}

/** The request is sent again after `delay` seconds (docs/compaction.md#retries); `attempt` counts from 1. */
export interface RetryProgress {
	readonly kind: "retry";
	readonly attempt: number;
	readonly max_retries: number;
	readonly delay: number;
	readonly code: SummariserErrorCode;
	readonly status_code: number | undefined;
}

/** `waiting` repeats until the answer comes; `asking_for_less` follows a cut answer, `splitting` a prompt too long. */
export type SummaryPhase = "asking" | "waiting" | "asking_for_less" | "splitting" | "joining";

/** `elapsed`: seconds since the call began. */
export type SummaryProgress =
	| RetryProgress
	| { readonly kind: "phase"; readonly phase: SummaryPhase; readonly elapsed: number };

/** Writes summaries with the model of an endpoint, of the client or of the caller. */
export interface Summariser {
	/** The name in reports; it holds nothing secret. */
	readonly name: string;
	/** Throws SummariserError if no usable answer came, or the signal's reason. */
	readonly summarise: (request: SummaryRequest) => Promise<SummaryAnswer>;
	/** Ends calls under way and closes connections. */
	readonly close: () => Promise<void>;
}

/** Errors of an observer do not end the call. */
export function tellProgress(onProgress: SummaryRequest["onProgress"]): (progress: SummaryProgress) => void {
	return (progress) => {
		try {
			onProgress?.(progress);
		} catch {}
	};
}

/** `now` is in ms since 1970. `sleep` waits some ms, and rejects with the signal's reason if the signal aborts. */
export interface Clock {
	readonly now: () => number;
	readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const systemClock: Clock = {
	now: () => Date.now(),
	sleep: (ms, signal) => pause(ms, undefined, { signal }).catch(() => signal.throwIfAborted()),
};

/** Used instead of `AbortSignal.any`, which leaks memory on Node 20 and 22: each call leaves an entry on the sources. */
export function joinSignals(...signals: readonly (AbortSignal | undefined)[]): {
	readonly signal: AbortSignal;
	readonly release: () => void;
} {
	const joined = signals.filter((signal) => signal !== undefined);
	const controller = new AbortController();
	const abort = (): void => controller.abort(joined.find(({ aborted }) => aborted)?.reason);
	for (const signal of joined) signal.addEventListener("abort", abort, { once: true });
	if (joined.some(({ aborted }) => aborted)) abort();
	const release = (): void => {
		for (const signal of joined) signal.removeEventListener("abort", abort);
	};
	return { signal: controller.signal, release };
}

export function endpointName(model: string): string {
	return `openai-compatible (${model})`;
}

export const expectedBaseUrl =
	"Expected the base URL of a chat-completions endpoint, such as https://api.openai.com/v1, without user and password. Give the key separately.";

export function isBaseUrl(text: string): boolean {
	const url = URL.canParse(text) ? new URL(text) : undefined;
	return url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}
