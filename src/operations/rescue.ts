import { measure, sizeOfResult, type TokenMeter } from "../engine/conversation/measure.ts";
import { type Message, resultText, type Transcript } from "../engine/conversation/transcript.ts";
import { byAge } from "../engine/policy/presets.ts";
import type { Policy } from "../engine/policy/schema.ts";
import { readConversation } from "../formats/detect.ts";
import { modelOfCall, modelOfSession } from "../formats/model.ts";
import { startOfLastAnswer } from "./context-window.ts";
import { type ConversationRequest, type Outcome, policyOfRewrite } from "./conversation.ts";
import { tokenMeter } from "./count.ts";
import { type GuardReport, guardConversation } from "./guard.ts";

interface RescueRequest extends ConversationRequest {
	/** In tokens; by default that of the model that the session names. */
	readonly contextWindow?: number | undefined;
	/** Share of the window that the session may fill: above 0, at most 1. */
	readonly target: number;
}

/**
 * Makes a session fit a share of its model's window, so that its program can go on in it. It truncates and masks as the
 * policy says, then masks nearly all old results, and drops messages only if that is not enough. Bound reasoning that is no
 * longer valid is removed, unless the policy says otherwise. Counts by the usage that the session recorded, which includes
 * the program's own instructions and tools. `fits` says whether it reached the share.
 * Throws PalimpsestError `context_window_unknown`, `not_a_conversation`, `thinking_bound`.
 */
export async function rescueConversation(request: RescueRequest): Promise<Outcome<GuardReport>> {
	const { target, ...rest } = request;
	const { conversation } = request;
	const policy = policyOfRewrite(request.policy);
	const source = readConversation(conversation, policy.mask.observations);
	const model = modelOfCall(request.model, conversation, policy) ?? modelOfSession(source);
	const input_tokens = await recordedTokens({ transcript: source.transcript, policy, model });
	const given = {
		...rest,
		model,
		sentUnedited: true,
		...(input_tokens === undefined ? {} : { usage: { input_tokens } }),
	};
	let outcome: Outcome<GuardReport> | undefined;
	for (const step of policiesOf(policy, target)) {
		outcome = await guardConversation({ ...given, policy: step });
		if (outcome.error || outcome.report.fits) break;
	}
	return outcome as Outcome<GuardReport>;
}

/** The gentlest first. */
function policiesOf(policy: Policy, target: number): readonly Policy[] {
	const { mask } = policy;
	const guard: Policy["guard"] = {
		...policy.guard,
		enabled: true,
		ladder: ["truncate", "mask"],
		budget_ratio: target,
		target_ratio: null,
		reserve_tokens: 0,
		truncate_when: "over_budget",
		// Without a window nothing could be promised.
		unknown_window: typeof policy.guard.unknown_window === "number" ? policy.guard.unknown_window : "refuse",
	};
	const gentle: Policy = { ...policy, mask: { ...mask, enabled: true }, guard };
	const firm: Policy = {
		...gentle,
		mask: {
			...mask,
			...byAge,
			window_turns: Math.min(3, Math.max(1, mask.window_turns)),
			keep_errors: false,
			keep_last_k_per_tool: null,
		},
		guard: { ...guard, max_tool_result_chars: Math.min(8_000, guard.max_tool_result_chars) },
	};
	return [gentle, firm, { ...firm, guard: { ...firm.guard, ladder: ["truncate", "mask", "drop"] } }];
}

/**
 * Tokens that the provider would bill for the call of the last answer, scaled from the last recorded one. A failed call has no usage.
 * Where a proxy or the program sent less than is stored, the usage is that of the smaller request: then the size is that of a call
 * before, plus the text since.
 */
async function recordedTokens({
	transcript,
	policy,
	model,
}: {
	readonly transcript: Transcript;
	readonly policy: Policy;
	readonly model: string | undefined;
}): Promise<number | undefined> {
	const places = transcript.messages.flatMap(({ usage, sent }, place) =>
		usage !== undefined && sent !== false ? [{ place, sent: usage.inputTokens }] : [],
	);
	if (places.length === 0) return undefined;
	const { meter, estimate } = await tokenMeter(policy, model);
	const { low, factor } = estimate.scale;
	const { messages, surroundingTokens } = measure(transcript, meter);
	const repeated = repeatedTokens(transcript.messages, meter);
	let stored = surroundingTokens;
	let once = surroundingTokens;
	const before = messages.map(({ tokens }, place) => {
		const sizes = { stored, once };
		stored += tokens;
		once += tokens - (repeated[place] as number);
		return sizes;
	});
	const last = before[startOfLastAnswer(transcript)]?.stored ?? stored;
	const calls = places.map(({ place, sent }) => ({ sent, stored: (before[place] as { readonly once: number }).once }));
	const latest = calls.at(-1) as (typeof calls)[number];
	const earlier = [{ sent: 0, stored: 0 }, ...calls.slice(0, -1)];
	const wholeOf = (size: number, scale: number) =>
		Math.max(...earlier.map((call) => call.sent + scale * (size - call.stored)));
	if (latest.sent < leastShare * wholeOf(latest.stored, low)) return Math.round(wholeOf(last, factor));
	return latest.stored > 0 ? Math.round(latest.sent * (last / latest.stored)) : undefined;
}

/** A request that is smaller than this share of the stored conversation was not sent whole. */
const leastShare = 0.9;

/**
 * By message, the tokens of its results that a message before has too. Gemini CLI records a result twice, and sends it twice only
 * when it resumes the session: the usage has it once.
 */
function repeatedTokens(messages: readonly Message[], { countTokens }: TokenMeter): number[] {
	const seen = new Set<string>();
	return messages.map(({ results, sent }) => {
		let tokens = 0;
		for (const result of sent === false ? [] : results) {
			const key = `${result.callId} ${resultText(result)}`;
			if (seen.has(key)) tokens += sizeOfResult(result, countTokens).tokens;
			seen.add(key);
		}
		return tokens;
	});
}
