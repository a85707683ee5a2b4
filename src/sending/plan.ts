import type { Archive } from "../archive/archive.ts";
import type { CacheTerms } from "../billing/terms.ts";
import { applyPlan } from "../conversation/apply.ts";
import { groupBy } from "../conversation/lists.ts";
import type { TokenMeter } from "../conversation/measure.ts";
import { jsonPointer } from "../conversation/paths.ts";
import { noSize, type ReplaceEdit } from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import { resultText, type Transcript } from "../conversation/transcript.ts";
import type { PairedResult } from "../conversation/turns.ts";
import { locateMessages, type ReadConversation } from "../formats/detect.ts";
import { type ReplayHistory, type ReplayResult, readHistory } from "../masking/history.ts";
import { planMask } from "../masking/mask.ts";
import { editsOf } from "../masking/mask-result.ts";
import { clearedText } from "../masking/placeholder.ts";
import { withStepsIn } from "../masking/price-steps.ts";
import { replay, roomLeft, type Schedule } from "../masking/replay.ts";
import { isNeverCleared } from "../masking/selection.ts";
import { affectedThinking } from "../masking/thinking.ts";
import { applyAndVerify } from "../operations/conversation.ts";
import { tokenMeter } from "../operations/count.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { archivingOf } from "../restore/originals.ts";
import { placeholdersOf, shortenedRef } from "../restore/recognise.ts";
import { contextWindowOfModel } from "../tokens/models.ts";
import { reasoningBinding } from "../tokens/reasoning-binding.ts";
import type { Originals } from "./archiving.ts";
import { clearablePlaces } from "./clearing.ts";
import {
	charsOfState,
	charsSent,
	isGone,
	type PlacedValue,
	type ResultState,
	type Values,
	valueEdits,
	valuesOf,
} from "./states.ts";

/** A result that is masked, or that the provider clears, from the next request on. Its original is archived. */
export interface Decision {
	readonly kind: "masked" | "cleared";
	readonly place: number;
	readonly key: string;
	readonly values: Values;
	readonly ref: string | undefined;
	readonly savedChars: number;
}

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
}

export interface Planning {
	readonly source: ReadConversation;
	readonly paired: readonly PairedResult[];
	readonly keys: readonly string[];
	/** By place, how the results were sent. */
	readonly states: readonly (ResultState | undefined)[];
	readonly maskings: number;
	readonly coldAt: ReadonlySet<number>;
	readonly model: string | undefined;
	readonly terms: CacheTerms;
	readonly policy: Policy;
	readonly archive: Archive | undefined;
	readonly originals: Originals;
	/** Whether the provider clears results. */
	readonly clears: boolean;
	/** Tokens of the provider for each character that was sent, if an answer has told them. */
	readonly tokensPerChar: number | undefined;
	/** Whether the request has been forwarded, so that a decision counts from the next one on. */
	readonly isForwarded: boolean;
	/** Lets others go on between the steps; may throw to end the planning. */
	readonly pause: () => Promise<void>;
}

/**
 * Plans the maskings of the next request, or what the provider clears with it: a replay of the sent history, with one decision
 * at its end. Every promise on the edited conversation is checked, and the originals are archived, before it returns. Throws
 * if one of both fails; then nothing is decided.
 */
export async function planNext(what: Planning): Promise<Plan> {
	const { source, paired, states, policy, archive, model, terms, clears, pause } = what;
	const { meter, estimate } = await tokenMeter(policy, model);
	const { transcript, document } = source;
	await pause();
	const kept = archive ? "archived" : "not_archived";
	const { coldAt, isForwarded } = what;
	const common = {
		wording: clears ? { ...wordings(policy, kept), ...clearedWording } : wordings(policy, kept),
		isPlaceholder: placeholdersOf(policy, kept),
		policy: policy.mask,
		media: policy.media,
		countTokens: meter.countTokens,
		archiving: await namingWholes(archivingOf(archive, document), paired, archive),
	};
	const { messages } = transcript;
	const sent: Schedule = Float64Array.from(states, (state) =>
		state && isGone(state) ? Math.min(state.at, messages.length) : Number.POSITIVE_INFINITY,
	);
	// Masking is decided on the results as the model saw them: cut.
	const shown = transcriptShown(what);
	await pause();
	const bindsReasoning = !clears && reasoningBinding(model) !== "none";
	const cacheTime = { seconds: terms.prices.cache_seconds };
	const seen = readHistory({ ...common, transcript: shown, meter, cacheTime, bindsReasoning });
	await pause();
	const history = shown === transcript || clears ? seen : readHistory({ ...common, transcript, meter, bindsReasoning });
	await pause();

	const total = seen.messageTokens.reduce((sum, tokens) => sum + tokens, seen.surroundingTokens);
	const tokens = (what.tokensPerChar ?? 0) * charsSent(transcript, paired, (place) => states[place]);
	const limits = [...terms.prices.steps.map(({ over }) => over), ...(await windowOf(model, policy))];
	const limit = limits.toSorted((a, b) => a - b).find((one) => one > sparedShare * tokens);
	const counted = tokens > 0 ? total / tokens : 1 / estimate.scale.factor;
	const prices = withStepsIn(terms.prices, counted);
	const replaying = { prices, coldAt, sent, isForwarded, mask: policy.mask, oldestFirst: clears };
	const wanted = (more: { readonly coldAt?: ReadonlySet<number>; readonly budget?: number } = {}) => {
		const places = newPlaces(replay(seen, { ...replaying, ...more }), states, history);
		return clears ? oldestUpTo(places, what, history) : places;
	};
	const places = {
		warm: wanted(),
		cold: wanted({ coldAt: new Set([...coldAt, messages.length]) }),
		over: limit === undefined ? [] : wanted({ budget: Math.min(roomLeft * limit * counted, total - 1) }),
	};
	await pause();

	const all = new Set(Object.values(places).flat());
	const decisions = clears
		? await clearings(what, all, { isPlaceholder: common.isPlaceholder, archiving: common.archiving })
		: await maskings(what, all, { common, replaying: { meter, prices }, history, meter });
	const decided = (of: readonly number[]) => of.flatMap((place) => decisions.get(place) ?? []);
	return {
		maskings: what.maskings,
		warm: decided(places.warm),
		cold: decided(places.cold),
		over: decided(places.over),
		limits,
	};
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
	}: {
		readonly common: Omit<Parameters<typeof planMask>[0], "transcript" | "replaying">;
		readonly replaying: Parameters<typeof planMask>[0]["replaying"];
		readonly history: ReplayHistory;
		readonly meter: TokenMeter;
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
	const decisions = decisionsOf(edits, { paired, keys, states, history });
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
	how: { readonly isPlaceholder: (text: string) => boolean; readonly archiving: Archiving | undefined },
): Promise<ReadonlyMap<number, Decision>> {
	const { source, paired, keys, states } = what;
	const decisions = Array.from(all, (place): Decision => {
		const { result } = paired[place] as PairedResult;
		const text = resultText(result);
		const ref = text === "" || how.isPlaceholder(text) ? undefined : how.archiving?.refOf(text);
		const values: Values = new Map(states[place]?.values);
		const savedChars = charsOfState(states[place], result) - charsOfState({ kind: "cleared", values }, result);
		return { kind: "cleared", place, key: keys[place] as string, values, ref, savedChars };
	});
	const replaced = decisions.map(({ place, ...one }) => {
		return { ...one, paired: paired[place] as PairedResult, isCleared: true };
	});
	await what.originals.archive(source.document, replaced);
	return new Map(decisions.map((one) => [one.place, one]));
}

const clearedWording = { placeholder: clearedText, digestPlaceholder: clearedText, mediaPlaceholder: clearedText };

/** A price step or a window is in reach if the last request had more than this share of it. */
const sparedShare = 0.6;

async function windowOf(model: string | undefined, { guard }: Policy): Promise<number[]> {
	const window = guard.context_window_override ?? (model && (await contextWindowOfModel(model))?.tokens);
	return window ? [window - guard.reserve_tokens] : [];
}

function transcriptShown({ source, paired, states }: Planning): Transcript {
	const cuts = paired.flatMap((one, place) => {
		const state = states[place];
		const values = state?.kind === "cut" ? state.values : state?.cut;
		return values ? valueEdits(values, one.result).map((edit) => asEdit(edit, one)) : [];
	});
	return cuts.length === 0 ? source.transcript : source.format.read(locateMessages(applyPlan(source.document, cuts)));
}

function asEdit({ path, replacement }: PlacedValue, paired: PairedResult): ReplaceEdit {
	return editsOf(paired, "truncate")({ path, replacement, before: noSize, after: noSize, takenOut: undefined });
}

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
	what: Pick<Planning, "paired" | "keys" | "states"> & { readonly history: ReplayHistory },
): Map<number, Decision> {
	const { paired, keys, states, history } = what;
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
			return [place, { kind: "masked" as const, place, key: keys[place] as string, values, ref, savedChars }];
		}),
	);
}

/** A result that a hook had shortened is masked under the reference of the whole. */
async function namingWholes(
	archiving: Archiving | undefined,
	paired: readonly PairedResult[],
	archive: Archive | undefined,
): Promise<Archiving | undefined> {
	const wholes = new Map<string, string>();
	for (const { result } of archiving ? paired : []) {
		const [only, ...others] = result.texts;
		const ref = only && others.length === 0 ? shortenedRef(only.text) : undefined;
		if (only && ref !== undefined && (await archive?.has(ref))) wholes.set(only.text, ref);
	}
	if (!archiving || wholes.size === 0) return archiving;
	return { ...archiving, refOf: (text) => wholes.get(text) ?? archiving.refOf(text) };
}
