import { planRewrite } from "../compaction/rewrite-edits.ts";
import type {
	CompactionContext,
	CompactionStrategy,
	StrategyDependencies,
	StrategyLlm,
} from "../compaction/strategy.ts";
import { compactJson } from "../conversation/json.ts";
import { measure, scaleTokens, sizeOf } from "../conversation/measure.ts";
import type { Size } from "../conversation/plan.ts";
import { valueAt } from "../conversation/transcript.ts";
import { PalimpsestError } from "../errors.ts";
import { locateMessages } from "../formats/detect.ts";
import { type BuiltInStrategy, parseStrategyName } from "../policy/names.ts";
import type { Policy } from "../policy/schema.ts";
import type { SummaryProgress } from "../summariser/summariser.ts";
import type {
	CompactRequest,
	OpenedCompaction,
	PlannedCompaction,
	StrategyOfCall,
	SummarySource,
} from "./compaction-request.ts";
import { modelOfCall, tokenMeter } from "./count.ts";
import type { Log } from "./edit-record.ts";

/**
 * Has an external strategy rewrite the messages, and turns the difference into edits.
 * @throws PalimpsestError `strategy_failed` if the strategy throws or does not return messages.
 */
export async function planExternal(
	request: CompactRequest & { readonly strategy: Extract<StrategyOfCall, { kind: "external" }> },
	opened: OpenedCompaction,
): Promise<PlannedCompaction> {
	const { name, strategy } = request.strategy;
	const { source, measurement } = opened;
	const { located, format, transcript } = source;
	const after = await run(strategy, name, contextOf(request, opened));
	const { links } = format;
	// A record that is rewritten under its id stays in place, because other records refer to it.
	const identityOf = (value: unknown) => {
		const id = links && valueAt(value, links.id);
		return typeof id === "string" ? id : undefined;
	};
	const rewrite = planRewrite({
		source: { transcript, base: located.base, messages: located.messages },
		after,
		sizes: measurement.messages,
		sizeOf: (value) => sizeOfValue(value, opened),
		identityOf,
	});
	switch (rewrite.kind) {
		case "unchanged":
			return { kind: "unchanged" };
		case "refused":
			throw failed(name, `${rewrite.detail} It is to return messages of the format ${format.name}, or null.`);
		case "rewrite":
			return { kind: "edits", edits: rewrite.plan, result: "rewritten" };
	}
}

function contextOf(request: CompactRequest, opened: OpenedCompaction): CompactionContext {
	const { answer, policy, signal, onProgress } = request;
	const { source, measurement, scale, contextWindow, reserveTokens } = opened;
	return {
		// A deep copy, which the strategy may change.
		history: JSON.parse(compactJson(source.located.messages)),
		format: source.format.name,
		token_count: scaleTokens(measurement.total, scale).high,
		max_context_size: contextWindow ?? Number.POSITIVE_INFINITY,
		reserved_context_size: reserveTokens,
		llm: strategyLlm({ answer, policy, signal, onProgress }),
		signal,
	};
}

async function run(strategy: CompactionStrategy, name: string, context: CompactionContext): Promise<unknown> {
	context.signal?.throwIfAborted();
	try {
		// A strategy may ignore the signal.
		return await unlessAborted(strategy.compact(context), context.signal);
	} catch (error) {
		context.signal?.throwIfAborted();
		if (error instanceof PalimpsestError) throw error;
		// Its message may quote the conversation.
		throw failed(name, `It threw ${error instanceof Error ? error.name : `a ${typeof error}`}.`, error);
	}
}

function failed(name: string, detail: string, cause?: unknown): PalimpsestError {
	const message = `The compaction strategy ${JSON.stringify(name)} failed, and the conversation was left as it was. ${detail}`;
	return new PalimpsestError("strategy_failed", message, cause === undefined ? undefined : { cause });
}

function sizeOfValue(value: unknown, { source, meter }: OpenedCompaction): Size {
	const { messages } = source.format.read(locateMessages([value]));
	if (messages.length === 0) return sizeOf(compactJson(value), meter.countTokens);
	return measure({ ...source.transcript, messages, surroundings: [] }, meter).total;
}

export type LoadStrategy = (name: string, dependencies: StrategyDependencies) => Promise<CompactionStrategy>;

/**
 * The strategy that a call names, or else the policy's, loaded if it is external.
 * @throws PalimpsestError `invalid_policy` if an external strategy cannot be loaded.
 */
export async function strategyOfCall(what: {
	readonly named: BuiltInStrategy | undefined;
	readonly policy: Policy;
	readonly answer: SummarySource;
	readonly load: LoadStrategy | undefined;
	readonly log?: Log | undefined;
	readonly signal?: AbortSignal | undefined;
}): Promise<StrategyOfCall> {
	const { policy, load, answer, log, signal } = what;
	const { strategy } = policy.compaction;
	const parsed = parseStrategyName(what.named ?? strategy);
	if (parsed.kind === "built_in") return parsed;
	if (parsed.kind === "unusable" || !load) {
		const why = parsed.kind === "unusable" ? parsed.problem : "external strategies are not loaded here.";
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

function strategyLlm(what: {
	readonly answer: SummarySource;
	readonly policy: Policy;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}): StrategyLlm | undefined {
	const { answer, policy, signal, onProgress } = what;
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

async function unlessAborted<Value>(work: Promise<Value> | Value, signal: AbortSignal | undefined): Promise<Value> {
	if (!signal) return work;
	let stop = () => {};
	const aborted = new Promise<never>((_, reject) => {
		stop = () => reject(signal.reason);
		signal.addEventListener("abort", stop);
		if (signal.aborted) stop();
	});
	try {
		return await Promise.race([work, aborted]);
	} finally {
		signal.removeEventListener("abort", stop);
	}
}
