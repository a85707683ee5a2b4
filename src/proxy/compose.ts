import type { Archive } from "../archive/archive.ts";
import { once } from "../conversation/lists.ts";
import { type Message, resultCharacters } from "../conversation/transcript.ts";
import { type PairedResult, pairResults } from "../conversation/turns.ts";
import { type ReadConversation, readConversation } from "../formats/detect.ts";
import { writePlaceholder } from "../masking/placeholder.ts";
import { placeholdersOf } from "../operations/find-original.ts";
import type { Policy } from "../policy/schema.ts";
import { wordings } from "../policy/wordings.ts";
import { reasoningBinding } from "../tokens/reasoning-binding.ts";
import type { CacheTerms } from "./terms.ts";
import { isLarge, planCuts } from "./cut-on-arrival.ts";
import type { Originals } from "./archiving.ts";
import type { Branch, Histories } from "./histories.ts";
import { conversationKey, messageKey, resultKeys } from "./identity.ts";
import type { Memory, Note, Remembered, StateChange } from "./memory.ts";
import type { Decision } from "./plan.ts";
import { asksForCheck, type Block, blocksLeftOut, boundBlocks, dropBlocks, removals } from "./reasoning.ts";
import { charsSent, type PlacedValue, type ResultState, type Values, valueEdits, valuesOf } from "./states.ts";

/** What all requests of a proxy or a plugin share. */
export interface Shared {
	readonly policy: Policy;
	readonly archive: Archive | undefined;
	readonly memory: Memory;
	readonly histories: Histories;
	readonly originals: Originals;
	readonly now: () => number;
	/** Share of conversations that are never edited. */
	readonly holdout: number;
}

/** A request as its host sends it. */
export interface HostRequest<Written> {
	/** Holds the messages, and what else is sent with them. */
	readonly body: unknown;
	/** Those that may be edited. */
	readonly formats: readonly string[];
	readonly terms: CacheTerms;
	readonly model: string | undefined;
	/** How the agent reads an original. */
	readonly recall: { readonly by: string } | undefined;
	/** False for a request that only counts tokens: it is edited alike, and decides nothing. */
	readonly decides: boolean;
	/** Whether the account is known to check what reasoning is bound to. */
	readonly isEnforced: boolean;
	/** Makes what is sent. */
	readonly write: (edits: readonly WrittenEdit[]) => Written;
}

export type WrittenEdit = PlacedValue | ReturnType<typeof removals>[number];

/** Why a request got no new decisions, if there is a reason beside that none was due. */
export type NoDecision = "held_out" | "frozen" | "archive" | "memory" | "failed";

export type Opened = ReturnType<typeof openRequest>;

/** Reads a request and finds what is known of its conversation. Takes no longer than reading and writing its JSON. */
export function openRequest(
	{ body, formats, terms, decides }: Pick<HostRequest<unknown>, "body" | "formats" | "terms" | "decides">,
	{ policy, memory, histories, now, holdout }: Shared,
) {
	const source: ReadConversation = readConversation(body, policy.mask.observations, formats);
	const { transcript } = source;
	const conversation = conversationKey(transcript);
	if (conversation === undefined) return { source, transcript, conversation };
	const branch = histories.continuedBy(conversation, transcript);
	const { lastCall } = memory.recall(conversation);
	const { lifetime } = terms;
	return {
		source,
		transcript,
		conversation,
		branch: branch as Branch | undefined,
		/** Results of earlier requests that this one continues. */
		sent: branch?.keys.length ?? 0,
		paired: pairResults(transcript),
		keys: resultKeys(transcript, conversation, branch),
		isCold: decides && lastCall !== undefined && lifetime > 0 && now() - lastCall > lifetime,
		isHeldOut: isHeldOut(conversation, holdout),
	};
}

export interface Composed<Written> {
	readonly number: number;
	/** `undefined` if it is sent as the host sent it. */
	readonly written: Written | undefined;
	/** By place, how each result is sent. */
	readonly states: readonly (ResultState | undefined)[];
	/** Places whose state begins with this request. */
	readonly decided: ReadonlySet<number>;
	readonly why: Why | undefined;
	readonly noDecision: NoDecision | undefined;
	readonly leftOut: readonly Block[];
	/** `undefined` for a request that only counts tokens. */
	readonly branch: Branch | undefined;
	readonly charsSent: () => number;
	/** Whether the request asks the API to leave out invalid reasoning. */
	readonly asksToDrop: boolean;
	readonly variants: Variants<Written>;
}

/** What made results go that were there before. */
export type Why = "it pays" | "the cache had expired" | "a price step or the window";

/** Another form of a request, for one that the provider has refused. */
export interface Variant<Written> extends Omit<Composed<Written>, "variants"> {
	/** Notes that the provider took it. */
	readonly accepted: () => void;
}

interface Variants<Written> {
	/** Without the reasoning that no longer fits; `undefined` if none is in it. */
	readonly withoutInvalid: () => Variant<Written> | undefined;
	/** The API leaves out what no longer fits; `undefined` if the request cannot ask for that. */
	readonly dropping: () => Variant<Written> | undefined;
	readonly withoutReasoning: () => Variant<Written> | undefined;
	/** Without the decisions of this request, which are then taken back; `undefined` if there are none. */
	readonly earlier: () => Variant<Written> | undefined;
	/** As the host sent it. */
	readonly own: () => Variant<Written> | undefined;
}

/** After a refused decision, requests of the conversation without another one. */
const frozenFor = 20;

/**
 * Puts the known states in, cuts the results that are new, and applies the decisions that are ready. Waits for nothing.
 * What it adds is noted before it is sent, so that every process sends the same.
 */
export function compose<Written>(
	opened: OpenedConversation,
	request: HostRequest<Written>,
	shared: Shared,
): Composed<Written> {
	const { transcript, conversation, paired, keys, isCold, isHeldOut } = opened;
	const { policy, memory, histories } = shared;
	const { body, recall, decides } = request;
	const remembered = memory.recall(conversation);
	const number = remembered.requests + 1;
	const leftOutBefore = new Map(remembered.leftOut);
	const { messages } = transcript;
	const began = { since: number, at: messages.length, changed: 0 };
	const known = isHeldOut ? keys.map(() => undefined) : knownStates(opened, remembered, memory);

	let noDecision = reasonAgainst(opened, number <= remembered.frozenUntil, shared);
	const fresh = new Map<number, ResultState>();
	let why: Why | undefined;
	if (noDecision === undefined) {
		for (const [place, cut] of cutsOf(opened, known, shared)) fresh.set(place, { ...began, ...cut });
		const chosen = decides ? choose(opened, known, { remembered, terms: request.terms }) : undefined;
		why = chosen?.why;
		for (const [place, { values, ref }] of chosen?.decisions ?? []) {
			const before = known[place];
			const cut = before?.kind === "cut" ? { cut: before.values } : {};
			fresh.set(place, { ...began, kind: "masked", changed: number, values, ref, ...cut });
		}
		if (recall && decides) addHint(opened, { known, fresh, recall, policy, number });
	}
	const stateOf = (place: number) => fresh.get(place) ?? known[place];

	const tracks = !isHeldOut && (remembered.isEnforced || tracksReasoning(request, policy));
	const allBlocks = once(() => boundBlocks(body, transcript, remembered));
	const blocks = tracks ? allBlocks() : [];
	const invalidAmong = (among: readonly Block[], stateAt: (place: number) => ResultState | undefined): Block[] => {
		if (among.length === 0) return [];
		const changes = paired.flatMap(({ result, message }, place) => {
			const { changed = 0 } = stateAt(place) ?? {};
			const path = changed > 0 ? (result.whole ?? result.texts[0] ?? result.media[0])?.path : undefined;
			return path ? [{ message, path, changed }] : [];
		});
		return blocksLeftOut({ blocks: among, changes, leftOut: leftOutBefore, number });
	};
	const leavesOut = remembered.isEnforced || leavesInvalidOut(request, policy);
	const chosenOut = (invalid: readonly Block[]) =>
		leavesOut ? invalid : invalid.filter(({ key }) => leftOutBefore.has(key));
	let invalid = invalidAmong(blocks, stateOf);
	let out = chosenOut(invalid);

	if (decides && !isHeldOut) {
		const noteOf = (states: readonly StateChange[]): Note => ({
			number,
			messages: messages.length,
			isCold,
			states,
			produced: blocks.filter(({ key }) => !remembered.produced.has(key)).map((block) => [block.key, block.produced]),
			leftOut: keysOf(out),
			ending: tracks ? endingOf(messages) : undefined,
		});
		const changes = changesOf(fresh, opened, { known, remembered, policy, began });
		try {
			if (tracks || changes.length > 0 || isCold) memory.note(conversation, noteOf(changes));
			else memory.noteHere(conversation, noteOf([]));
		} catch {
			// The disk is full, for example: known states are sent, and nothing new is decided.
			noDecision = "memory";
			fresh.clear();
			why = undefined;
			invalid = invalidAmong(blocks, stateOf);
			out = chosenOut(invalid);
			memory.noteLater(conversation, noteOf(changesOf(fresh, opened, { known, remembered, policy, began })));
		}
		memory.called(conversation);
	}

	const drops = remembered.dropsBlocks ? dropBlocks.edit(body) : undefined;
	const write = (stateAt: (place: number) => ResultState | undefined, left: readonly Block[], drop = drops) => {
		const edits: WrittenEdit[] = paired.flatMap(({ result }, place) => {
			const state = stateAt(place);
			return state ? valueEdits(state.values, result) : [];
		});
		edits.push(...removals(body, left), ...(drop ? [drop] : []));
		return edits.length === 0 ? undefined : request.write(edits);
	};
	const composed: Omit<Composed<Written>, "variants"> = {
		number,
		written: write(stateOf, out),
		states: paired.map((_, place) => stateOf(place)),
		decided: new Set(fresh.keys()),
		why,
		noDecision: noDecision ?? (opened.branch?.hasFailed ? "failed" : undefined),
		leftOut: out,
		charsSent: once(() => charsSent(transcript, paired, stateOf)),
		asksToDrop: drops !== undefined,
		branch: decides ? histories.keep(conversation, { transcript, paired, keys }, opened.branch) : undefined,
	};
	const variant = (written: Written | undefined, left: readonly Block[], note: Omit<Note, "number">): Variant<Written> => ({
		...composed,
		written,
		leftOut: left,
		asksToDrop: composed.asksToDrop || note.dropsBlocks === true,
		accepted: () => noteQuietly(memory, conversation, { number, ...note }),
	});
	return {
		...composed,
		variants: {
			withoutInvalid() {
				invalid = invalidAmong(allBlocks(), stateOf);
				if (invalid.length === out.length) return undefined;
				return variant(write(stateOf, invalid), invalid, { leftOut: keysOf(invalid), isEnforced: true });
			},
			dropping() {
				const drop = drops ? undefined : dropBlocks.edit(body);
				const note = { leftOut: keysOf(invalid), isEnforced: true, dropsBlocks: true } as const;
				return drop && variant(write(stateOf, invalid, drop), invalid, note);
			},
			withoutReasoning() {
				const all = allBlocks();
				const note = { leftOut: keysOf(all), isEnforced: true } as const;
				return all.length === 0 ? undefined : variant(write(stateOf, all), all, note);
			},
			earlier() {
				if (fresh.size === 0) return undefined;
				const before = (place: number) => known[place];
				const left = chosenOut(invalidAmong(blocks, before));
				const stays = new Set(keysOf(left));
				const states = Array.from(fresh.keys(), (place) => {
					// A result that was refused cut is sent whole.
					const state = known[place] ?? { ...began, kind: "whole" as const, values: new Map() };
					return { key: keys[place] as string, result: (paired[place] as PairedResult).result, state };
				});
				const putBack = keysOf(out).filter((key) => !stays.has(key));
				// A request that only counts tokens has noted nothing.
				const note = decides ? { states, putBack, frozenUntil: number + frozenFor } : {};
				return { ...variant(write(before, left), left, note), states: [...known], decided: new Set(), why: undefined };
			},
			own() {
				if (composed.written === undefined) return undefined;
				const sent = { states: known.map(() => undefined), decided: new Set<number>(), why: undefined };
				return { ...variant(undefined, [], { frozenUntil: number + frozenFor }), ...sent, asksToDrop: false };
			},
		},
	};
}

export type OpenedConversation = Extract<Opened, { readonly conversation: string }>;

/** By the name of the conversation, so that every process holds out the same ones. */
function isHeldOut(conversation: string, share: number): boolean {
	return Number.parseInt(conversation.slice(0, 8), 16) / 2 ** 32 < share;
}

function reasonAgainst(
	{ isHeldOut }: OpenedConversation,
	isFrozen: boolean,
	{ archive, originals }: Shared,
): NoDecision | undefined {
	if (isHeldOut) return "held_out";
	if (isFrozen) return "frozen";
	return archive && !originals.canArchive() ? "archive" : undefined;
}

/** By place. A result that another conversation has sent masked or cut stays so. */
function knownStates({ transcript, paired, keys }: OpenedConversation, remembered: Remembered, memory: Memory) {
	const answered = lastAnswer(transcript.messages);
	return keys.map((key, place): ResultState | undefined => {
		const own = remembered.states.get(key);
		// A result without a state was sent whole, if the conversation has been here.
		if (own || remembered.lastCall !== undefined) return own;
		const adopted = memory.stateAnywhere(key);
		const isUnread = (paired[place] as PairedResult).message > answered;
		// The same call can come again in another conversation, where it was never read.
		return adopted && !(isUnread && adopted.kind === "masked") ? { ...adopted, changed: 0 } : undefined;
	});
}

function lastAnswer(messages: readonly Message[]): number {
	return messages.findLastIndex(({ role }) => role === "assistant");
}

/** Results that no request has had and no answer follows. Others were sent whole, also where that did not pass here. */
function unsentPlaces({ transcript, paired, sent }: OpenedConversation): number[] {
	const answered = lastAnswer(transcript.messages);
	return paired.flatMap(({ message }, place) => (message > answered && place >= sent ? [place] : []));
}

/** Cuts of results that are new. */
function cutsOf(
	opened: OpenedConversation,
	known: readonly (ResultState | undefined)[],
	{ policy, archive }: Shared,
): (readonly [number, Pick<ResultState, "kind" | "values" | "ref">])[] {
	const { source, transcript, paired } = opened;
	const places = unsentPlaces(opened).filter((place) => !known[place] && isLarge((paired[place] as PairedResult).result, policy));
	if (places.length === 0) return [];
	const edits = planCuts({
		document: source.document,
		transcript,
		fresh: places.map((place) => paired[place] as PairedResult),
		policy,
		wording: wordings(policy, archive ? "archived" : "not_archived"),
		isPlaceholder: placeholdersOf(policy, archive ? "archived" : "not_archived"),
		archive,
	});
	return places.flatMap((place) => {
		const { result } = paired[place] as PairedResult;
		const values = valuesOf(edits, result);
		const ref = edits.find((edit) => valuesOf([edit], result).size > 0)?.takenOut?.ref;
		return values.size > 0 ? [[place, { kind: "cut", values, ref }] as const] : [];
	});
}

/** The decisions of the plan that count now, by place. */
function choose(
	{ branch, paired, keys, isCold, transcript }: OpenedConversation,
	known: readonly (ResultState | undefined)[],
	{ remembered, terms }: { readonly remembered: Remembered; readonly terms: CacheTerms },
): { readonly why: Why; readonly decisions: ReadonlyMap<number, Decision> } | undefined {
	const plan = branch?.plan;
	if (!plan || plan.maskings !== remembered.maskings) return undefined;
	const applicable = (decisions: readonly Decision[]) =>
		new Map(decisions.filter(({ place, key }) => keys[place] === key && known[place]?.kind !== "masked").map((one) => [one.place, one]));
	const all = isCold ? applicable(plan.cold) : applicable(plan.warm);
	const usual = { why: isCold ? ("the cache had expired" as const) : ("it pays" as const), decisions: all };
	const over = applicable(plan.over);
	if (branch.tokensPerChar !== undefined && over.size > all.size) {
		const chars = charsSent(transcript, paired, (place) => known[place]);
		const without = (decisions: ReadonlyMap<number, Decision>) =>
			chars - Array.from(decisions.values()).reduce((sum, { savedChars }) => sum + savedChars, 0);
		const { tokensPerChar } = branch;
		const isStep = [...terms.steps.map((step) => step.over), ...plan.limits].some(
			(limit) => without(all) * tokensPerChar > limit && without(over) * tokensPerChar <= limit,
		);
		if (isStep) return { why: "a price step or the window", decisions: over };
	}
	return all.size > 0 ? usual : undefined;
}

/**
 * One placeholder says how to read the originals: the first, unless another one already does. Where the host has rewritten
 * its history and the one that said it is gone, the first that is left says it: what follows is written to the cache
 * again in any case.
 */
function addHint(
	{ paired, branch }: OpenedConversation,
	what: {
		readonly known: readonly (ResultState | undefined)[];
		readonly fresh: Map<number, ResultState>;
		readonly recall: { readonly by: string };
		readonly policy: Policy;
		readonly number: number;
	},
): void {
	const { known, fresh, recall, policy, number } = what;
	const mark = JSON.stringify(recall.by.replace(/ ?\{ref\}/, "").replaceAll("`", "")).slice(1, -1);
	const masked: { readonly place: number; readonly state: ResultState }[] = [];
	for (const [place, { result }] of paired.entries()) {
		const state = fresh.get(place) ?? known[place];
		if (state?.kind !== "masked") continue;
		const [edit] = valueEdits(state.values, result);
		if (JSON.stringify(edit?.replacement ?? null).includes(mark)) return;
		masked.push({ place, state });
	}
	const wording = wordings(policy, { recalledBy: recall.by });
	for (const { place, state } of masked) {
		const { result, call } = paired[place] as PairedResult;
		const isFresh = fresh.has(place);
		if (!isFresh && branch) continue;
		const { whole } = result;
		const originalChars = resultCharacters(result);
		if (!whole || state.ref === undefined || !state.values.has("whole")) continue;
		const given = { toolCallId: result.callId ?? "", toolName: call?.name, originalChars, ref: state.ref };
		const placeholder = writePlaceholder(wording, given);
		if (placeholder.length >= originalChars) continue;
		const value = whole.write(placeholder);
		const values: Values = new Map([["whole", () => value]]);
		fresh.set(place, { ...state, ...(isFresh ? {} : { since: number, changed: number }), values });
		return;
	}
}

/** Whether the model or the account may refuse reasoning whose beginning was edited. */
function tracksReasoning(request: HostRequest<unknown>, policy: Policy): boolean {
	if (policy.thinking === "strip_after_edit" || request.isEnforced || asksForCheck(request.body)) return true;
	return reasoningBinding(request.model) !== "none";
}

/**
 * Whether invalid reasoning is left out before anybody has refused it. Where only some accounts are checked, it is left
 * in until this one has refused it.
 */
function leavesInvalidOut(request: HostRequest<unknown>, policy: Policy): boolean {
	if (policy.thinking !== "auto") return policy.thinking === "strip_after_edit";
	return request.isEnforced || asksForCheck(request.body) || reasoningBinding(request.model) === "all_accounts";
}

/** New states, those that another conversation has brought, and large results that are sent whole, so that they stay so. */
function changesOf(
	fresh: ReadonlyMap<number, ResultState>,
	opened: OpenedConversation,
	what: {
		readonly known: readonly (ResultState | undefined)[];
		readonly remembered: Remembered;
		readonly policy: Policy;
		readonly began: Pick<ResultState, "since" | "at" | "changed">;
	},
): StateChange[] {
	const { known, remembered, policy, began } = what;
	const { paired, keys } = opened;
	const change = (place: number, state: ResultState): StateChange => {
		return { key: keys[place] as string, result: (paired[place] as PairedResult).result, state };
	};
	const adopted = known.flatMap((state, place) => {
		const isNew = state && !fresh.has(place) && !remembered.states.has(keys[place] as string);
		return isNew ? [change(place, { ...state, since: began.since, at: began.at })] : [];
	});
	const leftWhole = paired.flatMap(({ result }, place) => {
		const isLeft = place >= opened.sent && !known[place] && !fresh.has(place) && isLarge(result, policy);
		return isLeft ? [change(place, { ...began, kind: "whole", values: new Map() })] : [];
	});
	return [...Array.from(fresh, ([place, state]) => change(place, state)), ...adopted, ...leftWhole];
}

/** Names the end of a request, which the answer follows. */
function endingOf(messages: readonly Message[]): string | undefined {
	const last = messages.findLast(({ role, results }) => role !== "assistant" || results.length > 0);
	return last && messageKey(last);
}

function keysOf(blocks: readonly Block[]): string[] {
	return blocks.map(({ key }) => key);
}

function noteQuietly(memory: Memory, conversation: string, note: Note): void {
	try {
		memory.note(conversation, note);
	} catch {
		memory.noteLater(conversation, note);
	}
}
