import type { CompactionStrategy, StrategyDependencies } from "../../engine/compaction/strategy.ts";
import { PalimpsestError } from "../../errors.ts";
import { type BuiltInStrategy, parseStrategyName } from "../../policy/names.ts";
import type { Policy } from "../../policy/schema.ts";
import type { Log } from "../log-event.ts";
import { modelOfCall } from "../model-of-call.ts";
import { tokenMeter } from "../token-meter.ts";
import type { StrategyOfCall } from "./compact-request.ts";
import { strategyLlm } from "./strategy-llm.ts";
import type { SummarySource } from "./summary-source.ts";

/** Makes a strategy that the configuration names by `module#Export` or `module:Class`. */
export type LoadStrategy = (name: string, dependencies: StrategyDependencies) => Promise<CompactionStrategy>;

/**
 * The strategy of a call: the one that it names, else the policy's; an external one is made with what it needs.
 *
 * @throws PalimpsestError `invalid_policy` where an external strategy cannot be loaded.
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
