import { addToList, once } from "../conversation/lists.ts";
import {
	exactScale,
	highTokens,
	type Measurement,
	measure,
	scaleTokens,
	type TokenMeter,
	type TokenScale,
} from "../conversation/measure.ts";
import { jsonPointer } from "../conversation/paths.ts";
import {
	addSizes,
	type Draft,
	type Edit,
	type Plan,
	type ReplaceEdit,
	type Size,
	startDraft,
	startSum,
	subtractSizes,
	takesMessageOut,
} from "../conversation/plan.ts";
import type { Archiving } from "../conversation/report.ts";
import type { Transcript } from "../conversation/transcript.ts";
import type { PairedResult } from "../conversation/turns.ts";
import { isOpen } from "../masking/history.ts";
import { planMask, replayMasking } from "../masking/mask.ts";
import type { MaskResultParameters } from "../masking/mask-result.ts";
import { withStepsIn } from "../masking/price-steps.ts";
import { lazyMoments, type MomentOf } from "../masking/thinking.ts";
import type { Policy } from "../policy/schema.ts";
import type { NoticeWordings } from "../policy/wordings.ts";
import {
	type ByStrategy,
	resultTruncater,
	type TruncateParameters,
	truncateEach,
} from "../truncation/truncate-results.ts";
import { type DropParameters, isPlain, type Reliefs } from "./drop.ts";
import { type FurtherCuts, type ResultCutter, startCutter } from "./further-cuts.ts";
import { planDropWithWords, type WordsKeeper } from "./moved-words.ts";

/**
 * Plans how to bring a conversation within its budget (docs/strategies.md#ladder): takes the steps of the
 * policy's ladder until it fits at the upper end of the scale. With `truncate_when = "always"` large results are always
 * cut. With a `target_ratio` dropping replays the history, so that dropped messages stay dropped. If no step suffices, the
 * words of people in dropped messages are cut at last.
 */
export function planGuard(parameters: GuardParameters): GuardPlan {
	const { transcript, policy, budget, scale = exactScale } = parameters;
	const { measurement = measure(transcript, parameters.meter) } = parameters;
	const excess = (size: Size) => Math.max(0, highTokens(size, scale) - budget);
	const { ladder, target_ratio: targetRatio } = policy.guard;
	const isTaken = (step: LadderStep["step"], left: Size) => {
		if (step === "truncate" && policy.guard.truncate_when === "always") return true;
		// Messages that an earlier call dropped stay dropped, even if the conversation fits now.
		const isLasting = step === "drop" && targetRatio !== null;
		return excess(isLasting ? measurement.total : left) > 0;
	};
	const steps = planSteps(parameters);
	const hysteresis = (ratio: number, of: readonly LadderStep["step"][]): NonNullable<DropParameters["hysteresis"]> => ({
		reachesTarget: (context) => highTokens(context, scale) <= budget * ratio,
		reliefs: steps.reliefs(of),
	});
	const taken: TakenStep[] = [];
	const history: GuardHistory["edited"] = [];
	let dropMoments: ArrayLike<number> = [];
	let cuts: FurtherCuts = new Map();
	let withWords: ReturnType<typeof planDropWithWords> | undefined;
	let edited = editSteps(taken, { measurement, scale });
	/** Whether a text takes more than half of the budget, so that room for older ones may need it to go. */
	const hasOversized = () =>
		policy.truncate.strategy !== "head_tail" &&
		edited.sizes.some((size, message) => excess(addSizes(size, size)) > 0 && isPlain(transcript.messages[message]));
	/** Plans the drop that follows the steps taken so far. */
	const dropWithWords = (dropsOversized: DropParameters["dropsOversized"]) => {
		const before = edited;
		const isMasked = taken.some((one) => one.step === "mask");
		const reliefs = dropsOversized === "alone" ? ladder.filter((one) => one !== "mask") : ladder;
		return planDropWithWords({
			transcript,
			policy: policy.guard,
			measurement,
			meter: parameters.meter,
			excess,
			editedWith: (made) =>
				made.size === 0 ? before : editSteps(replaceCuts(taken, made, steps.truncation), { measurement, scale }),
			keeping: parameters.keeping,
			isPlaceholder: parameters.isPlaceholder,
			dropsOversized,
			startCutter: dropsOversized === "alone" ? undefined : steps.cutterOf(targetRatio === null && isMasked),
			...(targetRatio === null ? { sizes: before.sizes } : { hysteresis: hysteresis(targetRatio, reliefs) }),
		});
	};
	const dropOversized = () => {
		const dropped = dropWithWords("alone");
		const { left } = editSteps([...taken, { step: "drop", edits: dropped.edits }], { measurement, scale });
		return excess(left) === 0 ? dropped : undefined;
	};
	const { repeats = [] } = parameters;
	if (repeats.length > 0 && ladder.length > 0 && isTaken("repeats", edited.left)) {
		taken.push({ step: "repeats", edits: repeats });
		history.push({ step: "repeats", edits: repeats });
		edited = editSteps(taken, { measurement, scale });
	}
	for (const step of ladder) {
		if (!isTaken(step, edited.left)) continue;
		// No mask makes room beside a text that takes the whole window.
		const isEarly = step === "mask" && ladder.includes("drop") && hasOversized();
		const alone = isEarly ? dropOversized() : undefined;
		if (alone || step === "drop") {
			const dropped = alone ?? dropWithWords(hasOversized() ? "first" : undefined);
			cuts = dropped.cuts;
			if (cuts.size > 0) taken.splice(0, taken.length, ...replaceCuts(taken, cuts, steps.truncation));
			taken.push({ step: "drop", edits: dropped.edits });
			dropMoments = dropped.moments;
			withWords = dropped;
		} else {
			const edits = step === "truncate" ? steps.truncation().flat() : steps.masking().edits;
			taken.push({ step, edits });
			history.push({ step, edits });
		}
		edited = editSteps(taken, { measurement, scale });
		if (alone) break;
	}
	const withDrop = (edits: readonly Edit[]) =>
		editSteps(
			taken.map((one) => (one.step === "drop" ? { ...one, edits } : one)),
			{ measurement, scale },
		);
	const cut = excess(edited.left) > 0 ? withWords?.cutWords?.((edits) => excess(withDrop(edits).left)) : undefined;
	const { left, counted, plan } = cut === undefined ? edited : withDrop(cut);
	const tokensAfter = scaleTokens(left, scale).tokens;
	const momentOf = lazyMoments(() =>
		guardMoments({
			...parameters,
			measurement,
			edited: history,
			cuts,
			dropMoments,
			maskMoments: () => steps.masking().momentOf,
		}),
	);
	const fits = excess(left) === 0;
	const areWordsCut = cut !== undefined || withWords?.areWordsCut === true;
	return { plan: plan(), steps: counted, measurement, tokensAfter, fits, areWordsCut, momentOf };
}

interface TakenStep {
	readonly step: LadderStep["step"];
	readonly edits: readonly Edit[];
}

/** Applies the edits of some steps to the sizes of a conversation. */
function editSteps(
	taken: readonly TakenStep[],
	{ measurement, scale }: { readonly measurement: Measurement; readonly scale: TokenScale },
) {
	const draft = startDraft(measurement.messages);
	const counted: LadderStep[] = [];
	let left = measurement.total;
	for (const { step, edits } of taken) {
		const count = addEdits(draft, edits);
		if (count === 0) continue;
		left = subtractSizes(measurement.total, draft.saved());
		counted.push({ step, count, tokensAfter: scaleTokens(left, scale).tokens });
	}
	return { left, counted, sizes: draft.sizes(), plan: draft.plan };
}

/** Puts further cuts of results in place of their first ones. */
function replaceCuts(
	taken: readonly TakenStep[],
	cuts: FurtherCuts,
	truncation: () => readonly (readonly ReplaceEdit[])[],
): TakenStep[] {
	const isTruncated = taken.some(({ step }) => step === "truncate");
	const edits = truncation().flatMap((first, place) => cuts.get(place)?.edits ?? (isTruncated ? first : []));
	if (!isTruncated) return [{ step: "truncate", edits }, ...taken];
	return taken.map((one) => (one.step === "truncate" ? { ...one, edits } : one));
}

interface GuardHistory extends GuardParameters {
	readonly measurement: Measurement;
	readonly edited: { readonly step: "repeats" | "truncate" | "mask"; readonly edits: readonly Edit[] }[];
	readonly cuts: FurtherCuts;
	readonly dropMoments: ArrayLike<number>;
	readonly maskMoments: () => MomentOf;
}

/** The number of messages when each edit was first made. A step begins when those before it do not suffice. */
function guardMoments(parameters: GuardHistory): MomentOf {
	const { transcript, policy, budget, measurement, edited, cuts, dropMoments, scale = exactScale } = parameters;
	const { messages } = transcript;
	const never = Number.POSITIVE_INFINITY;
	// The request for a continued answer came before the answer began.
	const acts = new Float64Array(messages.length + 2).fill(never);
	for (let moment = messages.length; moment > 0; moment -= 1) {
		acts[moment] = isOpen(messages[moment - 1]) ? (acts[moment + 1] as number) : moment;
	}
	const actOf = (moment: number) => acts[moment] ?? never;
	const ofResult: MomentOf = (edit) =>
		edit.reason === "mask" ? parameters.maskMoments()(edit) : actOf(edit.message + 1);

	const begins = new Map<string, number>();
	const lighter = new Map<number, Size[]>();
	for (const { step, edits } of edited) {
		const isAlways = step === "truncate" && policy.guard.truncate_when === "always";
		const view = startSum(measurement.total);
		for (const size of measurement.messages) view.subtract(size);
		let begin = isAlways ? 0 : never;
		for (let moment = 1; moment <= messages.length && begin === never; moment += 1) {
			view.add(measurement.messages[moment - 1] as Size);
			for (const relief of lighter.get(moment) ?? []) view.subtract(relief);
			if (acts[moment] === moment && highTokens(view.total(), scale) > budget) begin = moment;
		}
		begins.set(step, begin);
		for (const edit of edits) {
			if (edit.unsent) continue;
			addToList(lighter, Math.max(begin, ofResult(edit)), subtractSizes(edit.before, edit.after));
		}
	}
	const cutMoments = new Map<string, number>();
	for (const { edits, moment } of cuts.values()) {
		for (const { path } of edits) cutMoments.set(jsonPointer(path), moment);
	}
	return (edit) => {
		const cutMoment = edit.reason === "truncate" ? cutMoments.get(jsonPointer(edit.path)) : undefined;
		if (cutMoment !== undefined) return actOf(cutMoment);
		if (edit.reason === "drop" || edit.reason === "summary" || edit.reason === "merge")
			return actOf(dropMoments[edit.message] ?? never);
		return Math.max(begins.get(edit.reason) ?? never, ofResult(edit));
	};
}

/** Adds edits to a draft. Returns the number of changed results and dropped messages, whose edits are adjacent. */
function addEdits(draft: Draft, edits: readonly Edit[]): number {
	let count = 0;
	let last: unknown;
	for (const edit of edits) {
		if (!draft.add(edit)) continue;
		const changed = takesMessageOut(edit) ? edit.message : edit.result;
		if (changed !== last) count += 1;
		last = changed;
	}
	return count;
}

/** The plans of the steps, each made on demand, because dropping with hysteresis needs the others. */
function planSteps(parameters: GuardParameters) {
	const { transcript, policy, meter, budget, scale = exactScale, idleSeconds } = parameters;
	const { mask, media, guard } = policy;
	const prices = withStepsIn(policy.prices, 1 / scale.factor);
	const tokens = budget / scale.high;
	const masking = {
		...parameters,
		policy: mask,
		media,
		countTokens: meter.countTokens,
		replaying: { meter, prices, budget: tokens, slack: tokens * (1 - (guard.target_ratio ?? 1)), idleSeconds },
	};
	const truncation = once(() => truncateEach(truncateParameters(parameters, guard.max_tool_result_chars)));
	const replayed = once(() => replayMasking(masking));

	/** Results are truncated when they arrive, and masked when the replay masks them. */
	function reliefs(ladder: readonly LadderStep["step"][]): Reliefs {
		const byMoment = new Map<number, { message: number; relief: Size; masks?: number }[]>();
		const add = (moment: number, message: number, relief: Size) => addToList(byMoment, moment, { message, relief });
		const truncated = new Map<number, number>();
		const cuts = ladder.includes("truncate") ? truncation().flat() : [];
		for (const { message, unsent, before, after } of [...(parameters.repeats ?? []), ...cuts]) {
			if (unsent) continue;
			add(message + 1, message, subtractSizes(before, after));
			truncated.set(message, (truncated.get(message) ?? 0) + before.tokens - after.tokens);
		}
		if (!ladder.includes("mask")) return byMoment;
		const { history, schedule } = replayed();
		history.results.forEach(({ message, saves }, place) => {
			const moment = schedule[place] as number;
			if (moment === Number.POSITIVE_INFINITY || transcript.messages[message]?.sent === false) return;
			// Truncation has already saved a part of the result.
			const relief = { chars: 0, tokens: Math.max(0, saves - (truncated.get(message) ?? 0)) };
			addToList(byMoment, moment, { message, relief, masks: place });
		});
		return byMoment;
	}

	/** Only where results are shortened by structure: head and tail are of the length that the policy says. */
	function cutterOf(isMasked: boolean): (() => ResultCutter) | undefined {
		const { ladder } = guard;
		const isCut = ladder.includes("truncate") && ladder.indexOf("truncate") < ladder.indexOf("drop");
		const ceilings = ceilingsUnder(guard.max_tool_result_chars, tokens);
		if (!isCut || policy.truncate.strategy === "head_tail" || ceilings.length === 0) return undefined;
		const truncaters = new Map<number, ReturnType<typeof resultTruncater>>();
		const known = new Map<PairedResult, Map<number, readonly ReplaceEdit[]>>();
		function truncateTo(ceiling: number, one: PairedResult): readonly ReplaceEdit[] {
			const truncater = truncaters.get(ceiling) ?? resultTruncater(truncateParameters(parameters, ceiling));
			truncaters.set(ceiling, truncater);
			const cuts = known.get(one) ?? new Map<number, readonly ReplaceEdit[]>();
			known.set(one, cuts);
			const edits = cuts.get(ceiling) ?? truncater(one);
			cuts.set(ceiling, edits);
			return edits;
		}
		const { countTokens } = meter;
		const masked = isMasked
			? Array.from(replayed().schedule, (moment, place) => (moment === Number.POSITIVE_INFINITY ? -1 : place))
			: [];
		return () => startCutter({ transcript, countTokens, ceilings, truncated: truncation(), masked, truncateTo });
	}
	return { truncation, masking: once(() => planMask(masking, replayed())), reliefs, cutterOf };
}

/** Each ceiling is this share of the one before. None is less than `leastShare` of the budget, or than `leastChars`. */
const [ceilingShare, leastShare, charsOfToken, leastChars] = [0.7, 0.06, 3.5, 1_000] as const;

function ceilingsUnder(limit: number, budget: number): number[] {
	const least = Math.max(leastChars, Math.floor(leastShare * budget * charsOfToken));
	const ceilings: number[] = [];
	for (let next = limit * ceilingShare; next > least; next *= ceilingShare) ceilings.push(Math.floor(next));
	return least < limit ? [...ceilings, least] : [];
}

function truncateParameters(parameters: GuardParameters, maxChars: number): TruncateParameters {
	const { transcript, policy, meter, wording, isPlaceholder, archiving, libraries } = parameters;
	const { truncate_head_chars: headChars, truncate_tail_chars: tailChars } = policy.guard;
	const { strategy, keep_ansi: keepAnsi } = policy.truncate;
	const kept = headChars + tailChars;
	const headShare = kept === 0 ? undefined : headChars / kept;
	return {
		transcript,
		limits: { maxChars, headChars, tailChars, marker: wording.guardMarker },
		byStrategy:
			strategy === "head_tail" ? undefined : { ...libraries, strategy, wording: wording.notices, headShare, keepAnsi },
		countTokens: meter.countTokens,
		isPlaceholder,
		archiving,
	};
}

export interface GuardPlan {
	readonly plan: Plan;
	readonly steps: readonly LadderStep[];
	readonly measurement: Measurement;
	readonly tokensAfter: number;
	readonly fits: boolean;
	/** Whether it only fits without some of the words of people. */
	readonly areWordsCut: boolean;
	readonly momentOf: MomentOf;
}

/** A step of the guard's ladder that changed the conversation. */
export interface LadderStep {
	readonly step: "repeats" | "truncate" | "mask" | "drop";
	/** Results without lines that are in view, truncated or masked results, or dropped messages. */
	readonly count: number;
	readonly tokensAfter: number;
}

export interface GuardParameters {
	readonly transcript: Transcript;
	readonly policy: Policy;
	readonly budget: number;
	readonly meter: TokenMeter;
	/** The measurement by that meter, if it is known. */
	readonly measurement?: Measurement;
	readonly scale?: TokenScale;
	readonly wording: MaskResultParameters["wording"] & {
		readonly guardMarker: string;
		readonly notices: NoticeWordings;
	};
	readonly libraries?: Pick<ByStrategy, "stripAnsi" | "htmlToText"> | undefined;
	readonly isPlaceholder: (text: string) => boolean;
	readonly archiving?: Archiving | undefined;
	/** Since the last call. */
	readonly idleSeconds?: number | undefined;
	/** Whether the model accepts reasoning only after unchanged messages. */
	readonly bindsReasoning?: boolean | undefined;
	/** What leaves out lines that are in view, before any other step. */
	readonly repeats?: readonly ReplaceEdit[] | undefined;
	/** Set if the words of people stay when messages are dropped. */
	readonly keeping?: WordsKeeper | undefined;
}
