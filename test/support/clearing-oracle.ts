import { blocksOf, listOf } from "./bound-prefix.ts";
import { applyContextManagement } from "./context-editing.ts";
import { type HostMessage, keyOf, resultsIn, startOf } from "./host-history.ts";
import type { TakenRequest } from "./session-oracle.ts";
import type { Json, Message } from "./thinking-session.ts";

export const clearingNames = ["clearings", "cleared", "notes", "clearings_refused"] as const;

export type ClearingCounts = Record<(typeof clearingNames)[number], number>;

interface Cleared {
	/** As the host had them: one that it has rewritten since is cleared by its place, and only where it is. */
	readonly keys: Set<string>;
	/** Those that were first cleared in this conversation. */
	readonly chosen: Set<string>;
	/** The provider has refused a request to clear: from then on nothing has to be cleared. */
	isRefused: boolean;
}

/** The rules on what the provider is asked to clear: it stays cleared, and the model has read it. */
export function createClearingOracle(counts: ClearingCounts) {
	const conversations = new Map<string, Cleared>();
	/**
	 * By id, the key under which a result was first cleared in any conversation of the session: a host may rewrite it, or take it
	 * into a compacted conversation.
	 */
	const first = new Map<string, string>();
	/** By branch, what its last request cleared, also by place. */
	const lastOf = new WeakMap<object, { readonly history: readonly HostMessage[]; readonly ids: ReadonlySet<string> }>();
	return {
		clearedIn: (history: readonly HostMessage[]): ReadonlySet<string> => clearedOf(history).chosen,
		refused(history: readonly HostMessage[], body: Json): void {
			if (askedIn(body) === undefined) return;
			counts.clearings_refused += 1;
			clearedOf(history).isRefused = true;
		},
		check({ branch, history, hostBody, text, counts: onlyCounts, isOwn }: TakenRequest): void {
			const sent = JSON.parse(text) as Json;
			const own = listOf((hostBody.context_management as Json | undefined)?.edits);
			const edits = listOf((sent.context_management as Json | undefined)?.edits);
			if (JSON.stringify(edits.slice(0, own.length)) !== JSON.stringify(own)) fail("an edit of the host has changed");
			if (edits.length > own.length + 1) fail("more than one edit was added");
			if (isOwn) return;
			counts.clearings += Number(edits.length > own.length);
			const cleared = clearedOf(history);
			const shown = shownClearedIn(sent);
			const lastAnswer = history.findLastIndex(({ role }) => role === "assistant");
			const last = lastOf.get(branch);
			const goesOn = last?.history.every((message, index) => history[index] === message) === true;
			for (const { message, result } of resultsIn(history)) {
				const key = keyOf(result);
				const before = first.get(result.id);
				if (!shown.has(result.id)) {
					const stays = cleared.keys.has(key) || (goesOn && last.ids.has(result.id));
					if (stays && !cleared.isRefused) fail("a result that was cleared is shown again");
					continue;
				}
				if (before === undefined || before === key) cleared.keys.add(key);
				if (before !== undefined) continue;
				if (message > lastAnswer) fail("a result was cleared that the model has never read");
				if (onlyCounts) fail("a request that counts tokens clears other results");
				counts.cleared += 1;
				first.set(result.id, key);
				cleared.chosen.add(key);
			}
			if (!onlyCounts) lastOf.set(branch, { history, ids: shown });
		},
	};

	function clearedOf(history: readonly HostMessage[]): Cleared {
		const start = startOf(history);
		const cleared = conversations.get(start) ?? {
			keys: new Set<string>(),
			chosen: new Set<string>(),
			isRefused: false,
		};
		conversations.set(start, cleared);
		return cleared;
	}
}

/** The messages as the model is shown them. */
export function shownMessages(sent: Json): readonly Message[] {
	return (applyContextManagement(sent)?.body ?? sent).messages as readonly Message[];
}

function shownClearedIn(sent: Json): Set<string> {
	const blocks = shownMessages(sent).flatMap(({ content }) => blocksOf(content));
	return new Set(blocks.filter(({ content }) => content === "[cleared]").map(({ tool_use_id: id }) => String(id)));
}

function askedIn(body: Json): Json | undefined {
	const edits = listOf((body.context_management as Json | undefined)?.edits);
	return edits.find(({ type }) => type === "clear_tool_uses_20250919");
}

function fail(rule: string): never {
	throw new Error(`A rule does not hold: ${rule}.`);
}
