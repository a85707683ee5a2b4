import type { Transcript } from "../../engine/conversation/transcript.ts";
import type { WrittenText } from "../../formats/json-text/edit.ts";
import type { KnownKeys } from "./identity.ts";
import type { Plan } from "./plan.ts";
import type { SentLines } from "./sent-lines.ts";

/** Branches of a conversation that go on in turns, such as those of a fork. */
export const mostBranches = 3;

/** A conversation that goes on: its last request as the host sent it, and the plans on it. */
export interface Branch {
	/** The same in every process that continues it. */
	readonly id: string;
	/** The last request: its texts, or a mark by which they are known again. */
	readonly last: History | Mark;
	/** Made for this history or for its beginning. */
	plan?: Plan | undefined;
	/** The decisions that the agent asked for in its last answered call. A plan that began before the call lacks them. */
	asked?: Plan["asked"] | undefined;
	/** Why the last request has no plan: planning has failed, or there was too much to plan. */
	unplanned?: "failed" | "busy" | undefined;
	/** Whether its last request got no good answer, so that the program may send it again. */
	wasRefused?: boolean | undefined;
	/** The body of the last request, and the body that was sent in its place. */
	writtenText?: WrittenText | undefined;
	/** What new results may repeat. */
	sentLines?: SentLines | undefined;
	/** Tokens of the provider for each character that was sent, from the usage of the last answer. */
	tokensPerChar?: number | undefined;
}

export interface History extends KnownKeys {
	readonly kind: "history";
	readonly transcript: Transcript;
	readonly chars: number;
}

/** Names the messages of a request in place of their texts. */
export interface Mark {
	readonly kind: "mark";
	readonly hash: string;
	readonly messages: number;
	readonly results: number;
}

/** The results of the last request of a branch. */
export function resultsOf({ last }: Pick<Branch, "last">): number {
	return last.kind === "mark" ? last.results : last.keys.length;
}

/** The characters that are held of the last request. */
export function lengthOf({ last }: Pick<Branch, "last">): number {
	return last.kind === "mark" ? 0 : last.chars;
}

export function messagesOf({ last }: Pick<Branch, "last">): number {
	return last.kind === "mark" ? last.messages : last.transcript.messages.length;
}
