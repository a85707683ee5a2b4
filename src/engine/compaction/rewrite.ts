import type { Edit, Size } from "../edit.ts";
import type { Path } from "../path.ts";
import type { Transcript } from "../transcript.ts";

/** A strategy's outcome as edits; none where it changed nothing; or why it cannot be used. */
export type Rewrite =
	| {
			readonly kind: "rewrite";
			/**
			 * In the order of their places. A value that is changed is taken out and the new one put in front of it, or
			 * replaced where it has an identity.
			 */
			readonly plan: readonly Edit[];
			/** Indexes of the messages all of whose values are taken out, ascending. */
			readonly removed: readonly number[];
			/** Values of the list that stay untouched. */
			readonly kept: number;
	  }
	| { readonly kind: "unchanged" }
	| { readonly kind: "refused"; readonly detail: string };

/** What a strategy's outcome is planned from. */
export interface PlanRewriteParameters {
	readonly source: RewriteSource;
	/** What the strategy gave: anything. */
	readonly after: unknown;
	/** Size of each message of the transcript. */
	readonly sizes: readonly Size[];
	/** Size of a value that the strategy wrote, as a message of the format. */
	readonly sizeOf: (value: unknown) => Size;
	/**
	 * By what others name a record of a session; `undefined` for a value that nothing names. A record that is written anew
	 * under its name stays in its place, so that those behind it are still tied to it.
	 */
	readonly identityOf?: (value: unknown) => string | undefined;
}

/** The conversation that a strategy was given. */
export interface RewriteSource {
	readonly transcript: Transcript;
	/** Path of the list of messages or records in the document. */
	readonly base: Path;
	/** The list, as it stands in the document. */
	readonly messages: readonly unknown[];
}
