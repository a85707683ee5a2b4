import type { StrategyLlm } from "../../engine/compaction/strategy.ts";
import type { Policy } from "../../policy/schema.ts";
import type { SummaryProgress } from "../../summariser/summariser.ts";
import type { SummarySource } from "./summary-source.ts";

/** The model that an external strategy may ask; `undefined` where none can be asked. */
export function strategyLlm(what: {
	readonly answer: SummarySource;
	readonly policy: Policy;
	readonly signal?: AbortSignal | undefined;
	readonly onProgress?: ((progress: SummaryProgress) => void) | undefined;
}): StrategyLlm | undefined {
	const { answer, policy, signal, onProgress } = what;
	if (answer.kind !== "summariser") return undefined;
	const { summariser } = answer;
	const { max_summary_tokens: usual } = policy.compaction;
	return {
		name: summariser.name,
		async complete(prompt, { maxTokens = usual } = {}) {
			const { text } = await summariser.summarise({ prompt, maxTokens, locale: policy.locale, signal, onProgress });
			return text;
		},
	};
}
