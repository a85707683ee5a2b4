import { groupBy } from "../engine/conversation/lists.ts";
import { type CountTokens, likelyTokens, measure, type TokenScale } from "../engine/conversation/measure.ts";
import {
	addSizes,
	noSize,
	type Plan,
	type Size,
	type SizeSum,
	savedSize,
	startSum,
} from "../engine/conversation/plan.ts";
import { notesOn, notesOnRoles } from "../engine/conversation/report.ts";
import type { Message, Transcript } from "../engine/conversation/transcript.ts";
import { isToolTurn, type PairedResult, pairResults, toolTurns } from "../engine/conversation/turns.ts";
import { resultTargets } from "../engine/masking/judge-results.ts";
import { cleanValue } from "../engine/masking/placeholder.ts";
import { findStale } from "../engine/masking/staleness.ts";
import type { CallTarget } from "../engine/masking/targets.ts";
import { findUses, type Uses } from "../engine/masking/uses.ts";
import { resolvePolicy } from "../engine/policy/layers.ts";
import type { PolicyLayer } from "../engine/policy/schema.ts";
import type { Originals } from "../engine/policy/wordings.ts";
import { startRepeatFinder } from "../engine/truncation/repeats.ts";
import { readConversation } from "../formats/detect.ts";
import { bindsReasoning, modelOfCall, modelOfSession } from "../formats/model.ts";
import { isReferenceLine } from "../storage/restore/recognise.ts";
import { budgetOf, calibrate, checkGivenTokens, type GivenTokens, knownContextWindow } from "./context-window.ts";
import { asSent, type CountingReport, countingReport, tokenMeter } from "./count.ts";
import { repeatedTexts } from "./repeats-on-arrival.ts";
import { ratesOfSession } from "./replay-rates.ts";
import { type CountedConversation, type PresetOutcome, presetOutcomes } from "./report-presets.ts";
import { sizeWithMedia, splitWindow } from "./window-parts.ts";
import type { MaskingShare, PartShare } from "./window-words.ts";

interface ContextReportRequest extends GivenTokens {
	readonly conversation: unknown;
	readonly layers: readonly PolicyLayer[];
	readonly originals?: Originals;
	/** By default from the conversation, the policy or a record of the session. */
	readonly model?: string | undefined;
	readonly tools?: unknown;
}

/** Tokens are best guesses; lists begin with the largest, except `presets`. Holds tool names, call ids and targets only. */
export interface ContextReport extends CountingReport {
	readonly model: string | null;
	/** In tokens; `null` if not known. */
	readonly context_window: number | null;
	/** The window without the reserve for the answer; `null` if not known. */
	readonly budget_tokens: number | null;
	/** Larger requests cost more: the sizes from which they do. */
	readonly price_steps: readonly number[];
	readonly tokens: number;
	readonly messages: number;
	readonly tool_turns: number;
	/** What fills the window. The parts add up to `tokens`. */
	readonly by_part: readonly PartShare[];
	/** Tokens of the system prompt and the tools that are not in the record, by the usage of the first answer; `null` if unknown. */
	readonly unrecorded_tokens: number | null;
	/** Of lines in results that stand unchanged in an earlier result in the window. */
	readonly repeated_tokens: number;
	/** By the policy in force; `null` if it turns masking off. */
	readonly masking: MaskingShare | null;
	readonly by_role: readonly RoleShare[];
	readonly by_tool: readonly ToolShare[];
	readonly biggest_results: readonly LargeResult[];
	readonly presets: readonly PresetOutcome[];
	readonly notes: readonly string[];
}

const roles = ["system", "user", "assistant", "tool", "other"] as const;

type ReportedRole = (typeof roles)[number];

interface RoleShare {
	/** `tool`: results in any message. `system` includes the additions to each request. */
	readonly role: ReportedRole;
	readonly tokens: number;
	readonly chars: number;
	readonly messages: number;
}

interface ToolShare {
	readonly tool: string | null;
	/** Tokens of its results; its calls count with the assistant. */
	readonly tokens: number;
	readonly results: number;
}

interface LargeResult {
	readonly tool: string | null;
	readonly call_id: string | null;
	/** The files of its call, or its command without quoted text; at most 120 characters. */
	readonly target: string | null;
	readonly message: number;
	readonly tokens: number;
	readonly age_turns: number;
	/** Whether an answer used an identifier or a line that at most three results and nothing else held. */
	readonly used_since: boolean;
	/** Whether the same text or the same call came again. */
	readonly stale: boolean;
}

/** The content of the window, and the effect of each preset. Throws PalimpsestError `invalid_argument`. */
export async function reportContext(request: ContextReportRequest): Promise<ContextReport> {
	const { conversation, layers, originals = "archived", reserveTokens } = request;
	const inputTokens = checkGivenTokens(request);
	const last: PolicyLayer = reserveTokens === undefined ? {} : { guard: { reserve_tokens: reserveTokens } };
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

function contextReportOf(
	conversation: CountedConversation,
	settings: {
		readonly model: string | undefined;
		readonly counting: CountingReport;
		readonly notes: readonly string[];
		readonly priceSteps: readonly number[];
		readonly requestOverhead: number;
		readonly layers: readonly PolicyLayer[];
		/** The settings of the call, laid over each preset. */
		readonly last: PolicyLayer;
	},
): ContextReport {
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
		repeated_tokens: likelyTokens({ fixed: 0, tokens: repeatedTokens(results, meter.countTokens) }, scale),
		masking: masking ? maskingShare(masking.outcome) : null,
		by_role: roleShares(conversation, results),
		by_tool: toolShares(results, scale),
		biggest_results: biggestResults(results, conversation),
		presets,
		notes: [...notesOn(transcript), ...notesOnRoles(source.document, transcript), ...notes],
	};
}

function repeatedTokens(results: readonly CountedResult[], countTokens: CountTokens): number {
	const finder = startRepeatFinder(isReferenceLine);
	const texts = results.flatMap(({ result }) => result.texts.map(({ text }) => text));
	let tokens = 0;
	for (const text of texts) {
		const repeats = finder.find(text, (source) => texts[source] as string);
		for (const repeated of repeatedTexts(text, repeats)) tokens += countTokens(repeated);
		finder.add(text);
	}
	return tokens;
}

function windowParts(
	{ transcript, meter, scale }: CountedConversation,
	{ requestOverhead, plan }: { readonly requestOverhead: number; readonly plan: Plan },
): PartShare[] {
	const keyOf = (message: number, id: string | undefined) => `${message} ${id}`;
	const edits = groupBy(plan, ({ message, result }) => keyOf(message, result?.toolCallId));
	const paired = pairResults(transcript);
	return splitWindow({
		transcript,
		paired,
		meter,
		requestOverhead,
		sentAs(place, own) {
			const { message, result } = paired[place] as PairedResult;
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

function maskingShare(outcome: PresetOutcome): MaskingShare {
	const { freed_tokens, masked, rewritten_tokens, calls_to_break_even } = outcome;
	return { freed_tokens, masked, rewritten_tokens, calls_to_break_even };
}

/** The input of the first answer, without the messages before it. */
function unrecordedTokens({ transcript, measurement, scale }: CountedConversation): number | null {
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

function biggestResults(results: readonly CountedResult[], { transcript, scale }: CountedConversation): LargeResult[] {
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

function usedResults({ identifiers, lines }: Uses): ReadonlySet<number> {
	const used = new Set<number>();
	for (const { holders } of [identifiers, lines].flat(2)) {
		if (holders.length <= mostHolders) for (const place of holders) used.add(place);
	}
	return used;
}

function roleShares({ transcript, measurement, scale }: CountedConversation, results: readonly CountedResult[]) {
	const sums = new Map(roles.map((role) => [role, { size: startSum(), messages: 0 }]));
	const of = (role: ReportedRole) => sums.get(role) as { readonly size: SizeSum; messages: number };
	const beside = startSum(measurement.total);
	transcript.messages.forEach((message, index) => {
		if (message.sent === false) return;
		const size = measurement.messages[index] as Size;
		const share = of(roleOf(message));
		share.messages += 1;
		share.size.add(size);
		beside.subtract(size);
	});
	for (const { message, size } of results) {
		of(roleOf(transcript.messages[message] as Message)).size.subtract(size);
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
function roleOf({ role, results, counted }: Message): ReportedRole {
	return results.length > 0 && counted.every((text) => text === "") ? "tool" : role;
}

const longest = 120;

/** One line; `null` if there is none. Long paths lose their beginning, because they differ at their ends. */
export function targetText(target: CallTarget | undefined): string | null {
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

function toolShares(results: readonly CountedResult[], scale: TokenScale): ToolShare[] {
	const byTool = [...groupBy(results, ({ tool }) => tool)];
	const sizes = byTool.map(([, group]) => group.map(({ size }) => size).reduce(addSizes, noSize));
	const tokens = scaleParts(sizes, scale);
	return byTool
		.map(([tool, group], index) => ({ tool, tokens: tokens[index] ?? 0, results: group.length }))
		.sort((a, b) => b.tokens - a.tokens);
}

interface CountedResult extends PairedResult {
	readonly place: number;
	readonly tool: string | null;
	readonly size: Size;
}

function countedResults(transcript: Transcript, countTokens: CountTokens): readonly CountedResult[] {
	return pairResults(transcript).flatMap((one, place): CountedResult[] => {
		if (transcript.messages[one.message]?.sent === false) return [];
		const name = one.call?.name === undefined ? "" : cleanValue(one.call.name);
		return [{ ...one, place, tool: name === "" ? null : name, size: sizeWithMedia(one.result, countTokens) }];
	});
}

/** Rounded so that they add up to the tokens of the whole. */
function scaleParts(parts: readonly Size[], scale: TokenScale): readonly number[] {
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
