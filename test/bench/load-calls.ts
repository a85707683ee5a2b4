import type { unsafeIntegers as UnsafeIntegers } from "../../src/formats/json-text/value.ts";
import type * as Library from "../../src/index.ts";
import { importBuilt } from "./import-built.ts";
import { callOf } from "./load-client.ts";

/** A call, and the JSON of the structured content that its answer must have. */
export interface LoadCall {
	readonly body: Uint8Array;
	readonly answer: Uint8Array;
}

/** The same calls for both servers. */
export interface LoadCalls {
	readonly ours: readonly LoadCall[];
	readonly echo: readonly LoadCall[];
	/** Calls that change their conversation. */
	readonly changing: number;
}

/** What is called with a conversation. A guard's window is half of the conversation's tokens, so that it has to edit. */
export type LoadKind = "mask" | "guard" | "guard for edits";

/**
 * Calls with each of the conversations, of each kind in turn, with what the library's own functions answer: a tool's
 * answer is their `conversation` or `edits` with their `report`, to which a server adds the places of integers that no
 * parser of JSON in JavaScript keeps.
 */
export async function loadCalls(conversations: readonly string[], kinds: readonly LoadKind[]): Promise<LoadCalls> {
	const { mask, guard } = await importBuilt<typeof Library>("index.ts");
	const { unsafeIntegers } = await importBuilt<{ unsafeIntegers: typeof UnsafeIntegers }>("formats/json-text/value.ts");
	const [ours, echo]: [LoadCall[], LoadCall[]] = [[], []];
	let changing = 0;
	for (const kind of kinds) {
		for (const text of conversations) {
			const messages: object = JSON.parse(text);
			const masked = await mask(messages);
			// The default reserve of 8 192 tokens is on top.
			const contextWindow = 8192 + Math.ceil(masked.report.tokens.before / 2);
			const outcome = kind === "mask" ? masked : await guard(messages, { contextWindow });
			if (outcome.error) throw outcome.error;
			const unsafe = unsafeIntegers(messages);
			const report = { ...outcome.report, ...(unsafe.length === 0 ? {} : { unsafe_integers: unsafe }) };
			if (outcome.edits.length > 0) changing += 1;
			const isForEdits = kind === "guard for edits";
			const body =
				kind === "mask"
					? callOf("mask_conversation", text, {})
					: callOf("guard_context", text, {
							context_window: contextWindow,
							respond_with: isForEdits ? "edits" : "messages",
						});
			ours.push({
				body,
				answer: bytesOf(isForEdits ? { edits: outcome.edits, report } : { messages: outcome.conversation, report }),
			});
			echo.push({ body, answer: bytesOf({ messages }) });
		}
	}
	return { ours, echo, changing };
}

function bytesOf(answer: object): Uint8Array {
	return Buffer.from(JSON.stringify(answer));
}
