import { resultCharacters, resultText, type ToolResult } from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { writePlaceholder } from "../../engine/masking/placeholder.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { wordings } from "../../engine/policy/wordings.ts";
import { mayBeCut, planCuts } from "../../operations/cut-on-arrival.ts";
import { mayRepeat } from "../../operations/repeats-on-arrival.ts";
import { archivingOf } from "../../storage/restore/originals.ts";
import { placeholdersOf } from "../../storage/restore/recognise.ts";
import type { CacheTerms } from "../billing/terms.ts";
import type { Clearing } from "./clearing.ts";
import type { StateChange } from "./notes.ts";
import type { Decision } from "./plan.ts";
import type { Remembered } from "./remembered.ts";
import type { HostRequest, OpenedConversation, Shared } from "./request.ts";
import { charsSent, isGone, type LeftOut, type ResultState, textValues, type Values, valuesOf } from "./states.ts";
import { workingEdits } from "./working-hint.ts";

/** Why a request got no new decisions, if there is a reason other than that none was due. */
export type NoDecision = "held_out" | "frozen" | "archive" | "memory" | "failed" | "busy";

/** Why results go that were there before. */
export type Why = "it pays" | "the cache had expired" | "a price step or the window" | "the agent asked";

export function reasonAgainst(
	{ isHeldOut, remembered }: Pick<OpenedConversation, "isHeldOut"> & { readonly remembered?: Remembered | undefined },
	isFrozen: boolean,
	{ archive, originals }: Shared,
): NoDecision | undefined {
	if (remembered?.isUnread) return "memory";
	if (isHeldOut) return "held_out";
	if (isFrozen) return "frozen";
	return archive && !originals.canArchive() ? "archive" : undefined;
}

/** Finds the known states by place. A result that another conversation has sent masked or cut stays so. */
export function knownStates({ source, paired, keys, elsewhere }: OpenedConversation, remembered: Remembered) {
	// A result without a state was sent whole, if the conversation has been here.
	if (remembered.messages > 0) return keys.map((key) => remembered.states.get(key));
	const unread = firstUnread(source);
	return keys.map((key, place): ResultState | undefined => {
		const own = remembered.states.get(key);
		if (own) return own;
		const adopted = elsewhere?.get(key);
		const isUnread = (paired[place] as PairedResult).message >= unread;
		// The same call can come again in another conversation, where it was never read.
		return adopted && !(isUnread && isGone(adopted)) ? { ...adopted, changed: 0 } : undefined;
	});
}

/** A request with the number of its results that were sent before. */
export type Sendable = Pick<OpenedConversation, "source" | "transcript" | "paired" | "sent" | "cutsElsewhere">;

type Arrival = Pick<ResultState, "kind" | "values" | "ref" | "sources">;

/** The results among those that are new and have no state. */
export function arrivingPlaces(opened: Sendable, known: readonly (ResultState | undefined)[]): number[] {
	return unsentPlaces(opened).filter((place) => !known[place]);
}

/** How results are sent first, if not whole: without lines that are in view (`repeats`), and cut where that is over a limit. */
export function arrivalsOf(
	opened: Sendable,
	places: readonly number[],
	{
		policy,
		archive,
		recall,
		repeats = new Map(),
	}: Pick<Shared, "policy" | "archive"> &
		Pick<HostRequest<unknown>, "recall"> & { readonly repeats?: ReadonlyMap<number, LeftOut> | undefined },
): (readonly [number, Arrival])[] {
	const { source, paired } = opened;
	const shown = withoutRepeats(opened, repeats);
	const large = places.filter((place) => mayBeCut((shown.paired[place] as PairedResult).result, policy));
	if (large.length === 0 && repeats.size === 0) return [];
	// Each cut says how its whole is read: the agent may need it at once.
	const kept = archive ? (recall ? { recalledBy: recall.by } : "archived") : "not_archived";
	const archiving = archivingOf(archive, source.document);
	const planned = planCuts({
		transcript: shown.transcript,
		fresh: large.map((place) => shown.paired[place] as PairedResult),
		policy,
		wording: wordings(policy, kept),
		isPlaceholder: placeholdersOf(policy, kept),
		archiving: archiving && { ...archiving, refOf: (text) => archiving.refOf(shown.wholes.get(text) ?? text) },
		elsewhere: opened.cutsElsewhere,
	});
	const edits = planned.filter(({ unsent }) => !unsent);
	return places.flatMap((place): (readonly [number, Arrival])[] => {
		const { result } = paired[place] as PairedResult;
		const repeat = repeats.get(place);
		const values = valuesOf(edits, result);
		const ref = edits.find((edit) => valuesOf([edit], result).size > 0)?.takenOut?.ref;
		if (!repeat) return values.size > 0 ? [[place, { kind: "cut", values, ref }]] : [];
		const { sources } = repeat;
		if (values.size > 0) return [[place, { kind: "repeat", values, ref, sources }]];
		const own = archive?.refOf(resultText(result));
		return [[place, { kind: "repeat", values: textValues(result, repeat.text), ref: own, sources }]];
	});
}

/** The same results with the texts that are sent without lines that are in view. */
function withoutRepeats({ transcript, paired }: Sendable, repeats: ReadonlyMap<number, LeftOut>) {
	const wholes = new Map<string, string>();
	if (repeats.size === 0) return { transcript, paired, wholes };
	const shown = new Map<ToolResult, ToolResult>();
	for (const [place, { text }] of repeats) {
		const { result } = paired[place] as PairedResult;
		shown.set(result, { ...result, texts: result.texts.map((node) => ({ ...node, text })) });
		wholes.set(text, resultText(result));
	}
	const messages = transcript.messages.map((message) =>
		message.results.some((result) => shown.has(result))
			? { ...message, results: message.results.map((result) => shown.get(result) ?? result) }
			: message,
	);
	const changed = paired.map((one) => ({ ...one, result: shown.get(one.result) ?? one.result }));
	return { transcript: { ...transcript, messages }, paired: changed, wholes };
}

/** The decisions of the plan that count now, by place. */
export function choose(
	{ branch, paired, keys, isCold, transcript }: OpenedConversation,
	known: readonly (ResultState | undefined)[],
	{
		remembered,
		terms,
		clearing,
	}: { readonly remembered: Remembered; readonly terms: CacheTerms; readonly clearing: Clearing },
): Chosen | undefined {
	if (!branch) return undefined;
	const plan = branch.plan?.maskings === remembered.maskings ? branch.plan : undefined;
	const kind = clearing === "on" ? "cleared" : "masked";
	const counts = ({ place, key, ...one }: Decision) =>
		one.kind === kind && keys[place] === key && !isGone(known[place]);
	const applicable = (decisions: readonly Decision[]) =>
		new Map(decisions.filter(counts).map((one) => [one.place, one]));
	const asked = applicable([...(branch.asked ?? []), ...(plan?.asked ?? [])]);
	const chosen = (why: Why, decisions: ReadonlyMap<number, Decision>): Chosen => {
		return { why, decisions: new Map([...decisions, ...asked]), asked: new Set(asked.keys()) };
	};
	if (!plan) return asked.size > 0 ? chosen("the agent asked", asked) : undefined;
	const all = isCold ? applicable(plan.cold) : applicable(plan.warm);
	const over = applicable(plan.over);
	if (branch.tokensPerChar !== undefined && over.size > all.size) {
		const chars = charsSent(transcript, paired, (place) => known[place]);
		const without = (decisions: ReadonlyMap<number, Decision>) =>
			chars - Array.from(decisions.values()).reduce((sum, { savedChars }) => sum + savedChars, 0);
		const { tokensPerChar } = branch;
		const isStep = [...terms.prices.steps.map((step) => step.over), ...plan.limits].some(
			(limit) => without(all) * tokensPerChar > limit && without(over) * tokensPerChar <= limit,
		);
		if (isStep) return chosen("a price step or the window", over);
	}
	if (all.size > 0) return chosen(isCold ? "the cache had expired" : "it pays", all);
	return asked.size > 0 ? chosen("the agent asked", all) : undefined;
}

interface Chosen {
	readonly why: Why;
	readonly decisions: ReadonlyMap<number, Decision>;
	/** Places of the decisions that the agent has asked for. */
	readonly asked: ReadonlySet<number>;
}

/**
 * One placeholder says how to read the originals: the first, unless another one already does. If the host has rewritten its
 * history without that placeholder, the first one left says it: the messages after it are written to the cache again in
 * any case.
 */
export function addHint(
	{ paired, branch }: OpenedConversation,
	what: {
		readonly known: readonly (ResultState | undefined)[];
		readonly fresh: Map<number, ResultState>;
		readonly recall: { readonly by: string };
		readonly ways: HostRequest<unknown>["recallWays"];
		readonly policy: Policy;
		readonly number: number;
	},
): void {
	const { known, fresh, recall, ways, policy, number } = what;
	const mark = JSON.stringify(recall.by.replace(/ ?\{ref\}/, "").replaceAll("`", "")).slice(1, -1);
	const masked: { readonly place: number; readonly state: ResultState }[] = [];
	for (const [place, { result }] of paired.entries()) {
		const state = fresh.get(place) ?? known[place];
		if (state?.kind !== "masked") continue;
		const [edit] = workingEdits(state, result, ways);
		if (JSON.stringify(edit?.replacement ?? null).includes(mark)) return;
		masked.push({ place, state });
	}
	const wording = wordings(policy, { recalledBy: recall.by });
	for (const { place, state } of masked) {
		const { result, call } = paired[place] as PairedResult;
		const isFresh = fresh.has(place);
		if (!isFresh && branch) continue;
		const { whole } = result;
		const originalChars = resultCharacters(result);
		if (!whole || state.ref === undefined || !state.values.has("whole")) continue;
		const given = { toolCallId: result.callId ?? "", toolName: call?.name, originalChars, ref: state.ref };
		const placeholder = writePlaceholder(wording, given);
		if (placeholder.length >= originalChars) continue;
		const value = whole.write(placeholder);
		const values: Values = new Map([["whole", () => value]]);
		fresh.set(place, { ...state, ...(isFresh ? {} : { since: number, changed: number }), values });
		return;
	}
}

/**
 * New states, those that another conversation has brought, and results that are sent whole and could have been sent cut, or
 * with a note, so that they stay so.
 */
export function changesOf(
	fresh: ReadonlyMap<number, ResultState>,
	opened: OpenedConversation,
	what: {
		readonly known: readonly (ResultState | undefined)[];
		readonly remembered: Remembered;
		readonly policy: Policy;
		readonly began: Pick<ResultState, "since" | "at" | "changed">;
	},
): StateChange[] {
	const { known, remembered, policy, began } = what;
	const { paired, keys } = opened;
	const change = (place: number, state: ResultState): StateChange => {
		return { key: keys[place] as string, result: (paired[place] as PairedResult).result, state };
	};
	const adopted = known.flatMap((state, place) => {
		const isNew = state && !fresh.has(place) && !remembered.states.has(keys[place] as string);
		return isNew ? [change(place, { ...state, since: began.since, at: began.at })] : [];
	});
	const mayChange = (one: PairedResult) =>
		mayBeCut(one.result, policy) || policy.mask.by === "provider" || mayRepeat(one, opened.transcript, policy);
	const leftWhole = paired.flatMap((one, place) => {
		const isLeft = place >= opened.sent && !known[place] && !fresh.has(place) && mayChange(one);
		return isLeft ? [change(place, { ...began, kind: "whole", values: new Map() })] : [];
	});
	return [...Array.from(fresh, ([place, state]) => change(place, state)), ...adopted, ...leftWhole];
}

/** Results that no request has had and no answer follows. Others were sent whole, also where that did not pass here. */
export function unsentPlaces({ source, paired, sent }: Omit<Sendable, "transcript">): number[] {
	const unread = firstUnread(source);
	return paired.flatMap(({ message }, place) => (message >= unread && place >= sent ? [place] : []));
}

/** The first message that no answer follows. opencode stores a result in the message of its call. */
function firstUnread({ transcript: { messages }, format }: OpenedConversation["source"]): number {
	const last = messages.findLastIndex(({ role }) => role === "assistant");
	return format.name === "opencode" && messages[last]?.results.length ? last : last + 1;
}
