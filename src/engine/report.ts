import type { Plan } from "./edit.ts";
import type { Measurement } from "./measure.ts";
import { pairResults } from "./pairing.ts";
import { type Path, valueAt } from "./path.ts";
import { totalsOf } from "./plan-totals.ts";
import { subtractSizes } from "./size.ts";
import { exactScale, scaleTokens, type TokenScale } from "./token-scale.ts";
import { toolTurns } from "./tool-turns.ts";
import { type Message, resultCharacters, type Transcript } from "./transcript.ts";

interface BeforeAfter {
	readonly before: number;
	readonly after: number;
}

/** What a plan does to a conversation, in numbers. Characters are UTF-16 code units. */
export interface Report {
	/** The wire format that the conversation was read as. */
	readonly format: string;
	/** Whether anything differs from the input. */
	readonly changed: boolean;
	readonly messages: BeforeAfter;
	readonly tool_turns: number;
	readonly tool_results: number;
	readonly masked_tool_results: number;
	readonly truncated_tool_results: number;
	readonly dropped_messages: number;
	/** Characters of everything that is counted. */
	readonly chars: BeforeAfter;
	/** Characters of tool results. */
	readonly tool_chars: BeforeAfter;
	/** Tokens, by the best guess where the model's own are not counted. */
	readonly tokens: BeforeAfter;
	/** Least and most tokens that it may have as it is answered; both `tokens.after` where they are exact. */
	readonly band: { readonly low: number; readonly high: number };
	/** What a reader of the numbers should know, in English sentences. */
	readonly notes: readonly string[];
}

/** Folds a plan into a report; `scale` says what the model makes of a token. */
export function reportOf(
	transcript: Transcript,
	{ total }: Measurement,
	plan: Plan,
	scale: TokenScale = exactScale,
): Report {
	const { saved, masked, truncated, dropped, gone, added, resultChars } = totalsOf(plan);
	const after = subtractSizes(total, saved);
	const { tokens: tokensAfter, ...band } = scaleTokens(after, scale);
	const chars = resultCharactersOf(transcript.messages);
	const toolCharsBefore = chars.reduce((sum, one) => sum + one, 0);
	let toolCharsKept = toolCharsBefore;
	for (const message of gone) toolCharsKept -= chars[message] ?? 0;
	return {
		format: transcript.format,
		changed: plan.length > 0,
		messages: { before: transcript.messages.length, after: transcript.messages.length - gone.length + added },
		tool_turns: toolTurns(transcript).length,
		tool_results: pairResults(transcript).length,
		masked_tool_results: masked.results,
		truncated_tool_results: truncated.results,
		dropped_messages: dropped.messages,
		chars: { before: total.chars, after: after.chars },
		tool_chars: { before: toolCharsBefore, after: toolCharsKept - resultChars },
		tokens: { before: scaleTokens(total, scale).tokens, after: tokensAfter },
		band,
		notes: notesOn(transcript),
	};
}

/** Characters of the results of each message that is sent. */
function resultCharactersOf(messages: readonly Message[]): readonly number[] {
	return messages.map(({ sent, results }) =>
		sent === false ? 0 : results.reduce((sum, result) => sum + resultCharacters(result), 0),
	);
}

/** What a reader of any report on a conversation should know. */
export function notesOn(transcript: Transcript): string[] {
	if (transcript.messages.some((message) => message.calls.length > 0 || message.results.length > 0)) return [];
	return [
		"No tool calls or results stand in this conversation as its format has them, so there is nothing to mask or truncate.",
	];
}

/** A name that may stand in a note: anything else could be text of the conversation. */
const plainRole = /^[\w.:-]{1,40}$/;
const mostRolesListed = 8;

/**
 * A note on the roles that no format defines, in the order in which they come. Their messages are counted, and nothing in
 * them is masked or truncated, so a role that is only misspelled is easily overlooked.
 */
export function notesOnRoles(document: unknown, { messages }: Transcript): string[] {
	const counts = new Map<string, number>();
	for (const { role, paths } of messages) {
		const name = role === "other" ? roleAt(document, paths[0] ?? []) : undefined;
		if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
	}
	if (counts.size === 0) return [];
	const listed = [...counts].slice(0, mostRolesListed).map(([name, count]) => `${name} (${count})`);
	const rest = counts.size - listed.length;
	const roles = [...listed, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
	return [
		`Roles that no format defines, with their messages: ${roles}. These messages are counted, but nothing in them is masked or truncated.`,
	];
}

/** The role that a message says, in the message itself or in the record around it. */
function roleAt(document: unknown, path: Path): string | undefined {
	const value = valueAt(document, path) as Record<string, unknown> | null | undefined;
	const holders = [value, value?.message, value?.payload] as (Record<string, unknown> | null | undefined)[];
	const role = holders.map((holder) => holder?.role).find((one) => typeof one === "string");
	if (role === undefined) return undefined;
	return plainRole.test(role as string) ? JSON.stringify(role) : "one that is no plain word";
}
