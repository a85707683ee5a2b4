import type { CompactionStrategy } from "../../engine/compaction/strategy.ts";
import { PalimpsestError } from "../../errors.ts";
import { type BuiltInStrategy, parseStrategyName } from "../../policy/names.ts";
import type { Policy } from "../../policy/schema.ts";
import type { Summariser, SummaryProgress } from "../../summariser/summariser.ts";
import type { CompactRequest, StrategyOfCall } from "./compact-request.ts";
import type { SummarySource } from "./summary-source.ts";

/** How a program compacts. */
export interface CompactionOptions {
	/** By name, or an object of your own; by default the policy's. */
	readonly strategy?: BuiltInStrategy | CompactionStrategy | undefined;
	/** Who is asked for a summary, such as `createOpenAiCompatible` makes one. */
	readonly summariser?: Summariser | undefined;
	/** Ends calls of models at any moment; the conversation stays as it was. */
	readonly signal?: AbortSignal | undefined;
	/** Told of each step of a model call and of each retry. */
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}

/**
 * The strategy of a program's call and where its summary comes from.
 *
 * @throws PalimpsestError `invalid_argument` for a summary's token without a summary, `invalid_policy` where the policy
 * names an external strategy: a program passes the object.
 */
export function compactionOfOptions(
	options: CompactionOptions & { readonly summary?: string | undefined; readonly summaryToken?: string | undefined },
	policy: Policy,
): Pick<CompactRequest, "strategy" | "answer"> {
	return { strategy: strategyOf(options, policy), answer: answerOf(options, policy) };
}

function strategyOf({ strategy }: CompactionOptions, policy: Policy): StrategyOfCall {
	if (typeof strategy === "object") return { kind: "external", name: nameOf(strategy), strategy };
	const parsed = parseStrategyName(strategy ?? policy.compaction.strategy);
	if (parsed.kind === "built_in") return parsed;
	const why =
		parsed.kind === "unusable" ? parsed.problem : "a program passes its own as the object: `strategy: new Own()`.";
	throw new PalimpsestError("invalid_policy", `The compaction strategy cannot be used: ${why}`);
}

function nameOf(strategy: CompactionStrategy): string {
	const { name } = strategy.constructor;
	return name === "Object" || name === "" ? "own" : name;
}

function answerOf(
	options: CompactionOptions & { readonly summary?: string | undefined; readonly summaryToken?: string | undefined },
	policy: Policy,
): SummarySource {
	const { summary, summaryToken: token, summariser } = options;
	if (summary !== undefined) return { kind: "given", summary, token };
	if (token !== undefined) {
		throw new PalimpsestError("invalid_argument", "Expected a summary's token only together with the summary.");
	}
	if (summariser) return { kind: "summariser", summariser };
	const way = policy.compaction.answered_by.find((one) => one === "caller" || one === "none");
	return { kind: way === "none" ? "none" : "caller" };
}
