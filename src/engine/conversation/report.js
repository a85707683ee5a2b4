import { exactScale, likelyTokens, scaleTokens } from "./measure.js";
import { valueAt } from "./paths.js";
import { startSum, subtractSizes, totalsOf } from "./plan.js";
import { resultCharacters } from "./transcript.js";
import { pairResults, toolTurns } from "./turns.js";
export function reportOf(transcript, { total }, plan, scale = exactScale) {
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
export function notesOn(transcript) {
	const ofServers = notesOnServerTools(transcript);
	if (ofServers.length > 0) return ofServers;
	if (transcript.messages.some((message) => message.calls.length > 0 || message.results.length > 0)) return [];
	return [
		"This conversation has no tool calls or results in the form that its format defines, so there is nothing to mask or truncate.",
	];
}
/** Names the results of tools that the provider runs: its API accepts them only unchanged. */
function notesOnServerTools({ messages }) {
	const counts = new Map();
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
export function notesOnRoles(document, { messages }) {
	const counts = new Map();
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
function roleAt(document, path) {
	const value = valueAt(document, path);
	const holders = [value, value?.message, value?.payload];
	const role = holders.map((holder) => holder?.role).find((one) => typeof one === "string");
	if (role === undefined) return undefined;
	return plainRole.test(role) ? JSON.stringify(role) : "a role that is not a plain word";
}
export function economicsOf(plan, basis) {
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
