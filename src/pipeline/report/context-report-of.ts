import { budgetOf } from "../../engine/budget.ts";
import { notesOn, notesOnRoles } from "../../engine/report.ts";
import { likelyTokens } from "../../engine/token-scale.ts";
import { isToolTurn } from "../../engine/tool-turns.ts";
import { resolvePolicy } from "../../policy/layers.ts";
import type { PolicyLayer } from "../../policy/schema.ts";
import type { CountMethod } from "../../tokens/estimate-tokens.ts";
import { biggestResults } from "./biggest-results.ts";
import type { ContextReport } from "./context-report.ts";
import { countedResults } from "./counted-results.ts";
import { type CountedConversation, presetOutcomes } from "./preset-outcomes.ts";
import { roleShares } from "./role-shares.ts";
import { toolShares } from "./tool-shares.ts";

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
