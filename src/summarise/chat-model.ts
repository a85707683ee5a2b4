import type { SummariserError } from "../errors.ts";
import type { SummaryAnswer } from "./summariser.ts";

/** One request to a model. */
export interface ChatRequest {
	readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: string }[];
	readonly maxTokens: number;
	readonly signal: AbortSignal;
}

/** What came of one request. After an abort it is a failure of any kind. */
export type ChatOutcome =
	| { readonly kind: "answer"; readonly answer: SummaryAnswer }
	| {
			readonly kind: "failure";
			readonly error: SummariserError;
			/** The answer's `Retry-After` field, as it stands. */
			readonly retryAfter: string | undefined;
	  };

/** A model that is asked once for each request, and never throws. */
export interface ChatModel {
	/** Who it is, for errors; nothing secret. */
	readonly location: string;
	/** The HTTP status of a good answer; `undefined` where it is not asked by HTTP. */
	readonly goodStatus: number | undefined;
	readonly ask: (request: ChatRequest) => Promise<ChatOutcome>;
	/** Whether a request that failed so is worth sending again after a wait. */
	readonly isRetried: (error: SummariserError) => boolean;
	/** Ends requests under way and frees what is held. */
	readonly close: () => void;
}
