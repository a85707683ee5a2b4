import { type GuardReport, guardConversation } from "./pipeline/guard-conversation.ts";
import type { Log } from "./pipeline/log-event.ts";
import { type MaskReport, maskConversation, type Outcome } from "./pipeline/mask-conversation.ts";
import { type TruncateReport, truncateText } from "./pipeline/truncate-text.ts";
import { checkPolicyLayer } from "./policy/check-policy.ts";
import type { PolicyLayer } from "./policy/policy-layer.ts";
import { resolvePolicy } from "./policy/resolve-policy.ts";

/** What every library call takes. */
export interface CallOptions {
	/** Fields of the policy that differ from its preset's: `{ preset: "context-guard", guard: { reserve_tokens: 4096 } }`. */
	readonly policy?: PolicyLayer;
	/** Takes the log events of the call; without it nothing is logged. */
	readonly log?: Log;
}

/** What `guard` takes beside the conversation. */
export interface GuardOptions extends CallOptions {
	/** Model whose context window and token encoding count; by default the request body's own `model`. */
	readonly model?: string;
	/** Context window in tokens, where the model's own is not meant or not known. */
	readonly contextWindow?: number;
	/** Tokens of the window left free for the answer; by default the policy's. */
	readonly reserveTokens?: number;
}

/** What `truncate` takes beside the text. */
export interface TruncateOptions extends CallOptions {
	/** Characters (UTF-16 code units) up to which the text is left whole; by default the policy's. */
	readonly maxChars?: number;
}

function policyOf(options: CallOptions) {
	return resolvePolicy([checkPolicyLayer(options.policy ?? {}, "the `policy` option")]);
}

function logOf(options: CallOptions) {
	return options.log === undefined ? {} : { log: options.log };
}

/**
 * Masks the old tool results of a conversation: a list of messages, or any object that holds `messages`, in a format of
 * `docs/formats.md`. The input is never changed; parts without edits are shared with it.
 *
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`.
 */
export async function mask<Conversation>(
	conversation: Conversation,
	options: CallOptions = {},
): Promise<Outcome<MaskReport> & { readonly conversation: Conversation }> {
	const outcome = await maskConversation({ conversation, policy: policyOf(options), ...logOf(options) });
	return outcome as typeof outcome & { conversation: Conversation };
}

/**
 * Brings a conversation within its model's context window; `report.fits` says whether it is.
 *
 * @throws PalimpsestError `not_a_conversation`, `invalid_policy`, `context_window_unknown`, `invalid_argument`.
 */
export async function guard<Conversation>(
	conversation: Conversation,
	options: GuardOptions = {},
): Promise<Outcome<GuardReport> & { readonly conversation: Conversation }> {
	const { model, contextWindow, reserveTokens } = options;
	const request = { conversation, policy: policyOf(options), model, contextWindow, reserveTokens, ...logOf(options) };
	const outcome = await guardConversation(request);
	return outcome as typeof outcome & { conversation: Conversation };
}

/**
 * Cuts one large text to its head and tail.
 *
 * @throws PalimpsestError `invalid_policy`, `invalid_argument`.
 */
export async function truncate(
	text: string,
	options: TruncateOptions = {},
): Promise<{ readonly text: string; readonly report: TruncateReport }> {
	return truncateText({ text, policy: policyOf(options), maxChars: options.maxChars, ...logOf(options) });
}
