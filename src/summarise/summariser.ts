import type { SummariserErrorCode } from "../errors.ts";
import type { LocaleName } from "../policy/schema.ts";

/** What a summariser is asked. */
export interface SummaryRequest {
	/** All that the model is told: what to do, and the text to be summarised. */
	readonly prompt: string;
	/** Most tokens that the answer may take, as the model counts them. */
	readonly maxTokens: number;
	/** Language in which a more concise answer is asked for; French where absent. */
	readonly locale?: LocaleName | undefined;
	/** Ends the call at any moment, waiting included. */
	readonly signal?: AbortSignal | undefined;
	/** Told of each step and each retry. What it throws is ignored. */
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/** What a summariser answers. The text is untrusted and unchecked. */
export interface SummaryAnswer {
	readonly text: string;
	/** Why the model stopped: by itself, at the limit (the text is cut off), or as its endpoint calls it. */
	readonly finishReason: "stop" | "length" | "other";
	/** Tokens, as the endpoint counted them; absent where it does not say. */
	readonly usage?: { readonly promptTokens: number; readonly completionTokens: number };
}

/** A request that failed is sent again after a wait (seed 4, task 2). */
export interface RetryProgress {
	readonly kind: "retry";
	/** Which retry this is, from 1. */
	readonly attempt: number;
	readonly max_retries: number;
	/** Seconds until it is sent. */
	readonly delay: number;
	/** What the last try failed with. */
	readonly code: SummariserErrorCode;
	readonly status_code: number | undefined;
}

/**
 * - `asking`: a request is sent.
 * - `waiting`: no answer yet; told again and again.
 * - `asking_for_less`: the answer was cut off, and a more concise one is asked for.
 * - `splitting`: the prompt was too long, and its text is summarised in parts.
 * - `joining`: the summaries of the parts are made one.
 */
export type SummaryPhase = "asking" | "waiting" | "asking_for_less" | "splitting" | "joining";

/** Where the call stands. */
export interface PhaseProgress {
	readonly kind: "phase";
	readonly phase: SummaryPhase;
	/** Seconds since the call began. */
	readonly elapsed: number;
	/** Seconds that it is guessed to take in all, from how fast the model was until now. */
	readonly expected: number;
}

export type SummaryProgress = RetryProgress | PhaseProgress;

/** Who answers a request for a summary: a model's endpoint, the client's own model, the caller. */
export interface Summariser {
	/** As reports name it; it tells nothing secret. */
	readonly name: string;
	/**
	 * @throws SummariserError where no usable answer came.
	 * @throws The signal's reason where the call was ended by its signal.
	 */
	readonly summarise: (request: SummaryRequest) => Promise<SummaryAnswer>;
	/** Ends calls under way and frees what is held. */
	readonly close: () => Promise<void>;
}
