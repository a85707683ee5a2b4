import type { Archive } from "../../archive/archive.ts";
import type { TruncationStrategy } from "../../engine/truncate/truncation-types.ts";
import type { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../operations/edit-record.ts";
import type { Policy } from "../../policy/schema.ts";
import type { AnsweredCall } from "./answered-call.ts";
import type { RunEnding } from "./excerpt-notices.ts";
import type { StreamLimit } from "./stream-limit.ts";

/** An output within its limit, as it came, or shortened. */
export type ShortenedOutput = (
	| { readonly kind: "whole"; readonly bytes: Buffer }
	| { readonly kind: "shortened"; readonly text: string }
) & {
	/** Why the whole could not be archived, where it should have been. */
	readonly failure?: PalimpsestError | undefined;
};

/** An output to shorten. */
export interface StreamRequest {
	/** Its bytes in order. */
	readonly pieces: AsyncIterable<Buffer>;
	readonly policy: Policy;
	readonly limit: StreamLimit;
	/** How it is shortened where it is held, within a limit that is not `head_tail`; by default as the policy says, or `auto`. */
	readonly strategy?: TruncationStrategy | undefined;
	/** What it is then looked through for; by default what the call was after. */
	readonly focus?: string | undefined;
	/** Where the whole is kept, up to `mostArchivedBytes`. */
	readonly archive?: Archive | undefined;
	/** The call that it answers. */
	readonly toolCall?: AnsweredCall | undefined;
	/** How the command ended that put it out; asked once all of it has come. */
	readonly ending?: (() => Promise<RunEnding>) | undefined;
	/**
	 * Whether an output that is held comes as it is where its whole cannot be archived, in place of the error; with what
	 * was too long to be held, there is no such choice.
	 */
	readonly letThrough?: boolean | undefined;
	/** How the limit is called: one that is too small to say that something is left out is then refused. */
	readonly limitName?: string | undefined;
	/** How a shell calls this program, for the notice of how the whole is read; by default by its name. */
	readonly command?: string | undefined;
	readonly log?: Log | undefined;
}
