import { enforcementOf } from "./claude-models.ts";
import { type CompactionOptions, createCompactionOnDemand } from "./compaction-on-demand.ts";
import { type AppliedEdit, applyContextManagement, refusalOfContextManagement } from "./context-editing.ts";
import { refusalOfBinding, refusalOfClearing, refusalOfGateway, refusalOfShape } from "./message-rules.ts";
import {
	type AcceptedRequest,
	createPreservedThinking,
	type Refusal,
	type ThinkingAccount,
} from "./preserved-thinking.ts";
import { type AnswerParts, type AnthropicParts, anthropicContent } from "./provider-answers.ts";

type Json = Readonly<Record<string, unknown>>;

/** Makes the stand-in as strict as Anthropic's API, and its answers begin with thinking. */
export interface StandInThinking extends ThinkingAccount {
	/** In front of the API is a gateway that refuses what it does not know. */
	readonly isGateway?: boolean;
	/** What the model thinks before an answer. An assumption; 400 unless given. */
	readonly tokens?: number;
	/** One block in so many is a `redacted_thinking`. None unless given. */
	readonly redactedEvery?: number;
	/**
	 * Share of the thinking that the model is no longer shown and thinks once more, in the first answer without it. An assumption;
	 * 0 unless given.
	 */
	readonly rethinks?: number;
	/** In front of the API is a gateway that knows `clear_thinking_20251015` and no other edit of the context. */
	readonly refusesClearing?: boolean;
	/** How the API's own summaries come out. */
	readonly compaction?: CompactionOptions;
	/** A 400 names the invalid block in a header. The API may leave it out; it is there unless this is false. */
	readonly hasMismatchHeader?: boolean;
}

/** What was found in a request, for the report. */
export interface ThinkingFindings extends Pick<AcceptedRequest, "sent" | "dropped" | "lost" | "isStripped"> {
	/** Blocks of answers in the request that the model is not shown for the first time, valid or not. */
	readonly gone: number;
	/** The edits of the context that the API made. */
	readonly applied: readonly AppliedEdit[];
}

export type StrictAnswer =
	| { readonly kind: "refused"; readonly refusal: Refusal }
	| {
			readonly kind: "accepted";
			readonly findings: ThinkingFindings;
			/** As the model is shown it. */
			readonly body: Json;
			/** Tokens before the edits of the context; `undefined` if the request asks for none. */
			readonly original: number | undefined;
			readonly answer: (parts: Pick<AnswerParts, "answer" | "number">) => AnthropicParts;
	  };

export interface StrictMessages {
	readonly receive: (body: Json, betas: readonly string[]) => StrictAnswer;
	readonly tokensOf: (block: Json) => number | undefined;
}

export function createStrictMessages(options: StandInThinking): StrictMessages {
	const { isGateway = false, tokens = 400, redactedEvery = Number.POSITIVE_INFINITY, rethinks = 0 } = options;
	const { hasMismatchHeader = true, refusesClearing = false } = options;
	const thinking = createPreservedThinking(options);
	const compaction = createCompactionOnDemand(options.compaction);
	let thoughts = 0;

	return {
		tokensOf: thinking.tokensOf,
		receive(body, betas) {
			const message =
				(isGateway ? refusalOfGateway(body, betas) : undefined) ??
				(refusesClearing ? refusalOfClearing(body) : undefined) ??
				refusalOfBinding(body, betas) ??
				refusalOfContextManagement(body, betas) ??
				refusalOfShape(body);
			if (message !== undefined) return { kind: "refused", refusal: { message, headers: {} } };
			const ofCompaction = compaction.refusal(body, betas);
			if (ofCompaction) return { kind: "refused", refusal: { ...ofCompaction, headers: {} } };
			const checked = thinking.check(body, betas, compaction.standsFor(body));
			if (checked.kind === "refused")
				return hasMismatchHeader ? checked : { ...checked, refusal: { ...checked.refusal, headers: {} } };
			const { sent, dropped, lost, isStripped, gone } = checked;
			// The check compares what was sent; what the API clears is no edit.
			const cleared = applyContextManagement(checked.body, thinking.tokensOf);
			const { applied = [], original } = cleared ?? {};
			return {
				kind: "accepted",
				findings: { sent, dropped, lost, isStripped, gone: gone.length, applied },
				body: cleared?.body ?? checked.body,
				original,
				answer(parts) {
					if (body.compaction !== undefined) {
						const { reason, content, outputTokens } = compaction.end(body, checked.bound);
						return { content, thinkingTokens: 0, compaction: { reason, outputTokens } };
					}
					const again = Math.round(rethinks * checked.goneTokens);
					const content = anthropicContent(parts);
					const thinkingTokens = thinks(body) ? tokens + again : 0;
					const thought = thinkingTokens === 0 ? [] : [newThinking(body, thinkingTokens)];
					const input_transformations = checked.transformations;
					const context_management = cleared && { applied_edits: applied };
					return {
						content: thinking.issue(checked, [...thought, ...content]),
						thinkingTokens,
						input_transformations,
						context_management,
					};
				},
			};
		},
	};

	function newThinking(body: Json, count: number) {
		thoughts += 1;
		if (thoughts % redactedEvery === 0) return { type: "redacted_thinking", thinking: "", tokens: count } as const;
		const text = `Thought ${thoughts}: the files so far are read, and the next one follows.`;
		return { type: "thinking", thinking: isShown(body) ? text : "", tokens: count } as const;
	}
}

/** Side requests offer no tools; of the models, the newer ones think unless they are told not to. */
function thinks({ model, thinking, tools }: Json): boolean {
	if (!Array.isArray(tools) || tools.length === 0) return false;
	if (thinking === undefined) return enforcementOf(String(model)) !== "nobody";
	return (thinking as Json).type !== "disabled";
}

/** The newer models omit the text unless they are asked for a summary; the older ones show it. */
function isShown({ model, thinking }: Json): boolean {
	const display = (thinking as Json | undefined)?.display;
	return display === undefined ? enforcementOf(String(model)) === "nobody" : display !== "omitted";
}
