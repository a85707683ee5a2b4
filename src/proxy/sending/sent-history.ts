import { applyPlan } from "../../engine/conversation/apply.ts";
import { once } from "../../engine/conversation/lists.ts";
import { noSize, type ReplaceEdit } from "../../engine/conversation/plan.ts";
import type { Archiving } from "../../engine/conversation/report.ts";
import { resultText, type Transcript } from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import { isRepeatable, resultArguments } from "../../engine/masking/call-targets.ts";
import { type ReplayHistory, readHistory } from "../../engine/masking/history.ts";
import { editsOf } from "../../engine/masking/mask-result.ts";
import { clearedText } from "../../engine/masking/placeholder.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { wordings } from "../../engine/policy/wordings.ts";
import { locateMessages, type ReadConversation } from "../../formats/detect.ts";
import { contextWindowOfModel } from "../../formats/tokens/models.ts";
import { reasoningBinding } from "../../formats/tokens/reasoning-binding.ts";
import { tokenMeter } from "../../operations/count.ts";
import type { Archive } from "../../storage/archive/archive.ts";
import { formsOfRef } from "../../storage/archive/reference.ts";
import { archivingOf } from "../../storage/restore/originals.ts";
import { placeholdersOf, shortenedRef } from "../../storage/restore/recognise.ts";
import type { CacheTerms } from "../billing/terms.ts";
import type { Originals } from "./archiving.ts";
import {
	charsOfState,
	charsSent,
	isGone,
	isShortened,
	type PlacedValue,
	type ResultState,
	valueEdits,
} from "./states.ts";

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
	/** Whether the agent cannot read an original again. */
	readonly isDeadEnd: boolean;
	/** Tokens of the provider for each character that was sent, if an answer has told them. */
	readonly tokensPerChar: number | undefined;
	/** Whether the request has been forwarded, so that a decision counts from the next one on. */
	readonly isForwarded: boolean;
	/** Lets others go on between the steps; may throw to end the planning. */
	readonly pause: () => Promise<void>;
}

/** The history as it was sent, and as the host sent it. Tokens are those of the meter unless `scale` makes them the provider's. */
export async function readSent(what: Planning) {
	const { source, paired, states, policy, archive, model, terms, clears, pause } = what;
	const { meter, estimate } = await tokenMeter(policy, model);
	const { transcript, document } = source;
	await pause();
	const kept = archive ? "archived" : "not_archived";
	const common = {
		wording: clears ? { ...wordings(policy, kept), ...clearedWording } : wordings(policy, kept),
		isPlaceholder: placeholdersOf(policy, kept),
		policy: policy.mask,
		media: policy.media,
		countTokens: meter.countTokens,
		archiving: await namingWholes(archivingOf(archive, document), paired, archive),
		refsOf: (place: number) => refsOf(what, place),
	};
	// Masking is decided on the results as the model saw them: cut.
	const shown = transcriptShown(what);
	await pause();
	const bindsReasoning = !clears && reasoningBinding(model) !== "none";
	const cacheTime = { seconds: terms.prices.cache_seconds };
	const read = readHistory({ ...common, transcript: shown, meter, cacheTime, bindsReasoning });
	const seen = holdingRepeats(keepingLost(read, what), what);
	await pause();
	const history =
		shown === transcript || clears
			? seen
			: keepingLost(readHistory({ ...common, transcript, meter, bindsReasoning }), what);
	await pause();
	const whole = seen.messageTokens.reduce((sum, tokens) => sum + tokens, seen.surroundingTokens);
	const total = seen.results.reduce((sum, { saves }, place) => sum - (isGone(states[place]) ? saves : 0), whole);
	const told = (what.tokensPerChar ?? 0) * charsSent(transcript, paired, (place) => states[place]);
	const scale = told > 0 ? told / total : estimate.scale.factor;
	const window = await windowOf(model, policy);
	const steps = terms.prices.steps.map(({ over }) => over);
	const budget = window === undefined ? [] : [window - policy.guard.reserve_tokens];
	return {
		common,
		meter,
		seen,
		history,
		total,
		tokens: told > 0 ? told : total * scale,
		scale,
		window,
		steps,
		limits: [...steps, ...budget],
	};
}

/** Where nothing reads an original again, results stay unless the same call returns them again. */
function keepingLost(history: ReplayHistory, { isDeadEnd, paired, source }: Planning): ReplayHistory {
	if (!isDeadEnd) return history;
	const given = resultArguments(source.transcript);
	const results = history.results.map((result, place) => {
		const call = { name: paired[place]?.call?.name, argumentsText: given[place] };
		return isRepeatable(call) ? result : { ...result, saves: 0 };
	});
	return { ...history, results };
}

/**
 * A result that others point to is in use, also if the same call came again. What masking it saves is less by the longest of
 * what comes back in its place: the others then point to that.
 */
function holdingRepeats(history: ReplayHistory, { states, keys, paired }: Planning): ReplayHistory {
	const charsBack = new Map<string, number>();
	for (const state of states) {
		if (isGone(state)) continue;
		for (const { key, chars } of state?.sources ?? []) charsBack.set(key, Math.max(charsBack.get(key) ?? 0, chars));
	}
	if (charsBack.size === 0) return history;
	const back = keys.map((key, place) => {
		const chars = charsOfState(states[place], (paired[place] as PairedResult).result);
		const share = (charsBack.get(key) ?? 0) / Math.max(1, chars);
		return Math.min(1, share) * (history.results[place]?.tokens ?? 0);
	});
	const results = history.results.map((result, place) => {
		const less = back[place] as number;
		return less > 0 ? { ...result, saves: Math.max(0, result.saves - less) } : result;
	});
	const stale = once(() => history.stale().map((from, place) => ((back[place] as number) > 0 ? undefined : from)));
	return { ...history, results, stale };
}

export type SentHistory = Awaited<ReturnType<typeof readSent>>;

/** The references of a result: of its text, and the one that its cut form names. */
export function refsOf({ paired, states, archive, source }: Planning, place: number): readonly string[] {
	const { result } = paired[place] as PairedResult;
	const text = resultText(result);
	const own = archivingOf(archive, source.document)?.refOf(text);
	const named = [states[place]?.ref, shortenedRef(text), own];
	return [...new Set(named.flatMap((ref) => (ref === undefined ? [] : formsOfRef(ref))))];
}

const clearedWording = { placeholder: clearedText, digestPlaceholder: clearedText, mediaPlaceholder: clearedText };

async function windowOf(model: string | undefined, { guard }: Policy): Promise<number | undefined> {
	return guard.context_window_override ?? ((model && (await contextWindowOfModel(model))?.tokens) || undefined);
}

function transcriptShown({ source, paired, states }: Planning): Transcript {
	const cuts = paired.flatMap((one, place) => {
		const state = states[place];
		const values = state && isShortened(state) ? state.values : state?.cut;
		return values ? valueEdits(values, one.result).map((edit) => asEdit(edit, one)) : [];
	});
	return cuts.length === 0 ? source.transcript : source.format.read(locateMessages(applyPlan(source.document, cuts)));
}

function asEdit({ path, replacement }: PlacedValue, paired: PairedResult): ReplaceEdit {
	return editsOf(paired, "truncate")({ path, replacement, before: noSize, after: noSize, takenOut: undefined });
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
