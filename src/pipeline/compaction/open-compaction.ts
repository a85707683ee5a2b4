import { measure } from "../../engine/measure.ts";
import { PalimpsestError } from "../../errors.ts";
import { readConversation } from "../../formats/read-conversation.ts";
import { wordings } from "../../policy/wordings.ts";
import type { ModelWindow } from "../../tokens/context-window.ts";
import { inputTokensOf } from "../../tokens/input-tokens.ts";
import { archivingOf } from "../archiving-of.ts";
import { calibrate } from "../calibrate.ts";
import { contextWindowOfCall } from "../context-window-of-call.ts";
import { modelOfCall } from "../model-of-call.ts";
import { originalsOf } from "../originals-of.ts";
import { placeholdersOf } from "../placeholders-of.ts";
import { asSent } from "../request-parts.ts";
import { requireTokens } from "../require-tokens.ts";
import { tokenMeter } from "../token-meter.ts";
import type { CompactRequest } from "./compact-request.ts";
import { compactionTrigger } from "./compaction-trigger.ts";

/** A conversation read and counted, with what is needed to decide on its compaction. */
export type OpenedCompaction = Awaited<ReturnType<typeof openCompaction>>;

/**
 * Reads and counts a conversation that may be compacted.
 *
 * @throws PalimpsestError as `compactConversation` does.
 */
export async function openCompaction(request: CompactRequest) {
	const { conversation, policy, archive, force = false } = request;
	requireTokens("context_window", request.contextWindow, 1);
	requireTokens("reserve_tokens", request.reserveTokens, 0);
	const inputTokens = request.usage === undefined ? undefined : inputTokensOf(request.usage);
	const source = readConversation(conversation);
	const model = modelOfCall(request.model, conversation, policy);
	const counted = await tokenMeter(policy, model);
	const { meter } = counted;
	const { transcript, requestOverhead } = asSent(source, { model, tools: request.tools });
	const measurement = measure(transcript, meter, requestOverhead(meter.countTokens));
	const estimate =
		inputTokens === undefined
			? counted.estimate
			: calibrate(counted.estimate, { transcript, measurement, inputTokens });
	const { scale } = estimate;
	const window = await windowOf(request, model);
	const contextWindow = window?.tokens;
	const reserveTokens = request.reserveTokens ?? policy.guard.reserve_tokens;
	const { total } = measurement;
	const trigger = compactionTrigger({ force, transcript, total, scale, policy, contextWindow, reserveTokens });
	return {
		source,
		transcript,
		meter,
		measurement,
		estimate,
		scale,
		contextWindow,
		windowNotes: window?.notes ?? [],
		reserveTokens,
		trigger,
		wording: wordings(policy, originalsOf(request)),
		isPlaceholder: placeholdersOf(policy),
		archiving: archivingOf(archive, conversation),
	};
}

/** The window where one is known. */
async function windowOf(
	{ contextWindow, policy }: CompactRequest,
	model: string | undefined,
): Promise<ModelWindow | undefined> {
	try {
		return await contextWindowOfCall(contextWindow, policy, model);
	} catch (error) {
		if (error instanceof PalimpsestError && error.code === "context_window_unknown") return undefined;
		throw error;
	}
}
