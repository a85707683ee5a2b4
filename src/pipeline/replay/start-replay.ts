import { toolTurns } from "../../engine/tool-turns.ts";
import { type ReadConversation, readConversation } from "../../formats/read-conversation.ts";
import type { Policy } from "../../policy/schema.ts";
import { contextWindowOfModel } from "../../tokens/context-window.ts";
import { estimateTokens } from "../../tokens/estimate-tokens.ts";
import { maskConversation } from "../mask-conversation.ts";
import { modelOfCall } from "../model-of-call.ts";
import { asSent } from "../request-parts.ts";
import { tokenMeter } from "../token-meter.ts";
import { addMaskingFigures, maskingFiguresOf } from "./masking-figures.ts";
import { modelOfSession } from "./model-of-session.ts";
import { addTotals, figuresOf, type PolicyTotals } from "./policy-totals.ts";
import type { Rates } from "./rates.ts";
import { replayConversation } from "./replay-conversation.ts";
import type { ReplayedFile, ReplayReport, ReplaySeries } from "./replay-report.ts";
import type { ReplayedPolicy } from "./replayed-policy.ts";

/** What conversations are replayed under, and how they are counted and billed: all of them alike. */
export interface ReplaySettings {
	/** Gives the counting, what is kept whatever happens, and the masking that the seed's figures are of. */
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
