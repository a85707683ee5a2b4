import { compactJson } from "../compact-json.ts";
import type { Edit, Size } from "../edit.ts";
import type { Path } from "../path.ts";
import type { Transcript } from "../transcript.ts";
import { matchValues } from "./match-values.ts";
import { plainJson } from "./plain-json.ts";
import { rewriteEdits } from "./rewrite-edits.ts";

/** The conversation that a strategy was given. */
export interface RewriteSource {
	readonly transcript: Transcript;
	/** Path of the list of messages or records in the document. */
	readonly base: Path;
	/** The list, as it stands in the document. */
	readonly messages: readonly unknown[];
}

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

/**
 * Turns the list that a strategy gave into edits of the conversation: values equal to those that were there, in their
 * order, stay untouched, to the byte; all others are taken out or put in.
 */
export function planRewrite(parameters: PlanRewriteParameters): Rewrite {
	const { source, after } = parameters;
	const refuse = (detail: string): Rewrite => ({ kind: "refused", detail });
	if (after === null) return { kind: "unchanged" };
	if (!Array.isArray(after)) return refuse("Expected a list of messages or null, got neither.");
	if (after.length === 0 && source.messages.length > 0) return refuse("Expected at least one message, got none.");
	const values: unknown[] = [];
	// By index, so that holes of the list are met too.
	for (let index = 0; index < after.length; index += 1) {
		const read = plainJson(after[index]);
		if (read.kind === "refused") return refuse(`Expected plain JSON, got ${read.problem} in message ${index}.`);
		if (!isObject(read.value)) return refuse(`Expected each message to be an object; message ${index} is none.`);
		values.push(read.value);
	}
	const matches = matchValues(source.messages.map(compactJson), values.map(compactJson));
	const kept = matches.reduce((count, match) => count + (match === -1 ? 0 : 1), 0);
	if (kept === values.length && kept === source.messages.length) return { kind: "unchanged" };
	return { kind: "rewrite", kept, ...rewriteEdits({ ...parameters, values, matches }) };
}

function isObject(value: unknown): boolean {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
