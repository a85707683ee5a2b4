import { once } from "../../engine/conversation/lists.ts";
import { type CountTokens, sizeOfResult } from "../../engine/conversation/measure.ts";
import type { ThinkingBlock, ToolResult } from "../../engine/conversation/transcript.ts";
import { clearedText } from "../../engine/masking/placeholder.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { asSent, tokenMeter } from "../../operations/count.ts";
import { headOf, type RequestHead, type RequestSettings, settingsOf } from "../billing/request-head.ts";
import type { CacheTerms } from "../billing/terms.ts";
import type { RequestParts } from "../billing/unedited-bill.ts";
import type { Composed } from "./composed.ts";
import type { Why } from "./decisions.ts";
import { messageKey } from "./identity.ts";
import { type PartChange, partsAfter, partsOf } from "./parts.ts";
import type { HostRequest, Opened, OpenedConversation } from "./request.ts";
import { isGone, type ResultState, valueEdits } from "./states.ts";

/** The record that the ledger keeps of a request. Tokens are counted in the nearest public encoding. */
export interface RequestFacts {
	/** `undefined` before the first tool turn. */
	readonly conversation: string | undefined;
	readonly model: string | undefined;
	readonly terms: CacheTerms;
	readonly why: "edited" | "nothing_to_edit" | "frozen" | "held_out";
	/** Whether it got no new decisions after a refusal, also where it is edited by earlier ones. */
	readonly isFrozen: boolean;
	/** Whether the cache of the provider had expired. */
	readonly isCold: boolean;
	/** Whether another process has sent its history, and the cache may still have it. */
	readonly isResumed: boolean;
	/** A name of the first user message, by which a conversation is known before its first tool turn. */
	readonly start: string;
	readonly results: readonly EditedResult[];
	/** Tokens of reasoning that is left out. */
	readonly reasoningLeftOut: number;
	readonly parts: () => RequestParts;
	readonly prompt: PromptFacts;
}

/** What a provider's cache hangs on beside the messages. */
interface PromptFacts {
	/** When the request came, in ms since 1970, and how long the conversation had been idle, if that is known. */
	readonly at: number;
	readonly idle: number | undefined;
	readonly head: (before?: RequestHead) => RequestHead;
	readonly settings: () => RequestSettings;
	readonly roleOf: (message: number) => string | undefined;
	/** Names of the tools that its messages call. */
	readonly called: () => ReadonlySet<string>;
	/** Tokens of a character of the tools, as we count. */
	readonly tokensPerToolChar: () => number;
	/** Whether a breakpoint of its own keeps the head in the cache, or the provider caches by itself. */
	readonly keepsHead: () => boolean;
	/** Whether it ends with a message of the user after reasoning. */
	readonly beginsTurn: () => boolean;
}

/** A result that is not sent as the host sent it. Names and ids are untrusted. */
export interface EditedResult {
	readonly key: string;
	/** The place of its message. */
	readonly message: number;
	/** Whether it is sent so from this request on. */
	readonly isNew: boolean;
	readonly reason: "masked" | "cut" | "repeat" | "cleared";
	/** Why it changed with this request; `undefined` if it was so before. */
	readonly why: Why | undefined;
	readonly toolName: string | undefined;
	readonly ref: string | undefined;
	readonly tokensBefore: number;
	readonly tokensAfter: number;
}

/** The form in which a request was sent: as composed, or another. */
export type Sent = Pick<
	Composed<unknown>,
	"written" | "states" | "decided" | "asked" | "why" | "noDecision" | "leftOut"
>;

/** `sent` is `undefined` for a request without a conversation that may be edited. */
export async function factsOf(what: {
	readonly opened: Opened;
	readonly request: Pick<HostRequest<unknown>, "terms" | "model">;
	readonly sent: Sent | undefined;
	readonly policy: Policy;
}): Promise<RequestFacts> {
	const { opened, request, sent, policy } = what;
	const { source, transcript } = opened;
	const { terms, model } = request;
	const { meter } = await tokenMeter(policy, model);
	const { requestOverhead } = asSent(source, { model });
	const user = transcript.messages.find(({ role }) => role === "user");
	const noMessage = { role: "other", counted: [], calls: [], results: [] } as const;
	const edited = sent && opened.conversation !== undefined ? editedResults(opened, sent, meter.countTokens) : [];
	const thoughts = sent ? thoughtsLeftOut(opened, sent, meter.countTokens) : [];
	return {
		conversation: opened.conversation,
		model,
		terms,
		why: whyOf(sent),
		isFrozen: sent?.noDecision === "frozen",
		isCold: opened.conversation !== undefined && opened.isCold,
		isResumed: opened.conversation !== undefined && opened.isResumed,
		start: messageKey(user ?? noMessage),
		results: edited.flatMap(({ result }) => result ?? []),
		reasoningLeftOut: thoughts.reduce((sum, { saved }) => sum + saved, 0),
		parts: once(() => {
			const unedited = partsOf(transcript, meter, requestOverhead(meter.countTokens));
			return { unedited, sent: partsAfter(unedited, [...edited, ...thoughts]) };
		}),
		prompt: {
			at: opened.at,
			idle: opened.conversation === undefined ? undefined : opened.idle,
			head: (before) => headOf(source.document, transcript, before),
			settings: () => settingsOf(source.document, transcript),
			roleOf: (message) => transcript.messages[message]?.role,
			called: () => new Set(transcript.messages.flatMap(({ calls }) => calls.flatMap(({ name }) => name ?? []))),
			tokensPerToolChar() {
				const tools = transcript.surroundings.at(-1) ?? "";
				return meter.countTokens(tools) / Math.max(1, tools.length);
			},
			keepsHead: () =>
				terms.caching !== "asked" || transcript.surroundings.some((text) => text.includes('"cache_control"')),
			beginsTurn() {
				const last = transcript.messages.at(-1);
				const isPrompt = last?.role === "user" && last.results.length === 0;
				return isPrompt && transcript.messages.some(({ thinking }) => thinking.length > 0);
			},
		},
	};
}

function whyOf(sent: Sent | undefined): RequestFacts["why"] {
	if (sent?.written !== undefined) return "edited";
	const { noDecision } = sent ?? {};
	return noDecision === "frozen" || noDecision === "held_out" ? noDecision : "nothing_to_edit";
}

function editedResults(
	{ paired, keys }: OpenedConversation,
	{ states, decided, asked, why }: Sent,
	countTokens: CountTokens,
): (PartChange & { readonly result: EditedResult | undefined })[] {
	return paired.flatMap(({ result, call, message }, place): (PartChange & { result: EditedResult | undefined })[] => {
		const state = states[place];
		if (!state || state.kind === "whole") return [];
		const tokensBefore = sizeOfResult(result, countTokens).tokens;
		const written = state.kind === "cleared" ? countTokens(clearedText) : tokensIn(state, result, countTokens);
		const name = `${state.kind} ${state.since}`;
		// A note may make it longer.
		if (state.kind === "noted" || state.kind === "answered")
			return [{ message, name, saved: tokensBefore - written, result: undefined }];
		const tokensAfter = Math.min(tokensBefore, written);
		const named = { key: keys[place] as string, reason: state.kind, toolName: call?.name, ref: state.ref };
		const isNew = decided.has(place);
		const becauseOf = asked.has(place) ? ("the agent asked" as const) : why;
		const about = { ...named, message, isNew, tokensBefore, tokensAfter };
		const edited = { ...about, why: isNew && isGone(state) ? becauseOf : undefined };
		return [{ message, name, saved: tokensBefore - tokensAfter, result: edited }];
	});
}

function tokensIn(state: ResultState, result: ToolResult, countTokens: CountTokens): number {
	const places = new Map(valueEdits(state.values, result).map(({ path, replacement }) => [path, replacement]));
	if (state.values.has("whole"))
		return stringsIn([...places.values()]).reduce((sum, text) => sum + countTokens(text), 0);
	return result.texts.reduce((sum, { path, text }) => {
		const texts = places.has(path) ? stringsIn(places.get(path)) : [text];
		return sum + texts.reduce((ofText, one) => ofText + countTokens(one), 0);
	}, 0);
}

function thoughtsLeftOut({ transcript }: Opened, { leftOut }: Sent, countTokens: CountTokens): PartChange[] {
	return leftOut.map(({ message, path }) => {
		const block = transcript.messages[message]?.thinking.find((one) => one.path === path);
		return { message, name: "without reasoning", saved: block ? tokensOf(block, countTokens) : 0 };
	});
}

function tokensOf(block: ThinkingBlock, countTokens: CountTokens): number {
	return countTokens(block.text);
}

/** Texts of a value; names such as a type count little. */
function stringsIn(value: unknown): string[] {
	if (typeof value === "string") return [value];
	return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
