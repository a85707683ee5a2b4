import { addToList, once } from "../conversation/lists.js";
import { exactScale, highTokens, measure, scaleTokens } from "../conversation/measure.js";
import { jsonPointer } from "../conversation/paths.js";
import { startDraft, startSum, subtractSizes, takesMessageOut } from "../conversation/plan.js";
import { isOpen } from "../masking/history.js";
import { planMask, replayMasking } from "../masking/mask.js";
import { withStepsIn } from "../masking/price-steps.js";
import { lazyMoments } from "../masking/thinking.js";
import { resultTruncater, truncateEach } from "../truncation/truncate-results.js";
import { startCutter } from "./further-cuts.js";
import { planDropWithWords } from "./moved-words.js";
/**
 * Plans how to bring a conversation within its budget (docs/strategies.md#ladder): takes the steps of the
 * policy's ladder until it fits at the upper end of the scale. With `truncate_when = "always"` large results are always
 * cut. With a `target_ratio` dropping replays the history, so that dropped messages stay dropped. If no step suffices, the
 * words of people in dropped messages are cut at last.
 */
export function planGuard(parameters) {
	const { transcript, policy, budget, scale = exactScale } = parameters;
	const { measurement = measure(transcript, parameters.meter) } = parameters;
	const excess = (size) => Math.max(0, highTokens(size, scale) - budget);
	const { ladder, target_ratio: targetRatio } = policy.guard;
	const isTaken = (step, left) => {
		if (step === "truncate" && policy.guard.truncate_when === "always") return true;
		// Messages that an earlier call dropped stay dropped, even if the conversation fits now.
		const isLasting = step === "drop" && targetRatio !== null;
		return excess(isLasting ? measurement.total : left) > 0;
	};
	const steps = planSteps(parameters);
	const hysteresis = (ratio) => ({
		reachesTarget: (context) => highTokens(context, scale) <= budget * ratio,
		reliefs: steps.reliefs(),
	});
	const taken = [];
	const history = [];
	let dropMoments = [];
	let cuts = new Map();
	let cutWords;
	let edited = editSteps(taken, { measurement, scale });
	for (const step of ladder) {
		if (!isTaken(step, edited.left)) continue;
		if (step === "drop") {
			const before = edited;
			const withCuts = (made) =>
				made.size === 0 ? before : editSteps(replaceCuts(taken, made, steps.truncation), { measurement, scale });
			const dropped = planDropWithWords({
				transcript,
				policy: policy.guard,
				measurement,
				meter: parameters.meter,
				excess,
				editedWith: withCuts,
				keeping: parameters.keeping,
				isPlaceholder: parameters.isPlaceholder,
				startCutter: steps.cutterOf(targetRatio === null && taken.some((one) => one.step === "mask")),
				...(targetRatio === null ? { sizes: before.sizes } : { hysteresis: hysteresis(targetRatio) }),
			});
			cuts = dropped.cuts;
			if (cuts.size > 0) taken.splice(0, taken.length, ...replaceCuts(taken, cuts, steps.truncation));
			taken.push({ step, edits: dropped.edits });
			dropMoments = dropped.moments;
			cutWords = dropped.cutWords;
		} else {
			const edits = step === "truncate" ? steps.truncation().flat() : steps.masking().edits;
			taken.push({ step, edits });
			history.push({ step, edits });
		}
		edited = editSteps(taken, { measurement, scale });
	}
	const withDrop = (edits) =>
		editSteps(
			taken.map((one) => (one.step === "drop" ? { ...one, edits } : one)),
			{ measurement, scale },
		);
	const cut = excess(edited.left) > 0 ? cutWords?.((edits) => excess(withDrop(edits).left)) : undefined;
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
	const areWordsCut = cut !== undefined;
	return { plan: plan(), steps: counted, measurement, tokensAfter, fits, areWordsCut, momentOf };
}
/** Applies the edits of some steps to the sizes of a conversation. */
function editSteps(taken, { measurement, scale }) {
	const draft = startDraft(measurement.messages);
	const counted = [];
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
function replaceCuts(taken, cuts, truncation) {
	const isTruncated = taken.some(({ step }) => step === "truncate");
	const edits = truncation().flatMap((first, place) => cuts.get(place)?.edits ?? (isTruncated ? first : []));
	if (!isTruncated) return [{ step: "truncate", edits }, ...taken];
	return taken.map((one) => (one.step === "truncate" ? { ...one, edits } : one));
}
/** The number of messages when each edit was first made. A step begins when those before it do not suffice. */
function guardMoments(parameters) {
	const { transcript, policy, budget, measurement, edited, cuts, dropMoments, scale = exactScale } = parameters;
	const { messages } = transcript;
	const never = Number.POSITIVE_INFINITY;
	// The request for a continued answer came before the answer began.
	const acts = new Float64Array(messages.length + 2).fill(never);
	for (let moment = messages.length; moment > 0; moment -= 1) {
		acts[moment] = isOpen(messages[moment - 1]) ? acts[moment + 1] : moment;
	}
	const actOf = (moment) => acts[moment] ?? never;
	const ofResult = (edit) => (edit.reason === "mask" ? parameters.maskMoments()(edit) : actOf(edit.message + 1));
	const begins = new Map();
	const lighter = new Map();
	for (const { step, edits } of edited) {
		const isAlways = step === "truncate" && policy.guard.truncate_when === "always";
		const view = startSum(measurement.total);
		for (const size of measurement.messages) view.subtract(size);
		let begin = isAlways ? 0 : never;
		for (let moment = 1; moment <= messages.length && begin === never; moment += 1) {
			view.add(measurement.messages[moment - 1]);
			for (const relief of lighter.get(moment) ?? []) view.subtract(relief);
			if (acts[moment] === moment && highTokens(view.total(), scale) > budget) begin = moment;
		}
		begins.set(step, begin);
		for (const edit of edits) {
			if (edit.unsent) continue;
			addToList(lighter, Math.max(begin, ofResult(edit)), subtractSizes(edit.before, edit.after));
		}
	}
	const cutMoments = new Map();
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
function addEdits(draft, edits) {
	let count = 0;
	let last;
	for (const edit of edits) {
		if (!draft.add(edit)) continue;
		const changed = takesMessageOut(edit) ? edit.message : edit.result;
		if (changed !== last) count += 1;
		last = changed;
	}
	return count;
}
/** The plans of the steps, each made on demand, because dropping with hysteresis needs the others. */
function planSteps(parameters) {
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
	function reliefs() {
		const byMoment = new Map();
		const add = (moment, message, relief) => addToList(byMoment, moment, { message, relief });
		const truncated = new Map();
		for (const { message, unsent, before, after } of guard.ladder.includes("truncate") ? truncation().flat() : []) {
			if (unsent) continue;
			add(message + 1, message, subtractSizes(before, after));
			truncated.set(message, (truncated.get(message) ?? 0) + before.tokens - after.tokens);
		}
		if (!guard.ladder.includes("mask")) return byMoment;
		const { history, schedule } = replayed();
		history.results.forEach(({ message, saves }, place) => {
			const moment = schedule[place];
			if (moment === Number.POSITIVE_INFINITY || transcript.messages[message]?.sent === false) return;
			// Truncation has already saved a part of the result.
			const relief = { chars: 0, tokens: Math.max(0, saves - (truncated.get(message) ?? 0)) };
			addToList(byMoment, moment, { message, relief, masks: place });
		});
		return byMoment;
	}
	/** Only where results are shortened by structure: head and tail are of the length that the policy says. */
	function cutterOf(isMasked) {
		const { ladder } = guard;
		const isCut = ladder.includes("truncate") && ladder.indexOf("truncate") < ladder.indexOf("drop");
		const ceilings = ceilingsUnder(guard.max_tool_result_chars, tokens);
		if (!isCut || policy.truncate.strategy === "head_tail" || ceilings.length === 0) return undefined;
		const truncaters = new Map();
		const known = new Map();
		function truncateTo(ceiling, one) {
			const truncater = truncaters.get(ceiling) ?? resultTruncater(truncateParameters(parameters, ceiling));
			truncaters.set(ceiling, truncater);
			const cuts = known.get(one) ?? new Map();
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
const [ceilingShare, leastShare, charsOfToken, leastChars] = [0.7, 0.06, 3.5, 1_000];
function ceilingsUnder(limit, budget) {
	const least = Math.max(leastChars, Math.floor(leastShare * budget * charsOfToken));
	const ceilings = [];
	for (let next = limit * ceilingShare; next > least; next *= ceilingShare) ceilings.push(Math.floor(next));
	return least < limit ? [...ceilings, least] : [];
}
function truncateParameters(parameters, maxChars) {
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
