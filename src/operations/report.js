import { groupBy } from "../engine/conversation/lists.js";
import { likelyTokens, measure } from "../engine/conversation/measure.js";
import { addSizes, noSize, savedSize, startSum } from "../engine/conversation/plan.js";
import { notesOn, notesOnRoles } from "../engine/conversation/report.js";
import { isToolTurn, pairResults, toolTurns } from "../engine/conversation/turns.js";
import { resultTargets } from "../engine/masking/judge-results.js";
import { cleanValue } from "../engine/masking/placeholder.js";
import { findStale } from "../engine/masking/staleness.js";
import { findUses } from "../engine/masking/uses.js";
import { resolvePolicy } from "../engine/policy/layers.js";
import { readConversation } from "../formats/detect.js";
import { bindsReasoning, modelOfCall, modelOfSession } from "../formats/model.js";
import { budgetOf, calibrate, checkGivenTokens, knownContextWindow } from "./context-window.js";
import { asSent, countingReport, tokenMeter } from "./count.js";
import { ratesOfSession } from "./replay-rates.js";
import { presetOutcomes } from "./report-presets.js";
import { sizeWithMedia, splitWindow } from "./window-parts.js";

const roles = ["system", "user", "assistant", "tool", "other"];
/** The content of the window, and the effect of each preset. Throws PalimpsestError `invalid_argument`. */
export async function reportContext(request) {
	const { conversation, layers, originals = "archived", reserveTokens } = request;
	const inputTokens = checkGivenTokens(request);
	const last = reserveTokens === undefined ? {} : { guard: { reserve_tokens: reserveTokens } };
	const policy = resolvePolicy([...layers, last]);
	const source = readConversation(conversation, policy.mask.observations);
	const model = modelOfCall(request.model, conversation, policy) ?? modelOfSession(source);
	const { transcript, requestOverhead } = asSent(source, { model, tools: request.tools });
	const { meter, estimate } = await tokenMeter(policy, model);
	const measurement = measure(transcript, meter, requestOverhead(meter.countTokens));
	const calibrated = calibrate(estimate, { transcript, measurement, inputTokens });
	const window = await knownContextWindow({ contextWindow: request.contextWindow, policy, model });
	const { prices } = await ratesOfSession(model, policy.prices);
	return contextReportOf(
		{
			source,
			transcript,
			measurement,
			meter,
			scale: calibrated.scale,
			contextWindow: window?.tokens,
			originals,
			bindsReasoning: bindsReasoning(request.model, source, policy),
		},
		{
			model,
			counting: countingReport(calibrated),
			notes: [...(window?.notes ?? []), ...calibrated.notes],
			priceSteps: prices.steps.map(({ over }) => over),
			requestOverhead: requestOverhead(meter.countTokens),
			layers,
			last,
		},
	);
}
function contextReportOf(conversation, settings) {
	const { model, counting, notes, priceSteps, layers, last } = settings;
	const { source, transcript, measurement, meter, scale, contextWindow } = conversation;
	const { guard } = resolvePolicy([...layers, last]);
	const results = countedResults(transcript, meter.countTokens);
	const sent = transcript.messages.filter((message) => message.sent !== false);
	const { presets, masking } = presetOutcomes(conversation, { layers, last });
	const by_part = windowParts(conversation, { ...settings, plan: masking?.plan ?? [] });
	return {
		model: model ?? null,
		...counting,
		context_window: contextWindow ?? null,
		budget_tokens: contextWindow === undefined ? null : budgetOf(contextWindow, guard),
		price_steps: priceSteps,
		tokens: likelyTokens(measurement.total, scale),
		messages: sent.length,
		tool_turns: sent.filter(isToolTurn).length,
		by_part,
		unrecorded_tokens: by_part.some(({ tokens }) => tokens === null) ? unrecordedTokens(conversation) : null,
		masking: masking ? maskingShare(masking.outcome) : null,
		by_role: roleShares(conversation, results),
		by_tool: toolShares(results, scale),
		biggest_results: biggestResults(results, conversation),
		presets,
		notes: [...notesOn(transcript), ...notesOnRoles(source.document, transcript), ...notes],
	};
}
function windowParts({ transcript, meter, scale }, { requestOverhead, plan }) {
	const keyOf = (message, id) => `${message} ${id}`;
	const edits = groupBy(plan, ({ message, result }) => keyOf(message, result?.toolCallId));
	const paired = pairResults(transcript);
	return splitWindow({
		transcript,
		paired,
		meter,
		requestOverhead,
		sentAs(place, own) {
			const { message, result } = paired[place];
			const key = keyOf(message, result.callId);
			const frees = savedSize((edits.get(key) ?? []).filter((edit) => edit.result !== undefined));
			// Results of one message may have the same id.
			edits.delete(key);
			return { size: own, frees };
		},
		isRequest: false,
		scaled: (sizes) => scaleParts(sizes, scale),
	});
}
function maskingShare(outcome) {
	const { freed_tokens, masked, rewritten_tokens, calls_to_break_even } = outcome;
	return { freed_tokens, masked, rewritten_tokens, calls_to_break_even };
}
/** The input of the first answer, without the messages before it. */
function unrecordedTokens({ transcript, measurement, scale }) {
	const first = transcript.messages.findIndex(({ usage }) => usage !== undefined);
	const { usage } = transcript.messages[first] ?? {};
	if (!usage) return null;
	const before = measurement.messages.slice(0, first).reduce(addSizes, noSize);
	const hidden =
		usage.inputTokens - likelyTokens(before, scale) - Math.round(measurement.surroundingTokens * scale.factor);
	return hidden > 0 ? hidden : null;
}
const mostResults = 10;
/** A string in more results than this does not show which of them was used. */
const mostHolders = 3;
function biggestResults(results, { transcript, scale }) {
	const largest = results.toSorted((a, b) => b.size.tokens - a.size.tokens || b.place - a.place).slice(0, mostResults);
	const turns = toolTurns(transcript);
	const used = usedResults(findUses(transcript));
	const stale = findStale(transcript);
	const targets = resultTargets(transcript);
	return largest.map(({ place, tool, result, message, size }) => ({
		tool,
		call_id: result.callId ?? null,
		target: targetText(targets[place]),
		message,
		tokens: likelyTokens(size, scale),
		age_turns: turns.filter((turn) => turn > message).length,
		used_since: used.has(place),
		stale: stale[place] !== undefined,
	}));
}
function usedResults({ identifiers, lines }) {
	const used = new Set();
	for (const { holders } of [identifiers, lines].flat(2)) {
		if (holders.length <= mostHolders) for (const place of holders) used.add(place);
	}
	return used;
}
function roleShares({ transcript, measurement, scale }, results) {
	const sums = new Map(roles.map((role) => [role, { size: startSum(), messages: 0 }]));
	const of = (role) => sums.get(role);
	const beside = startSum(measurement.total);
	transcript.messages.forEach((message, index) => {
		if (message.sent === false) return;
		const size = measurement.messages[index];
		const share = of(roleOf(message));
		share.messages += 1;
		share.size.add(size);
		beside.subtract(size);
	});
	for (const { message, size } of results) {
		of(roleOf(transcript.messages[message])).size.subtract(size);
		of("tool").size.add(size);
	}
	of("system").size.add(beside.total());
	const parts = roles.map((role) => ({ role, size: of(role).size.total(), messages: of(role).messages }));
	const tokens = scaleParts(
		parts.map(({ size }) => size),
		scale,
	);
	return parts
		.map(({ role, size, messages }, index) => ({ role, tokens: tokens[index] ?? 0, chars: size.chars, messages }))
		.filter((share) => share.tokens > 0 || share.messages > 0)
		.sort((a, b) => b.tokens - a.tokens);
}
/** Some formats put results into messages of the user. */
function roleOf({ role, results, counted }) {
	return results.length > 0 && counted.every((text) => text === "") ? "tool" : role;
}
const longest = 120;
/** One line; `null` if there is none. Long paths lose their beginning, because they differ at their ends. */
export function targetText(target) {
	if (!target) return null;
	const hasFiles = target.paths.length > 0;
	const text = hasFiles ? target.paths.join(", ") : (target.command ?? "");
	const line = text
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim();
	if (line === "") return null;
	if (line.length <= longest) return line;
	return (hasFiles ? `…${line.slice(1 - longest)}` : `${line.slice(0, longest - 1)}…`).toWellFormed();
}
function toolShares(results, scale) {
	const byTool = [...groupBy(results, ({ tool }) => tool)];
	const sizes = byTool.map(([, group]) => group.map(({ size }) => size).reduce(addSizes, noSize));
	const tokens = scaleParts(sizes, scale);
	return byTool
		.map(([tool, group], index) => ({ tool, tokens: tokens[index] ?? 0, results: group.length }))
		.sort((a, b) => b.tokens - a.tokens);
}
function countedResults(transcript, countTokens) {
	return pairResults(transcript).flatMap((one, place) => {
		if (transcript.messages[one.message]?.sent === false) return [];
		const name = one.call?.name === undefined ? "" : cleanValue(one.call.name);
		return [{ ...one, place, tool: name === "" ? null : name, size: sizeWithMedia(one.result, countTokens) }];
	});
}
/** Rounded so that they add up to the tokens of the whole. */
function scaleParts(parts, scale) {
	const sum = startSum();
	let before = 0;
	return parts.map((part) => {
		sum.add(part);
		const after = likelyTokens(sum.total(), scale);
		const own = after - before;
		before = after;
		return own;
	});
}
