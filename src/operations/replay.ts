import { readPolicyFile } from "../config/policy-file.ts";
import { isJsonObject } from "../conversation/json.ts";
import { once } from "../conversation/lists.ts";
import type { TokenMeter } from "../conversation/measure.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { toolTurns } from "../conversation/turns.ts";
import { PalimpsestError } from "../errors.ts";
import { decodeText, readRegularFile } from "../files/access.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { stringAt } from "../formats/json-values.ts";
import { readTextDocument } from "../json-text/read.ts";
import { type ReplayHistory, readHistory, scaleHistory } from "../masking/history.ts";
import { replay, type Schedule } from "../masking/replay.ts";
import { findUses } from "../masking/uses.ts";
import { checkPolicyLayer } from "../policy/check.ts";
import { nearestName } from "../policy/errors.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { type PresetName, presetNames } from "../policy/names.ts";
import { presets } from "../policy/presets.ts";
import type { MaskPolicy, Policy, PolicyLayer } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { type ContextParts, contextByPart, meterSchedule } from "../replaying/bill.ts";
import { optimalSchedule } from "../replaying/optimum.ts";
import { clairvoyantRecall, measureRecall, type RecallCount } from "../replaying/recall.ts";
import {
	addTotals,
	figuresOf,
	type MaskingFigures,
	type PolicyTotals,
	type ReplayedFile,
	type ReplayReport,
	type ReplaySeries,
	type UseTotals,
} from "../replaying/report.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { contextWindowOfModel } from "../tokens/models.ts";
import { asSent, modelOfCall, tokenMeter } from "./count.ts";
import { placeholdersOf } from "./find-original.ts";
import { type MaskReport, maskConversation } from "./mask.ts";
import type { Rates } from "./replay-rates.ts";

/** What conversations are replayed under, and how they are counted and billed: all of them alike. */
export interface ReplaySettings {
	/**
	 * Gives the counting, the results that always stay, and the masking behind the figures of
	 * docs/specs/observation-masking.md#offline-figures.
	 */
	readonly policy: Policy;
	readonly policies: readonly ReplayedPolicy[];
	readonly rates: Rates;
	/** Whose tokens are counted, and whose context window counts; by default the policy's, and each session's own. */
	readonly model?: string | undefined;
	/** Tokens, in place of the model's. */
	readonly contextWindow?: number | undefined;
	/** Conversations of fewer tool turns are left out. Default 0. */
	readonly minTurns?: number | undefined;
	/** Of how many conversations, those of the most LLM calls, to keep what a plot is drawn from. Default 0. */
	readonly mostSeries?: number | undefined;
}

/** A replay of many conversations, one at a time: of each, its figures alone are kept. */
export interface Replay {
	/**
	 * Replays a conversation; answers whether it was taken, or had too few tool turns.
	 *
	 * @throws PalimpsestError `not_a_conversation`, and whatever masking it throws; it then counts for nothing.
	 */
	readonly add: (one: { readonly file: string; readonly conversation: unknown }) => Promise<boolean>;
	/** What came of all of them. */
	readonly report: () => ReplayReport;
	/** Of at most `mostSeries` conversations, in the order in which they came. */
	readonly series: () => readonly ReplaySeries[];
}

/** Starts a replay. */
export async function startReplay(settings: ReplaySettings): Promise<Replay> {
	const { policy, policies, rates, minTurns = 0, mostSeries = 0 } = settings;
	const model = settings.model ?? policy.guard.model ?? undefined;
	const { meter, estimate } = await tokenMeter(policy, model);
	const { factor } = estimate.scale;
	const files: ReplayedFile[] = [];
	let drawn: readonly (readonly ReplaySeries[])[] = [];
	let totals: readonly PolicyTotals[] | undefined;

	return {
		async add({ file, conversation }) {
			const source = readConversation(conversation);
			if (toolTurns(source.transcript).length < minTurns) return false;
			const { report, error } = await maskConversation({ conversation, policy });
			if (error) throw error;
			const { transcript, requestOverhead } = asSent(source, { model });
			const replayed = replayConversation(
				{
					transcript,
					meter,
					factor,
					requestOverhead: requestOverhead(meter.countTokens),
					windowTokens: await windowTokensOf(source, { ...settings, factor }),
					rates,
					configured: policy,
				},
				policies,
			);
			files.push({
				file,
				...maskingFiguresOf(report),
				policies: replayed.map(({ policy: { name }, totals }) => figuresOf(name, totals)),
			});
			if (mostSeries > 0) {
				const series = replayed.map((one) => ({ file, policy: one.policy.name, ...one.series() }));
				drawn = withoutShortest([...drawn, series], mostSeries);
			}
			totals = replayed.map((one, index) => {
				const before = totals?.[index];
				return before ? addTotals(before, one.totals) : one.totals;
			});
			return true;
		},
		report: () => ({
			...files.reduce(addMaskingFigures, maskingFiguresOf(undefined)),
			policies: (totals ?? []).map((one, index) => figuresOf(policies[index]?.name ?? "", one)),
			files,
		}),
		series: () => drawn.flat(),
	};
}

function withoutShortest(drawn: readonly (readonly ReplaySeries[])[], most: number) {
	if (drawn.length <= most) return drawn;
	const calls = drawn.map((series) => series[0]?.billed.length ?? 0);
	return drawn.toSpliced(calls.lastIndexOf(Math.min(...calls)), 1);
}

/** The context window of a conversation's model, in tokens as they are counted here, which another model may name. */
async function windowTokensOf(
	source: ReadConversation,
	{ policy, contextWindow, model: named, factor }: ReplaySettings & { readonly factor: number },
): Promise<number | undefined> {
	const model = modelOfCall(named ?? modelOfSession(source), source.document, policy);
	const given = contextWindow ?? policy.guard.context_window_override ?? undefined;
	const window = given ?? (model === undefined ? undefined : await contextWindowOfModel(model))?.tokens;
	if (window === undefined) return undefined;
	const { scale } = await estimateTokens(model, policy.tokens.encoding ?? undefined);
	return (window / scale.factor) * factor;
}

/** The figures of one masking; nothing where there was none. */
export function maskingFiguresOf(report: MaskReport | undefined): MaskingFigures {
	return {
		masked_tool_results: report?.masked_tool_results ?? 0,
		tool_chars_before: report?.tool_chars.before ?? 0,
		tool_chars_after: report?.tool_chars.after ?? 0,
		tokens_before: report?.tokens.before ?? 0,
		tokens_after: report?.tokens.after ?? 0,
	};
}

/** The figures of two together. */
export function addMaskingFigures(a: MaskingFigures, b: MaskingFigures): MaskingFigures {
	return {
		masked_tool_results: a.masked_tool_results + b.masked_tool_results,
		tool_chars_before: a.tool_chars_before + b.tool_chars_before,
		tool_chars_after: a.tool_chars_after + b.tool_chars_after,
		tokens_before: a.tokens_before + b.tokens_before,
		tokens_after: a.tokens_after + b.tokens_after,
	};
}

/** Where records of sessions name the model that answered: Claude Code and pi, Copilot CLI, Codex, opencode. */
const places = [
	["message", "model"],
	["data", "model"],
	["payload", "model"],
	["info", "modelID"],
] as const;

/** The model that the records of a session named last; `undefined` where they name none. */
export function modelOfSession({ located: { messages } }: ReadConversation): string | undefined {
	for (let index = messages.length - 1; index >= 0; index -= 1) {
		const record = messages[index];
		if (!isJsonObject(record)) continue;
		const named = places.map(([part, key]) => {
			const holder = record[part];
			return isJsonObject(holder) ? stringAt(holder, key) : undefined;
		});
		// Claude Code names a model in angle brackets where it wrote the answer itself.
		const model = [stringAt(record, "model"), ...named].find((one) => one !== undefined && !one.startsWith("<"));
		if (model !== undefined) return model;
	}
	return undefined;
}

/** A conversation to replay, and how it is counted and billed. */
export interface ConversationToReplay {
	readonly transcript: Transcript;
	readonly meter: TokenMeter;
	/** Tokens of the model for each that the meter counts of a text. */
	readonly factor: number;
	/** What the provider adds to each request, in tokens of the model. */
	readonly requestOverhead: number;
	/** Tokens of the model that fit the context window; `undefined` where it is not known. */
	readonly windowTokens: number | undefined;
	readonly rates: Rates;
	/** Whose error rule and placeholders stand behind the bill of masking nothing, which has neither. */
	readonly configured: Policy;
}

/** What came of one conversation under one policy. Tokens are the model's. */
export interface ReplayedUnderPolicy {
	readonly policy: ReplayedPolicy;
	readonly totals: PolicyTotals;
	/** What each LLM call was sent and cost, worked out when asked for. */
	readonly series: () => { readonly context: readonly ContextParts[]; readonly billed: readonly number[] };
}

/** Replays one conversation under each of some policies. What they have in common is counted once. */
export function replayConversation(
	conversation: ConversationToReplay,
	policies: readonly ReplayedPolicy[],
): ReplayedUnderPolicy[] {
	const { rates, windowTokens } = conversation;
	const historyUnder = startHistories(conversation);
	const optima = new Map<ReplayHistory, Map<number, Schedule>>();

	function optimumOf(history: ReplayHistory, { window_turns }: MaskPolicy): Schedule {
		const known = optima.get(history) ?? new Map<number, Schedule>();
		optima.set(history, known);
		const schedule = known.get(window_turns) ?? optimalSchedule(history, window_turns, rates.prices);
		known.set(window_turns, schedule);
		return schedule;
	}
	function scheduleOf({ kind, policy }: ReplayedPolicy, { counted, billed }: Histories): Schedule {
		if (kind === "optimum") return optimumOf(billed, policy.mask);
		const mask = kind === "raw" ? { ...policy.mask, enabled: false } : policy.mask;
		return replay(counted, { mask, prices: rates.prices });
	}
	function billOf(history: ReplayHistory, schedule: Schedule) {
		const bill = meterSchedule(history, schedule, rates.prices);
		const costs = bill.calls.map(rates.costOf);
		return { ...bill, costs, billed: costs.reduce((sum, cost) => sum + cost, 0) };
	}
	const whole = historyUnder(conversation.configured);
	const raw = billOf(whole.billed, new Float64Array(whole.billed.results.length).fill(Number.POSITIVE_INFINITY));

	return policies.map((one) => {
		const histories = one.kind === "raw" ? whole : historyUnder(one.policy);
		const schedule = scheduleOf(one, histories);
		const { billed: history } = histories;
		const bill = billOf(history, schedule);
		const recall = measureRecall(history, schedule);
		const uses = (kind: "identifiers" | "lines"): UseTotals => ({
			...(recall[kind] satisfies RecallCount),
			bound: clairvoyantRecall(history, { inputTokens: bill.inputTokens, kind }),
		});
		const hasOptimum = one.kind !== "raw" && goesByAgeAlone(one.policy.mask);
		return {
			policy: one,
			totals: {
				conversations: 1,
				calls: bill.calls.length,
				inputTokens: bill.inputTokens,
				cachedTokens: bill.cachedTokens,
				billed: bill.billed,
				raw: { inputTokens: raw.inputTokens, billed: raw.billed },
				optimum: hasOptimum ? billOf(history, optimumOf(history, one.policy.mask)).billed : null,
				worst: raw.billed === 0 ? Number.NEGATIVE_INFINITY : bill.billed / raw.billed,
				peakTokens: bill.peakTokens,
				callsOverWindow: windowTokens === undefined ? 0 : bill.calls.filter(({ input }) => input > windowTokens).length,
				callsOfKnownWindow: windowTokens === undefined ? 0 : bill.calls.length,
				maskedResults: bill.maskedResults,
				identifiers: uses("identifiers"),
				lines: uses("lines"),
			},
			series() {
				let billed = 0;
				return {
					context: contextByPart(history, schedule).map(rounded),
					billed: bill.costs.map((cost) => {
						billed += cost;
						return billed;
					}),
				};
			},
		};
	});
}

/** Whether the optimum of the window is a floor for a policy: whether it may do no more and no less than that does. */
function goesByAgeAlone(mask: MaskPolicy): boolean {
	const staysForAWhile = mask.keep_errors && mask.error_detection === "structural";
	return (
		mask.enabled &&
		mask.window_turns > 0 &&
		mask.selection === "age" &&
		(mask.keep_tokens ?? 0) === 0 &&
		(mask.keep_last_k_per_tool ?? 0) === 0 &&
		Object.keys(mask.tools).length === 0 &&
		!staysForAWhile
	);
}

/** A history in two countings. */
interface Histories {
	/** In tokens of the meter, as masking counts: what policies decide by. */
	readonly counted: ReplayHistory;
	/** In tokens of the model. */
	readonly billed: ReplayHistory;
}

/** Histories by policy, read once for policies whose placeholders and kept errors are the same. */
function startHistories({ transcript, meter, factor, requestOverhead }: ConversationToReplay) {
	const known = new Map<string, Histories>();
	const uses = once(() => findUses(transcript));
	const { messageOverhead } = meter;
	return (policy: Policy): Histories => {
		const { keep_errors, error_detection, digest_tokens, placeholder_template } = policy.mask;
		const how = [policy.locale, policy.media, keep_errors, error_detection, digest_tokens, placeholder_template];
		const key = JSON.stringify(how);
		const found = known.get(key);
		if (found) return found;
		const counted = readHistory({
			transcript,
			policy: policy.mask,
			media: policy.media,
			wording: wordings(policy, "archived"),
			isPlaceholder: placeholdersOf(policy),
			countTokens: meter.countTokens,
			meter,
			uses,
		});
		const histories = {
			counted: { ...counted, surroundingTokens: counted.surroundingTokens + requestOverhead },
			billed: scaleHistory(counted, { factor, messageOverhead, requestOverhead }),
		};
		known.set(key, histories);
		return histories;
	};
}

function rounded(parts: ContextParts): ContextParts {
	return {
		system: Math.round(parts.system),
		user: Math.round(parts.user),
		assistant: Math.round(parts.assistant),
		results: Math.round(parts.results),
		placeholders: Math.round(parts.placeholders),
	};
}

/** A policy that conversations are replayed under. */
export interface ReplayedPolicy {
	/** As it was asked for. */
	readonly name: string;
	/** `raw` masks nothing; `optimum` is the cheapest schedule that its window allows, found with hindsight. */
	readonly kind: "raw" | "optimum" | "replayed";
	readonly policy: Policy;
}

const mostBytes = 1_000_000;

/**
 * The policies that are named in `--policies`, in order, each once. A name is a layer over the configuration: what
 * masks, and when, is as the name says; the rest (the error rule, rules for tools, digests, how placeholders read) is as
 * configured. A policy file stands alone.
 *
 * @throws PalimpsestError `invalid_argument` for a name; `unreadable_file`, `invalid_policy` for a file.
 */
export function replayedPolicies(
	names: string,
	configured: readonly PolicyLayer[],
): Promise<readonly ReplayedPolicy[]> {
	const listed = new Set(names.split(",").map((name) => name.trim()));
	const parsed = Array.from(listed, (name) => ({ name, parsed: parsePolicyName(name) }));
	return Promise.all(
		parsed.map(async ({ name, parsed }): Promise<ReplayedPolicy> => {
			if (parsed.kind === "file") {
				return { name, kind: "replayed", policy: resolvePolicy([await layerOfFile(parsed.file)]) };
			}
			const policy = resolvePolicy([...configured, layerOf(parsed)]);
			return { name, kind: parsed.kind === "raw" || parsed.kind === "optimum" ? parsed.kind : "replayed", policy };
		}),
	);
}

function layerOf(name: Exclude<PolicyName, { kind: "file" }>): PolicyLayer {
	const byAge = { enabled: true, selection: "age", cadence: "every_turn", keep_tokens: null, patience: null } as const;
	switch (name.kind) {
		case "raw":
			return { mask: { enabled: false } };
		case "window":
		case "optimum":
			return { mask: { ...byAge, window_turns: name.window } };
		case "stride":
			return { mask: { ...byAge, window_turns: name.window, cadence: "stride", stride_turns: name.stride } };
		case "break_even":
			return { mask: { ...byAge, window_turns: name.window, cadence: "break_even" } };
		case "preset": {
			const { selection, cadence } = byAge;
			const thrift = name.thrift === undefined ? {} : { thrift: name.thrift };
			const mask = { selection, cadence, ...presets[name.preset].policy.mask, ...thrift };
			return { preset: name.preset, mask };
		}
	}
}

async function layerOfFile(file: string): Promise<PolicyLayer> {
	if (!/\.json$/i.test(file)) return readPolicyFile(file);
	const { value } = readTextDocument(decodeText(await readRegularFile(file, mostBytes), file), file);
	return checkPolicyLayer(value, file);
}

/** A policy to replay, as it is named in `--policies`. Windows and strides are in tool turns. */
export type PolicyName =
	| { readonly kind: "raw" }
	| { readonly kind: "window" | "break_even" | "optimum"; readonly window: number }
	| { readonly kind: "stride"; readonly stride: number; readonly window: number }
	| { readonly kind: "preset"; readonly preset: PresetName; readonly thrift: MaskPolicy["thrift"] | undefined }
	| { readonly kind: "file"; readonly file: string };

const thrifts = ["low", "medium", "high"] as const;

const withNumber = ["window", "stride", "break_even", "optimum"] as const;

const names: readonly string[] = ["raw", ...withNumber, ...presetNames];

const windowOfStride = 8;

const mostTurns = 1_000_000;

/**
 * Reads the name of a policy: `raw`, `window:N`, `stride:N` (of a window of 8 turns) or `stride:N:WINDOW`, `break_even:N`,
 * `optimum:N`, a preset, `balanced:low`, `:medium` or `:high`, or the path of a policy file.
 *
 * @throws PalimpsestError `invalid_argument`, with the name that was perhaps meant.
 */
export function parsePolicyName(text: string): PolicyName {
	if (/[\\/]|\.(?:toml|json)$/i.test(text)) return { kind: "file", file: text };
	const [name = "", ...parameters] = text.split(":");
	const numbered = withNumber.find((one) => one === name);
	if (numbered) return numberedPolicy(numbered, parameters, text);
	const preset = presetNames.find((one) => one === name);
	if (preset) return presetPolicy(preset, parameters, text);
	if (name === "raw" && parameters.length === 0) return { kind: "raw" };
	if (name === "raw") throw unusable(text, "raw masks nothing, and takes no number");
	const near = nearestName(name, names);
	const meant = near === null ? "" : ` Did you mean ${[near, ...parameters].join(":")}?`;
	throw new PalimpsestError(
		"invalid_argument",
		`Unknown policy ${shown(text)}.${meant} Known: raw, window:N, stride:N, break_even:N, optimum:N, ${presetNames.join(", ")}, balanced:low, balanced:high, or the path of a policy file.`,
	);
}

function numberedPolicy(kind: (typeof withNumber)[number], parameters: readonly string[], text: string): PolicyName {
	const most = kind === "stride" ? 2 : 1;
	const numbers = parameters.map((one) => (/^\d{1,7}$/.test(one) ? Number(one) : 0));
	const [first] = numbers;
	if (first === undefined || numbers.length > most || numbers.some((one) => one < 1 || one > mostTurns)) {
		const example = kind === "stride" ? "stride:10, or stride:10:5 for a window of 5" : `${kind}:8`;
		throw unusable(text, `expected a number of tool turns, 1 or more, behind ${kind}, as in ${example}`);
	}
	if (kind === "stride") return { kind, stride: first, window: numbers[1] ?? windowOfStride };
	return { kind, window: first };
}

function presetPolicy(preset: PresetName, parameters: readonly string[], text: string): PolicyName {
	const [wanted] = parameters;
	if (wanted === undefined) return { kind: "preset", preset, thrift: undefined };
	const thrift = thrifts.find((one) => one === wanted);
	if (preset !== "balanced") throw unusable(text, `the preset ${preset} takes nothing behind it`);
	if (!thrift || parameters.length > 1) throw unusable(text, `expected ${thrifts.join(", ")} behind balanced`);
	return { kind: "preset", preset, thrift };
}

function unusable(text: string, why: string): PalimpsestError {
	return new PalimpsestError("invalid_argument", `Policy ${shown(text)} cannot be used: ${why}.`);
}

function shown(text: string): string {
	return JSON.stringify(text.slice(0, 80));
}
