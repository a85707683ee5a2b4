import type { LostIdentifier } from "../engine/compaction/lost-identifiers.ts";
import type { CompactionStrategy, StrategyDependencies, StrategyLlm } from "../engine/compaction/strategy.ts";
import type { JsonObject } from "../engine/conversation/json.ts";
import { measure, scaleTokens } from "../engine/conversation/measure.ts";
import type { Edit } from "../engine/conversation/plan.ts";
import type { Swap } from "../engine/conversation/verify.ts";
import { type BuiltInStrategy, parseStrategyName } from "../engine/policy/names.ts";
import { PalimpsestError } from "../errors.ts";
import { modelOfCall } from "../formats/model.ts";
import { calibrate, checkGivenTokens, contextWindowOfCall, type GivenTokens } from "./context-window.ts";
import { type ChangeReport, type ConversationRequest, type Outcome, openConversation } from "./conversation.ts";
import { tokenMeter } from "./count.ts";
import { sentMessages } from "./guard.ts";
import type { Summariser, SummaryProgress } from "./summariser/summariser.ts";

export type OpenedCompaction = Awaited<ReturnType<typeof openCompaction>>;

export async function openCompaction(request: CompactRequest) {
	const { policy } = request;
	const inputTokens = checkGivenTokens(request);
	const opened = await openConversation(request);
	const { transcript, meter, model } = opened;
	const measurement = measure(transcript, meter, opened.requestOverhead(meter.countTokens));
	const estimate = calibrate(opened.estimate, { transcript, measurement, inputTokens });
	const window = await contextWindowOfCall({ contextWindow: request.contextWindow, policy, model });
	const contextWindow = window?.tokens;
	const reserveTokens = request.reserveTokens ?? policy.guard.reserve_tokens;
	/** docs/compaction.md#trigger, docs/strategies.md#message-limit */
	function compactionTrigger(): CompactionTrigger {
		const tokens = scaleTokens(measurement.total, estimate.scale).high;
		const { at_messages: most } = policy.compaction;
		// With neither a window nor a number of messages to decide by, the call itself decides.
		if (request.force || (contextWindow === undefined && most === null)) return "forced";
		if (tokens + reserveTokens >= (contextWindow ?? Number.POSITIVE_INFINITY)) return "tokens";
		return most !== null && sentMessages(transcript) >= most ? "messages" : "not_due";
	}
	return {
		...opened,
		measurement,
		estimate,
		scale: estimate.scale,
		contextWindow,
		windowNotes: window?.notes ?? [],
		reserveTokens,
		trigger: compactionTrigger(),
	};
}

export type StrategyOfCall =
	| { readonly kind: "built_in"; readonly name: BuiltInStrategy }
	| { readonly kind: "external"; readonly name: string; readonly strategy: CompactionStrategy };

export interface CompactRequest extends ConversationRequest, GivenTokens {
	readonly strategy: StrategyOfCall;
	readonly answer: SummarySource;
	readonly force?: boolean | undefined;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

export interface CompactOutcome extends Outcome<CompactReport> {
	/** Present if the caller is asked for a summary; the conversation is then unchanged. */
	readonly request?: CallerRequest;
}

export interface PlannedCompaction {
	readonly result: CompactionResult;
	readonly edits?: readonly Edit[];
	readonly summary?: SummaryReport;
	/** Texts of people that may not be missing afterwards. */
	readonly pinned?: readonly string[];
	/** Set if a block of the provider replaces the first messages. */
	readonly swap?: Swap;
	readonly notes?: readonly string[];
	/** For a summary by the caller. */
	readonly request?: CallerRequest;
}

export const unchanged: PlannedCompaction = { result: "unchanged" };

type CompactionTrigger = "forced" | "tokens" | "messages" | "not_due";

export type CompactionResult = "hidden" | "summarised" | "rewritten" | "guarded" | "summary_requested" | "unchanged";

export interface CompactReport extends ChangeReport {
	readonly strategy: string;
	readonly trigger: CompactionTrigger;
	readonly result: CompactionResult;
	/** In tokens; absent if it is neither known nor needed. */
	readonly context_window?: number;
	readonly reserve_tokens: number;
	readonly summary?: SummaryReport;
}

export interface SummaryReport {
	/** `sampling`, a model's name, or `caller`. */
	readonly by: string;
	readonly messages: number;
	readonly tokens: { readonly before: number; readonly after: number };
	/** The reference of these messages as one JSON list; absent without an archive. */
	readonly ref?: string;
	readonly parts: number;
	readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number };
	/** Most likely to be needed first. */
	readonly lost_identifiers: readonly Pick<LostIdentifier, "text" | "kind">[];
	/** Different identifiers in the messages, and those lost. */
	readonly identifiers: { readonly found: number; readonly lost: number };
	/** The texts of people that are put below the summary, and how many of them are cut. */
	readonly user_texts?: { readonly kept: number; readonly cut: number };
}

export interface CallerRequest {
	readonly summary_token: string;
	readonly prompt: string;
	/** With the strategy `provider`: send this to its Messages API, and give its answer, as JSON, as the summary. */
	readonly provider_request?: { readonly beta: string; readonly body: JsonObject };
	readonly max_summary_tokens: number;
	readonly messages: { readonly first: number; readonly last: number; readonly count: number; readonly tokens: number };
}

export type SummarySource =
	| { readonly kind: "summariser"; readonly summariser: Summariser }
	| { readonly kind: "given"; readonly summary: string; readonly token?: string | undefined }
	| { readonly kind: "caller" }
	| { readonly kind: "none" };

export type LoadStrategy = (name: string, dependencies: StrategyDependencies) => Promise<CompactionStrategy>;

/** Finds the strategy by name, else the policy's. Throws PalimpsestError `invalid_policy` if it cannot be loaded. */
export async function strategyOfCall(
	what: Pick<CompactRequest, "policy" | "answer" | "log" | "signal"> & {
		readonly named: BuiltInStrategy | CompactionStrategy | undefined;
		readonly load?: LoadStrategy | undefined;
	},
): Promise<StrategyOfCall> {
	const { named, policy, load, answer, log, signal } = what;
	if (typeof named === "object") return { kind: "external", name: nameOf(named), strategy: named };
	const { strategy } = policy.compaction;
	const parsed = parseStrategyName(named ?? strategy);
	if (parsed.kind === "built_in") return parsed;
	if (parsed.kind === "unusable" || !load) {
		const why =
			parsed.kind === "unusable" ? parsed.problem : "a program passes its own as the object: `strategy: new Own()`.";
		throw new PalimpsestError("invalid_policy", `The compaction strategy cannot be used: ${why}`);
	}
	const { meter } = await tokenMeter(policy, modelOfCall(undefined, undefined, policy));
	const dependencies: StrategyDependencies = {
		llm: strategyLlm({ answer, policy, signal }),
		countTokens: meter.countTokens,
		locale: policy.locale,
		log: (level, message) => log?.({ level, message, data: { event: "strategy", strategy } }),
	};
	return { kind: "external", name: strategy, strategy: await load(strategy, dependencies) };
}

function nameOf(strategy: CompactionStrategy): string {
	const { name } = strategy.constructor;
	return name === "Object" || name === "" ? "own" : name;
}

export function strategyLlm({
	answer,
	policy,
	signal,
	onProgress,
}: Pick<CompactRequest, "answer" | "policy" | "signal" | "onProgress">): StrategyLlm | undefined {
	if (answer.kind !== "summariser") return undefined;
	const { summariser } = answer;
	return {
		name: summariser.name,
		async complete(prompt, { maxTokens = policy.compaction.max_summary_tokens } = {}) {
			const { text } = await summariser.summarise({ prompt, maxTokens, locale: policy.locale, signal, onProgress });
			return text;
		},
	};
}
