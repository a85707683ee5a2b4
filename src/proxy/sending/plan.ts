import { groupBy } from "../../engine/conversation/lists.ts";
import type { TokenMeter } from "../../engine/conversation/measure.ts";
import { jsonPointer } from "../../engine/conversation/paths.ts";
import type { ReplaceEdit } from "../../engine/conversation/plan.ts";
import type { Archiving } from "../../engine/conversation/report.ts";
import { resultText } from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { type AskedCall, askedCalls, askedResults } from "../../engine/masking/asked.ts";
import { withDigest } from "../../engine/masking/digest.ts";
import type { ReplayHistory, ReplayResult } from "../../engine/masking/history.ts";
import { planMask } from "../../engine/masking/mask.ts";
import { maskResult } from "../../engine/masking/mask-result.ts";
import { withStepsIn } from "../../engine/masking/price-steps.ts";
import { replay, roomLeft, type Schedule } from "../../engine/masking/replay.ts";
import { isNeverCleared } from "../../engine/masking/selection.ts";
import { affectedThinking } from "../../engine/masking/thinking.ts";
import { applyAndVerify } from "../../operations/conversation.ts";
import { splitWindow } from "../../operations/window-parts.ts";
import { type ShownResult, writeAskedAnswer } from "./asked-answer.ts";
import { clearablePlaces } from "./clearing.ts";
import { type Planning, readSent, refsOf, type SentHistory } from "./sent-history.ts";
import { charsOfState, isGone, type ResultState, type Values, valuesOf } from "./states.ts";

/** A result that is masked, or that the provider clears, from the next request on. Its original is archived. */
export interface Decision {
	readonly kind: "masked" | "cleared";
	readonly place: number;
	readonly key: string;
	readonly values: Values;
	readonly ref: string | undefined;
	readonly savedChars: number;
	/** In tokens of the meter. */
	readonly savedTokens: number;
}

/** Tokens that a result loses, for its place and the tokens that are left of it. */
type SavedBy = (place: number, after: number) => number;

/** The results to mask with the next request. The clock and its size decide which of the three counts. */
export interface Plan {
	/** How often results had been masked when it was made. */
	readonly maskings: number;
	/** If the provider's cache still holds the conversation. */
	readonly warm: readonly Decision[];
	/** If it has expired, so that masking is free. */
	readonly cold: readonly Decision[];
	/** If the request would pass one of these numbers of the provider's tokens, or a price step. */
	readonly over: readonly Decision[];
	readonly limits: readonly number[];
	/** The decisions that the agent has asked for. They always count. */
	readonly asked: readonly Decision[];
}

/**
 * Plans the maskings of the next request, or what the provider clears with it: a replay of the sent history, with one decision
 * at its end, and what the agent has asked for. Every promise on the edited conversation is checked, and the originals are
 * archived, before it returns. Throws if one of both fails; then nothing is decided.
 */
export async function planNext(what: Planning): Promise<Plan> {
	const { source, states, policy, terms, clears, coldAt, isForwarded, pause } = what;
	const read = await readSent(what);
	const { seen, history, total, scale, limits } = read;
	const { messages } = source.transcript;
	const sent: Schedule = Float64Array.from(states, (state) =>
		state && isGone(state) ? Math.min(state.at, messages.length) : Number.POSITIVE_INFINITY,
	);
	const limit = limits.toSorted((a, b) => a - b).find((one) => one > sparedShare * read.tokens);
	const prices = withStepsIn(terms.prices, 1 / scale);
	const replaying = { prices, coldAt, sent, isForwarded, mask: policy.mask, oldestFirst: clears };
	const wanted = (more: { readonly coldAt?: ReadonlySet<number>; readonly budget?: number } = {}) => {
		const places = newPlaces(replay(seen, { ...replaying, ...more }), states, history);
		return clears ? oldestUpTo(places, what, history) : places;
	};
	const asked = placesAskedFor(what, read);
	const places = {
		warm: wanted(),
		cold: wanted({ coldAt: new Set([...coldAt, messages.length]) }),
		over: limit === undefined ? [] : wanted({ budget: Math.min(roomLeft * (limit / scale), total - 1) }),
		asked: [...asked],
	};
	await pause();

	const decisions = await decisionsFor(what, new Set(Object.values(places).flat()), { read, asked });
	const decided = (of: readonly number[]) => of.flatMap((place) => decisions.get(place) ?? []);
	return {
		maskings: what.maskings,
		warm: decided(places.warm),
		cold: decided(places.cold),
		over: decided(places.over),
		asked: decided(places.asked),
		limits,
	};
}

/**
 * Plans what the agent has asked for, and writes the answers to those of its calls that no request has had. Throws as
 * `planNext` does.
 */
export async function planAsked(
	what: Planning,
	{ unanswered, recalledBy }: { readonly unanswered: readonly AskedCall[]; readonly recalledBy: string | undefined },
): Promise<{ readonly decisions: readonly Decision[]; readonly answers: ReadonlyMap<number, string> }> {
	const read = await readSent(what);
	const asked = placesAskedFor(what, read);
	const decisions = await decisionsFor(what, asked, { read, asked });
	const { paired, states, clears, policy } = what;
	const { seen, scale, tokens, window, steps } = read;
	const results = seen.results.map((result, place): ShownResult => {
		const isHidden = isGone(states[place]);
		const shown = (isHidden ? result.tokens - result.saves : result.tokens) * scale;
		const frees = (decisions.get(place)?.savedTokens ?? 0) * scale;
		return { tokens: shown, saves: result.saves * scale, isGone: isHidden, frees, ref: () => refsOf(what, place)[0] };
	});
	const about = {
		paired,
		results,
		partsOf: (frees: (place: number) => number) =>
			splitWindow({
				transcript: what.source.transcript,
				paired,
				meter: read.meter,
				requestOverhead: 0,
				sentAs: (place) => ({
					size: { chars: 0, tokens: (results[place]?.tokens ?? 0) / scale },
					frees: { chars: 0, tokens: frees(place) / scale },
				}),
				// Plugins are given the messages alone.
				isRequest: what.source.transcript.surroundings.length > 0,
				scaled: (sizes) => sizes.map((size) => Math.round(size.tokens * scale)),
			}),
		tokens,
		window,
		steps,
		clears,
		isOff: !policy.mask.enabled || policy.mask.window_turns <= 0,
		isArchived: what.archive !== undefined,
		recalledBy,
		choose: (call: AskedCall) => choiceOf(call, what, seen),
	};
	return {
		decisions: [...decisions.values()],
		answers: new Map(unanswered.map((call) => [call.place, writeAskedAnswer(call, about)])),
	};
}

function choiceOf(call: AskedCall, what: Planning, { results }: ReplayHistory) {
	const { source, paired } = what;
	return askedResults(call, { transcript: source.transcript, paired, results, refsOf: (place) => refsOf(what, place) });
}

/** The results that the agent has asked to mask and that are not masked yet. A provider clears those before them as well. */
function placesAskedFor(what: Planning, { seen, history }: SentHistory): ReadonlySet<number> {
	const { source, paired, states, clears, policy } = what;
	if (!policy.mask.enabled) return new Set();
	const calls = askedCalls(source.transcript, paired).filter(({ kind }) => kind === "mask");
	const places = calls
		.flatMap((call) => choiceOf(call, what, seen).places)
		.filter((place) => !isGone(states[place]) && states[place]?.kind !== "answered");
	return new Set(clears ? oldestUpTo(places, what, history) : places);
}

async function decisionsFor(
	what: Planning,
	all: ReadonlySet<number>,
	{ read, asked }: { readonly read: SentHistory; readonly asked: ReadonlySet<number> },
): Promise<ReadonlyMap<number, Decision>> {
	const { common, meter, seen } = read;
	const { isPlaceholder, archiving } = common;
	const savedBy = (place: number, after: number) => Math.max(0, (seen.results[place]?.tokens ?? 0) - after);
	if (what.clears) return clearings(what, all, { isPlaceholder, archiving, savedBy });
	const history = withNamedErrors(read, what, asked);
	const { prices } = what.terms;
	return maskings(what, all, { common, replaying: { meter, prices }, history, meter, savedBy });
}

/** Errors stay by their outcome, unless the agent has named them. */
function withNamedErrors({ common, history }: SentHistory, what: Planning, asked: ReadonlySet<number>): ReplayHistory {
	const isNamedError = ({ outcome }: ReplayResult, place: number) => outcome === "error" && asked.has(place);
	if (!history.results.some(isNamedError)) return history;
	const policy = { ...common.policy, keep_errors: false };
	const how = withDigest({ ...common, policy, transcript: what.source.transcript });
	const results = history.results.map((result, place) => {
		if (!isNamedError(result, place)) return result;
		return { ...result, outcome: maskResult(what.paired[place] as PairedResult, how) };
	});
	return { ...history, results };
}

/** The decisions to mask the results at some places, by place. */
async function maskings(
	what: Planning,
	all: ReadonlySet<number>,
	{
		common,
		replaying,
		history,
		meter,
		savedBy,
	}: {
		readonly common: Omit<Parameters<typeof planMask>[0], "transcript" | "replaying">;
		readonly replaying: Parameters<typeof planMask>[0]["replaying"];
		readonly history: ReplayHistory;
		readonly meter: TokenMeter;
		readonly savedBy: SavedBy;
	},
): Promise<ReadonlyMap<number, Decision>> {
	const { source, paired, keys, states, policy, pause } = what;
	const { transcript, document } = source;
	const schedule = Float64Array.from(states, (_, place) =>
		all.has(place) ? transcript.messages.length : Number.POSITIVE_INFINITY,
	);
	const { edits: masks } = planMask({ ...common, transcript, replaying }, { history, schedule });
	const edits = policy.thinking === "refuse" && affectedThinking(transcript, masks).length > 0 ? [] : masks;
	await pause();
	const { error } = applyAndVerify({ source, plan: edits, meter });
	if (error) throw error;
	await pause();
	const decisions = decisionsOf(edits, { paired, keys, states, history, savedBy });
	const replaced = Array.from(decisions.values(), ({ place, ...one }) => ({
		...one,
		paired: paired[place] as PairedResult,
	}));
	await what.originals.archive(document, replaced);
	return decisions;
}

/** The provider clears in the order of the calls, in which the results of calls in parallel need not come. */
function oldestUpTo(
	places: readonly number[],
	{ source, paired, states, policy }: Planning,
	{ results }: ReplayHistory,
): number[] {
	const clearable = clearablePlaces(source.document, paired);
	const last = clearable.findLastIndex((place) => places.includes(place));
	const stays = (place: number) => isNeverCleared(results[place] as ReplayResult, policy.mask);
	return clearable.slice(0, last + 1).filter((place) => !isGone(states[place]) && !stays(place));
}

/** The decisions to let the provider clear the results at some places, by place. Errors go too, and what has no text. */
async function clearings(
	what: Planning,
	all: ReadonlySet<number>,
	how: {
		readonly isPlaceholder: (text: string) => boolean;
		readonly archiving: Archiving | undefined;
		readonly savedBy: SavedBy;
	},
): Promise<ReadonlyMap<number, Decision>> {
	const { source, paired, keys, states } = what;
	const decisions = Array.from(all, (place): Decision => {
		const { result } = paired[place] as PairedResult;
		const text = resultText(result);
		const ref = text === "" || how.isPlaceholder(text) ? undefined : how.archiving?.refOf(text);
		const values: Values = new Map(states[place]?.values);
		const savedChars = charsOfState(states[place], result) - charsOfState({ kind: "cleared", values }, result);
		const savedTokens = how.savedBy(place, clearedTokens);
		return { kind: "cleared", place, key: keys[place] as string, values, ref, savedChars, savedTokens };
	});
	const replaced = decisions.map(({ place, ...one }) => {
		return { ...one, paired: paired[place] as PairedResult, isCleared: true };
	});
	await what.originals.archive(source.document, replaced);
	return new Map(decisions.map((one) => [one.place, one]));
}

/** Tokens of the provider's text in the place of a cleared result. */
const clearedTokens = 3;
/** A price step or a window is in reach if the last request had more than this share of it. */
const sparedShare = 0.6;

/** The results that a replay masks at the end of the history. One that no answer follows was never read. */
function newPlaces(
	schedule: Schedule,
	states: readonly (ResultState | undefined)[],
	{ results, calls }: ReplayHistory,
): number[] {
	const lastCall = calls.at(-1) ?? -1;
	return results.flatMap(({ message }, place) => {
		const isNew = schedule[place] !== Number.POSITIVE_INFINITY && !isGone(states[place]);
		return isNew && message <= lastCall ? [place] : [];
	});
}

function decisionsOf(
	edits: readonly ReplaceEdit[],
	what: Pick<Planning, "paired" | "keys" | "states"> & { readonly history: ReplayHistory; readonly savedBy: SavedBy },
): Map<number, Decision> {
	const { paired, keys, states, history, savedBy } = what;
	const placeOf = new Map<string, number>();
	history.results.forEach(({ outcome }, place) => {
		if (typeof outcome !== "string") for (const { path } of outcome) placeOf.set(jsonPointer(path), place);
	});
	// A copy that opencode stores next to the result is not sent.
	const byPlace = groupBy(
		edits.filter(({ unsent }) => !unsent),
		({ path }) => placeOf.get(jsonPointer(path)) as number,
	);
	return new Map(
		Array.from(byPlace, ([place, ofPlace]) => {
			const { result } = paired[place] as PairedResult;
			const values = valuesOf(ofPlace, result);
			const savedChars = charsOfState(states[place], result) - charsOfState({ values }, result);
			const ref = ofPlace.find(({ takenOut }) => takenOut)?.takenOut?.ref;
			const savedTokens = savedBy(
				place,
				ofPlace.reduce((sum, { after }) => sum + after.tokens, 0),
			);
			const key = keys[place] as string;
			return [place, { kind: "masked" as const, place, key, values, ref, savedChars, savedTokens }];
		}),
	);
}
