import { measure } from "../../engine/measure.ts";
import { readConversation } from "../../formats/read-conversation.ts";
import { resolvePolicy } from "../../policy/layers.ts";
import type { PolicyLayer } from "../../policy/schema.ts";
import type { Originals } from "../../policy/wordings.ts";
import { contextWindowOfModel } from "../../tokens/context-window.ts";
import { inputTokensOf } from "../../tokens/input-tokens.ts";
import { calibrate } from "../calibrate.ts";
import { modelOfCall } from "../model-of-call.ts";
import { modelOfSession } from "../replay/model-of-session.ts";
import { asSent } from "../request-parts.ts";
import { requireTokens } from "../require-tokens.ts";
import { tokenMeter } from "../token-meter.ts";
import type { ContextReport } from "./context-report.ts";
import { contextReportOf } from "./context-report-of.ts";

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
	requireTokens("context_window", request.contextWindow, 1);
	requireTokens("reserve_tokens", reserveTokens, 0);
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
