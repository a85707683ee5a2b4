import {
	type CountTokens,
	likelyTokens,
	type Measurement,
	measure,
	sizeOfResult,
	type TokenMeter,
	type TokenScale,
} from "../conversation/measure.ts";
import { type Plan, type Size, type SizeSum, startSum } from "../conversation/plan.ts";
import { type Archiving, economicsOf, notesOn, notesOnRoles, reportOf } from "../conversation/report.ts";
import type { Message, Transcript } from "../conversation/transcript.ts";
import { isToolTurn, type PairedResult, pairResults, toolTurns } from "../conversation/turns.ts";
import { PalimpsestError } from "../errors.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { budgetOf } from "../guarding/budget.ts";
import { planGuard } from "../guarding/guard.ts";
import { resultTargets } from "../masking/judge-results.ts";
import { planMask } from "../masking/mask.ts";
import { cleanValue } from "../masking/placeholder.ts";
import { findStale } from "../masking/staleness.ts";
import type { CallTarget } from "../masking/targets.ts";
import type { MomentOf } from "../masking/thinking.ts";
import { findUses, type Uses } from "../masking/uses.ts";
import { requireWholeNumber } from "../policy/errors.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { presetNames } from "../policy/names.ts";
import type { Policy, PolicyLayer } from "../policy/schema.ts";
import { type Originals, wordings } from "../policy/wordings.ts";
import type { CountMethod } from "../tokens/estimate.ts";
import { contextWindowOfModel } from "../tokens/models.ts";
import { inputTokensOf } from "../tokens/request.ts";
import { completePlan } from "./conversation.ts";
import { asSent, modelOfCall, tokenMeter } from "./count.ts";
import { placeholdersOf } from "./find-original.ts";
import { calibrate } from "./guard.ts";
import { modelOfSession } from "./replay.ts";
import { textLibraries } from "./text-libraries.ts";

/** A conversation to report on. */
export interface ContextReportRequest {
	/** A list of messages, a request body, or any object that holds `messages`. Never changed. */
	readonly conversation: unknown;
	/** The configuration, over which each preset is laid. */
	readonly layers: readonly PolicyLayer[];
	/** What becomes of originals, which placeholders tell; by default an archive keeps them. */
	readonly originals?: Originals;
	/** Whose window and tokenizer count; by default as the conversation, a record of the session or the policy names it. */
	readonly model?: string | undefined;
	/** Tokens, in place of the model's. */
	readonly contextWindow?: number | undefined;
	/** Tokens left free for the answer, in place of each preset's. */
	readonly reserveTokens?: number | undefined;
	/** Tool schemas that are sent along, where the conversation does not hold them itself. */
	readonly tools?: unknown;
	/** The usage that the provider reported with the last answer, to calibrate the counts by. */
	readonly usage?: unknown;
}

/**
 * Says what fills a context window, and what each preset would free and cost. Changes and keeps nothing. Takes time in
 * proportion to the conversation, which is read and counted once for all of it.
 *
 * @throws PalimpsestError `not_a_conversation`; `invalid_argument` for a window, reserve or usage that is no whole number
 * of tokens, and for tools where the conversation holds some.
 */
export async function reportContext(request: ContextReportRequest): Promise<ContextReport> {
	const { conversation, layers, originals = "archived", reserveTokens } = request;
	requireWholeNumber("context_window", request.contextWindow, { least: 1, unit: "tokens" });
	requireWholeNumber("reserve_tokens", reserveTokens, { least: 0, unit: "tokens" });
	const last: PolicyLayer = reserveTokens === undefined ? {} : { guard: { reserve_tokens: reserveTokens } };
	const policy = resolvePolicy([...layers, last]);
	const source = readConversation(conversation);
	const model = modelOfCall(request.model, conversation, policy) ?? modelOfSession(source);
	const { transcript, requestOverhead } = asSent(source, { model, tools: request.tools });
	const { meter, estimate } = await tokenMeter(policy, model);
	const measurement = measure(transcript, meter, requestOverhead(meter.countTokens));
	const { method, scale, notes } =
		request.usage === undefined
			? estimate
			: calibrate(estimate, { transcript, measurement, inputTokens: inputTokensOf(request.usage) });
	const given = request.contextWindow ?? policy.guard.context_window_override ?? undefined;
	const ofModel = given === undefined && model !== undefined ? await contextWindowOfModel(model) : undefined;
	const contextWindow = given ?? ofModel?.tokens;
	return contextReportOf(
		{ source, transcript, measurement, meter, scale, contextWindow, originals },
		{ model, method, notes: [...(ofModel?.notes ?? []), ...notes], layers, last },
	);
}

/** What a conversation is reported under. */
export interface ReportSettings {
	readonly model: string | undefined;
	readonly method: CountMethod;
	/** What is to be known of the window and of the counting. */
	readonly notes: readonly string[];
	/** The configuration, over which each preset is laid. */
	readonly layers: readonly PolicyLayer[];
	/** What the call itself sets, over each preset. */
	readonly last: PolicyLayer;
}

/** Folds a counted conversation into what fills its window, and what each preset would free and cost. */
export function contextReportOf(
	conversation: CountedConversation,
	{ model, method, notes, layers, last }: ReportSettings,
): ContextReport {
	const { source, transcript, measurement, meter, scale, contextWindow } = conversation;
	const { guard } = resolvePolicy([...layers, last]);
	const results = countedResults(transcript, meter.countTokens);
	const sent = transcript.messages.filter((message) => message.sent !== false);
	return {
		model: model ?? null,
		method,
		context_window: contextWindow ?? null,
		budget_tokens: contextWindow === undefined ? null : budgetOf(contextWindow, guard),
		tokens: likelyTokens(measurement.total, scale),
		messages: sent.length,
		tool_turns: sent.filter(isToolTurn).length,
		by_role: roleShares({ transcript, measurement, results, scale }),
		by_tool: toolShares(results, scale),
		biggest_results: biggestResults(results, { transcript, scale }),
		presets: presetOutcomes(conversation, { layers, last }),
		notes: [...notesOn(transcript), ...notesOnRoles(source.document, transcript), ...notes],
	};
}

const most = 10;

/** Results up to which a string that stands in all of them says that each was used. */
const mostHolders = 3;

/** The largest results, largest first; of two that are as large the later one. */
export function biggestResults(
	results: readonly CountedResult[],
	{ transcript, scale }: { readonly transcript: Transcript; readonly scale: TokenScale },
): LargeResult[] {
	const largest = results.toSorted((a, b) => b.size.tokens - a.size.tokens || b.place - a.place).slice(0, most);
	if (largest.length === 0) return [];
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

/** The results that an assistant message took a string from which was theirs. */
function usedResults({ identifiers, lines }: Uses): ReadonlySet<number> {
	const used = new Set<number>();
	for (const { holders } of [identifiers, lines].flat(2)) {
		if (holders.length <= mostHolders) for (const place of holders) used.add(place);
	}
	return used;
}

/** A conversation that was counted. */
export interface CountedConversation {
	readonly source: ReadConversation;
	/** As it is sent. */
	readonly transcript: Transcript;
	readonly measurement: Measurement;
	readonly meter: TokenMeter;
	readonly scale: TokenScale;
	/** Tokens; `undefined` where it is not known. */
	readonly contextWindow: number | undefined;
	readonly originals: Originals;
}

/**
 * What each preset would make of a conversation, over the configuration and with what the call itself sets. Nothing is
 * applied, verified or archived: these are plans. Takes time in proportion to the conversation.
 */
export function presetOutcomes(
	conversation: CountedConversation,
	{ layers, last }: { readonly layers: readonly PolicyLayer[]; readonly last: PolicyLayer },
): PresetOutcome[] {
	return presetNames
		.flatMap((preset): [string, PolicyLayer][] => {
			if (preset !== "balanced") return [[preset, { preset }]];
			return (["low", "medium", "high"] as const).map((thrift) => [
				thrift === "medium" ? preset : `${preset}:${thrift}`,
				{ preset, mask: { thrift } },
			]);
		})
		.map(([name, layer]) => presetOutcome(name, resolvePolicy([...layers, layer, last]), conversation));
}

/**
 * What `mask` would do, where the preset masks and that is enough; else what `guard` would, which without a known window
 * has no reason to take anything out but what is too large by itself.
 */
function presetOutcome(preset: string, policy: Policy, conversation: CountedConversation): PresetOutcome {
	const { contextWindow } = conversation;
	const budget = contextWindow === undefined ? undefined : budgetOf(contextWindow, policy.guard);
	const plans = planner(policy, conversation);
	const judge = (plan: Plan) => outcomeOf(plan, { preset, policy, budget, ...conversation });
	const masked = policy.mask.enabled ? judge(plans.mask()) : undefined;
	return masked && masked.fits !== false ? masked : judge(plans.guard(budget ?? Number.POSITIVE_INFINITY));
}

/** Any ref stands for all: each has as many characters, and but for a few that touch what stands before as many tokens. */
const anyOriginal: Archiving = { refOf: () => "ku193re960gi257do532", jsonAt: () => "" };

function planner(policy: Policy, { source, transcript, measurement, meter, scale, originals }: CountedConversation) {
	const { countTokens } = meter;
	const shared = {
		transcript,
		wording: wordings(policy, originals),
		isPlaceholder: placeholdersOf(policy),
		archiving: originals === "not_archived" ? undefined : anyOriginal,
	};
	const complete = (plan: Plan, momentOf: MomentOf): Plan => {
		try {
			return completePlan({ source, plan, policy, countTokens, momentOf }).plan;
		} catch (error) {
			// The policy forbids such edits, so there are none.
			if (error instanceof PalimpsestError && error.code === "thinking_bound") return [];
			throw error;
		}
	};
	return {
		mask() {
			const { mask, media, prices } = policy;
			const replaying = { meter, prices };
			const masking = { ...shared, policy: mask, media, countTokens, replaying };
			const { edits, momentOf } = planMask(masking);
			return complete(edits, momentOf);
		},
		guard(budget: number) {
			// A guard that is turned off, or that nothing of the window is left for, takes nothing out.
			if (!policy.guard.enabled || budget <= 0) return [];
			const what = { ...shared, policy, budget, meter, measurement, scale, libraries: textLibraries };
			const { plan, momentOf } = planGuard(what);
			return complete(plan, momentOf);
		},
	};
}

function outcomeOf(
	plan: Plan,
	what: CountedConversation & {
		readonly preset: string;
		readonly policy: Policy;
		readonly budget: number | undefined;
	},
): PresetOutcome {
	const { preset, policy, budget, transcript, measurement, scale } = what;
	// What is no longer sent is masked all the same, and frees nothing.
	const sent = plan.filter((edit) => !edit.unsent);
	const report = reportOf(transcript, measurement, sent, scale);
	const economics = economicsOf(plan, { measurement, prices: policy.prices, scale });
	return {
		preset,
		tokens_after: report.tokens.after,
		freed_tokens: report.tokens.before - report.tokens.after,
		masked: report.masked_tool_results,
		truncated: report.truncated_tool_results,
		dropped: report.dropped_messages,
		fits: budget === undefined ? null : report.band.high <= budget,
		rewritten_tokens: economics.rewritten_tokens,
		calls_to_break_even: economics.calls_to_break_even,
	};
}

const roles: readonly ReportedRole[] = ["system", "user", "assistant", "tool", "other"];

/** What each role fills, the largest first; roles that fill nothing are left out. */
export function roleShares(what: {
	readonly transcript: Transcript;
	readonly measurement: Measurement;
	readonly results: readonly CountedResult[];
	readonly scale: TokenScale;
}): RoleShare[] {
	const { transcript, measurement, results, scale } = what;
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
	const sizes = roles.map((role) => of(role).size.total());
	const tokens = scaleParts(sizes, scale);
	return roles
		.map((role, index) => ({
			role,
			tokens: tokens[index] ?? 0,
			chars: sizes[index]?.chars ?? 0,
			messages: of(role).messages,
		}))
		.filter((share) => share.tokens > 0 || share.messages > 0)
		.sort((a, b) => b.tokens - a.tokens);
}

/** Some formats have results come in messages of the user. */
function roleOf({ role, results, counted }: Message): ReportedRole {
	return role !== "assistant" && results.length > 0 && counted.every((text) => text === "") ? "tool" : role;
}

/** UTF-16 code units at most. */
const longest = 120;

/**
 * What a call was about, on one line: its files and folders, else the program that it ran; `null` where it does not tell.
 * What is too long loses its beginning, since paths end with what tells them apart.
 */
export function targetText(target: CallTarget | undefined): string | null {
	if (!target) return null;
	const files = new Set([...target.reads.map(({ path }) => path), ...target.writes, ...target.paths]);
	const text = files.size > 0 ? Array.from(files).join(", ") : (target.program ?? "");
	const line = text
		.toWellFormed()
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ")
		.trim();
	if (line === "") return null;
	return line.length <= longest ? line : `…${line.slice(1 - longest)}`.toWellFormed();
}

/** What the results of each tool fill, the largest first. */
export function toolShares(results: readonly CountedResult[], scale: TokenScale): ToolShare[] {
	const sums = new Map<string | null, { readonly size: SizeSum; results: number }>();
	for (const { tool, size } of results) {
		const sum = sums.get(tool) ?? { size: startSum(), results: 0 };
		sums.set(tool, sum);
		sum.size.add(size);
		sum.results += 1;
	}
	const all = [...sums];
	const tokens = scaleParts(
		all.map(([, { size }]) => size.total()),
		scale,
	);
	return all
		.map(([tool, { results: count }], index) => ({ tool, tokens: tokens[index] ?? 0, results: count }))
		.sort((a, b) => b.tokens - a.tokens);
}

/** The roles of messages, as they are told apart in every format. */
export type ReportedRole = "system" | "user" | "assistant" | "tool" | "other";

/** What a role fills. The shares of all roles add up to the whole conversation. */
export interface RoleShare {
	/**
	 * `tool`: results, whatever message carries them, and messages that hold nothing else. `system` holds what each
	 * request carries beside the messages, too. `other`: roles that no format defines.
	 */
	readonly role: ReportedRole;
	readonly tokens: number;
	/** UTF-16 code units of the texts. */
	readonly chars: number;
	/** Messages of that role; each counts once. */
	readonly messages: number;
}

/** What the results of a tool fill. */
export interface ToolShare {
	/** As the calls name it, without control characters; `null` where no call with a name is in the conversation. */
	readonly tool: string | null;
	/** Tokens of its results; those of its calls count with the assistant. */
	readonly tokens: number;
	readonly results: number;
}

/** One of the largest tool results. */
export interface LargeResult {
	/** As above. */
	readonly tool: string | null;
	/** `null` where the format gives none. */
	readonly call_id: string | null;
	/**
	 * What its call was about, for people to recognise it by: the files or folders, else the program of a command such as
	 * `npm test`; at most 120 characters. `null` where the call does not tell.
	 */
	readonly target: string | null;
	/** Index of the message that holds it, from 0. */
	readonly message: number;
	readonly tokens: number;
	/** Tool turns that came after it. */
	readonly age_turns: number;
	/**
	 * Whether an assistant message used an identifier or a whole line of it that stood in no more than three results, and
	 * nowhere else, until then.
	 */
	readonly used_since: boolean;
	/** Whether what it shows was read again, edited or repeated since. */
	readonly stale: boolean;
}

/** What a preset would make of the conversation as it stands. */
export interface PresetOutcome {
	/** A preset's name; `balanced:low` and `balanced:high` are that preset with the other two settings of `mask.thrift`. */
	readonly preset: string;
	/** Tokens of the whole conversation afterwards. */
	readonly tokens_after: number;
	/** Tokens that this call and each after it would be sent less; below 0 where more is put in than taken out. */
	readonly freed_tokens: number;
	/** Tool results with a placeholder in their stead. */
	readonly masked: number;
	/** Tool results that are cut. */
	readonly truncated: number;
	/** Messages taken out. */
	readonly dropped: number;
	/** Whether the result is within the budget that the preset leaves; `null` where no window is known. */
	readonly fits: boolean | null;
	/** Tokens from the first change on, which the provider would write to its cache anew. */
	readonly rewritten_tokens: number;
	/**
	 * Calls after which the savings have paid for that; 0 where it costs nothing, `null` where they never do and where
	 * nothing changes.
	 */
	readonly calls_to_break_even: number | null;
}

/**
 * What fills the context window: what `palimpsest report` prints as JSON, and its page is drawn from. Tokens are the
 * best guess of the counter; each list has the largest first, presets excepted, which stand as they are listed. It holds
 * no text of the conversation but names of tools, ids of calls and their targets.
 */
export interface ContextReport {
	/** As the caller, the conversation or the policy names it; `null` where none does. */
	readonly model: string | null;
	/** How the tokens were counted: `estimated` where the model's tokenizer is not public. */
	readonly method: CountMethod;
	/** Tokens of the model's context window; `null` where it is not known. */
	readonly context_window: number | null;
	/** Tokens that the conversation may have at most: the window, less what the answer needs; `null` as above. */
	readonly budget_tokens: number | null;
	/** Tokens of the whole conversation, as the next call would be sent it. */
	readonly tokens: number;
	/** Messages that are sent; those that a session has compacted away are not. */
	readonly messages: number;
	/** Tool turns among them. */
	readonly tool_turns: number;
	readonly by_role: readonly RoleShare[];
	readonly by_tool: readonly ToolShare[];
	/** At most 10. */
	readonly biggest_results: readonly LargeResult[];
	readonly presets: readonly PresetOutcome[];
	/** What a reader of the numbers should know, in English sentences. */
	readonly notes: readonly string[];
}

/** A tool result with its size. */
export interface CountedResult extends PairedResult {
	/** Its place in `pairResults`. */
	readonly place: number;
	/** The name of its tool, safe to print; `null` where it is not known. */
	readonly tool: string | null;
	/** Of its texts, images, recordings and documents, before any scaling. */
	readonly size: Size;
}

/** The tool results that a request sends, in order. */
export function countedResults(transcript: Transcript, countTokens: CountTokens): readonly CountedResult[] {
	return pairResults(transcript).flatMap((one, place): CountedResult[] => {
		if (transcript.messages[one.message]?.sent === false) return [];
		const { chars, tokens } = sizeOfResult(one.result, countTokens);
		const fixed = one.result.media.reduce((sum, media) => sum + media.tokens, 0);
		const name = one.call?.name === undefined ? "" : cleanValue(one.call.name);
		return [{ ...one, place, tool: name === "" ? null : name, size: { chars, tokens: tokens + fixed, fixed } }];
	});
}

/**
 * The tokens of the parts of a whole on a scale. Rounded so that they add up to the tokens of the whole: each is what its
 * part adds to the sum of those before it.
 */
export function scaleParts(parts: readonly Size[], scale: TokenScale): readonly number[] {
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
