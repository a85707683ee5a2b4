import type { TokenPrices } from "../policy/schema.ts";
import { exactScale, likelyTokens, type Measurement, scaleTokens, type TokenScale } from "./measure.ts";
import { type Path, valueAt } from "./paths.ts";
import { type Plan, startSum, subtractSizes, totalsOf } from "./plan.ts";
import { resultCharacters, type ToolResult, type Transcript } from "./transcript.ts";
import { pairResults, toolTurns } from "./turns.ts";

/** The effect of a plan on a conversation, in numbers. Characters are UTF-16 code units. */
export interface Report {
	readonly format: string;
	readonly changed: boolean;
	readonly messages: BeforeAfter;
	readonly tool_turns: number;
	readonly tool_results: number;
	readonly masked_tool_results: number;
	readonly truncated_tool_results: number;
	readonly dropped_messages: number;
	readonly chars: BeforeAfter;
	readonly tool_chars: BeforeAfter;
	/** An estimate if the model's own tokens are not counted. */
	readonly tokens: BeforeAfter;
	/** The least and the most tokens after the plan. */
	readonly band: { readonly low: number; readonly high: number };
	readonly notes: readonly string[];
}

interface BeforeAfter {
	readonly before: number;
	readonly after: number;
}

export function reportOf(
	transcript: Transcript,
	{ total }: Measurement,
	plan: Plan,
	scale: TokenScale = exactScale,
): Report {
	const { saved, masked, truncated, dropped, gone, added, resultChars } = totalsOf(plan);
	const after = subtractSizes(total, saved);
	const { tokens: tokensAfter, ...band } = scaleTokens(after, scale);
	const chars = transcript.messages.map(({ sent, results }) =>
		sent === false ? 0 : results.reduce((sum, result) => sum + resultCharacters(result), 0),
	);
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

export function notesOn(transcript: Transcript): string[] {
	const ofServers = notesOnServerTools(transcript);
	if (ofServers.length > 0) return ofServers;
	if (transcript.messages.some((message) => message.calls.length > 0 || message.results.length > 0)) return [];
	return [
		"This conversation has no tool calls or results in the form that its format defines, so there is nothing to mask or truncate.",
	];
}

/** Names the results of tools that the provider runs: its API accepts them only unchanged. */
function notesOnServerTools({ messages }: Transcript): string[] {
	const counts = new Map<string, number>();
	for (const { links = [], sent } of messages) {
		for (const { serverResult } of links) {
			if (serverResult === undefined || sent === false) continue;
			const name = plainRole.test(serverResult) ? serverResult : "others";
			counts.set(name, (counts.get(name) ?? 0) + 1);
		}
	}
	if (counts.size === 0) return [];
	const listed = [...counts].slice(0, mostRolesListed).map(([name, count]) => `${name} (${count})`);
	const rest = counts.size - listed.length;
	const names = [...listed, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
	return [
		`Results of tools that the provider runs: ${names}. They are counted, and dropped with their calls, but never masked or truncated.`,
	];
}

/** Any other role could be text of the conversation. */
const plainRole = /^[\w.:-]{1,40}$/;

const mostRolesListed = 8;

/** A note on roles that no format defines: a misspelled role is easily overlooked. */
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

/** A note on a conversation in which no result can be read, since nothing in it can be masked or cut. */
export function notesOnContents({ messages }: Transcript): string[] {
	const results = messages.flatMap((message) => message.results);
	const isRead = ({ texts, whole, media, inPlaceOfMedia = [] }: ToolResult) =>
		texts.length > 0 || whole !== undefined || media.length > 0 || inPlaceOfMedia.length > 0;
	// An empty result has nothing to read.
	const isEmpty = messages.every(({ counted, results: own }) => own.length === 0 || counted.length === 0);
	if (results.length === 0 || isEmpty || results.some(isRead)) return [];
	return [
		results.length === 1
			? "The tool result cannot be read: its content has a shape that is not known, so it is counted, but never masked or truncated."
			: `None of the ${results.length} tool results can be read: their contents have shapes that are not known, so they are counted, but never masked or truncated.`,
	];
}

function roleAt(document: unknown, path: Path): string | undefined {
	const value = valueAt(document, path) as Record<string, unknown> | null | undefined;
	const holders = [value, value?.message, value?.payload] as (Record<string, unknown> | null | undefined)[];
	const role = holders.map((holder) => holder?.role).find((one) => typeof one === "string");
	if (role === undefined) return undefined;
	return plainRole.test(role as string) ? JSON.stringify(role) : "a role that is not a plain word";
}

export interface Archiving {
	/** The reference of a text before it is stored: a function of the text. */
	readonly refOf: (text: string) => string;
	readonly jsonAt: (path: Path) => string;
}

/** Cost and saving of a plan with a cached prompt, compared with reading the unchanged conversation from the cache. */
export interface Economics {
	readonly first_changed_message: number | null;
	/** Tokens before it, which are still in the provider's cache. */
	readonly prefix_kept_tokens: number;
	/** Tokens from it on, after the edits, which the provider writes to its cache again. */
	readonly rewritten_tokens: number;
	/** Tokens saved in this call and in each later one; negative if the plan inserts more than it removes. */
	readonly saved_tokens_per_call: number;
	/** `rewritten × (cache_write − cache_read) ÷ (saved × cache_read)`, rounded up; `null` for never. */
	readonly calls_to_break_even: number | null;
}

export function economicsOf(
	plan: Plan,
	basis: { readonly measurement: Measurement; readonly prices: TokenPrices; readonly scale: TokenScale },
): Economics {
	const { measurement, prices, scale } = basis;
	const { messages, total } = measurement;
	const { savedInMessages: saved, firstMessage } = totalsOf(plan);
	const first = firstMessage ?? messages.length;
	const rest = startSum();
	for (const size of messages.slice(first)) rest.add(size);
	const prefix = startSum(total);
	prefix.subtract(rest.total());
	rest.subtract(saved);
	const rewritten = likelyTokens(rest.total(), scale);
	const savedTokens = likelyTokens(saved, scale);
	const cost = rewritten * Math.max(0, prices.cache_write - prices.cache_read);
	const gain = savedTokens * prices.cache_read;
	const breakEven = cost === 0 ? 0 : gain > 0 ? Math.ceil(cost / gain) : null;
	return {
		first_changed_message: firstMessage ?? null,
		prefix_kept_tokens: likelyTokens(prefix.total(), scale),
		rewritten_tokens: rewritten,
		saved_tokens_per_call: savedTokens,
		calls_to_break_even: firstMessage === undefined ? null : breakEven,
	};
}
