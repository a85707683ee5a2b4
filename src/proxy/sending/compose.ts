import { once } from "../../engine/conversation/lists.ts";
import type { Message } from "../../engine/conversation/transcript.ts";
import type { PairedResult } from "../../engine/conversation/turns.ts";
import type { Policy } from "../../engine/policy/schema.ts";
import { objectOf } from "../../formats/json-text/value.ts";
import { reasoningBinding } from "../../formats/tokens/reasoning-binding.ts";
import { clearingFor, contextManagement, mayClear, uncleared } from "./clearing.ts";
import { addClearingNote, withoutNote } from "./clearing-note.ts";
import {
	addHint,
	arrivalsOf,
	arrivingPlaces,
	changesOf,
	choose,
	knownStates,
	type NoDecision,
	reasonAgainst,
	type Why,
} from "./decisions.ts";
import { type Branch, type Histories, messagesOf, settledLength } from "./histories.ts";
import { messageKey } from "./identity.ts";
import type { Memory } from "./memory.ts";
import { mendRepeats } from "./mend-repeats.ts";
import type { Note, StateChange } from "./notes.ts";
import { asksForCheck, type Block, blocksLeftOut, boundBlocks, dropBlocks, removals } from "./reasoning.ts";
import type { HostRequest, OpenedConversation, Shared, WrittenEdit } from "./request.ts";
import { charsSent, isShortened, type ResultState } from "./states.ts";
import { workingEdits } from "./working-hint.ts";

export interface Composed<Written> {
	readonly number: number;
	/** `undefined` if it is sent as the host sent it. */
	readonly written: Written | undefined;
	/** By place, how each result is sent. */
	readonly states: readonly (ResultState | undefined)[];
	/** Places whose state begins with this request. */
	readonly decided: ReadonlySet<number>;
	/** The results among them that are masked since the agent asked for it. */
	readonly asked: ReadonlySet<number>;
	readonly why: Why | undefined;
	readonly noDecision: NoDecision | undefined;
	readonly leftOut: readonly Block[];
	/** `undefined` for a request that only counts tokens. */
	readonly branch: Branch | undefined;
	readonly charsSent: () => number;
	/** Whether the request asks the API to leave out invalid reasoning. */
	readonly asksToDrop: boolean;
	/** Whether it asks the API to clear results. */
	readonly asksToClear: boolean;
	readonly variants: Variants<Written>;
}

/** Another form of a request, for one that the provider has refused. */
export interface Variant<Written> extends Omit<Composed<Written>, "variants"> {
	/** Notes that the provider took it. */
	readonly accepted: () => void;
}

interface Variants<Written> {
	/** Without the reasoning that no longer fits; `undefined` if none is in it. */
	readonly withoutInvalid: () => Variant<Written> | undefined;
	/** The API leaves out reasoning that no longer fits; `undefined` if the request cannot ask for that. */
	readonly dropping: () => Variant<Written> | undefined;
	readonly withoutReasoning: () => Variant<Written> | undefined;
	/** The provider clears nothing, now and in later requests; `undefined` if it was not asked to. */
	readonly withoutClearing: () => Variant<Written> | undefined;
	/** Without the decisions of this request, which are then taken back; `undefined` if there are none. */
	readonly earlier: () => Variant<Written> | undefined;
	/** As the host sent it. */
	readonly own: () => Variant<Written> | undefined;
}

/**
 * Requests of a conversation without another decision: after one that was refused, and after the next one if that is refused, too.
 * Some refusals come and go.
 */
const frozenFor = { once: 1, again: 20 };

/**
 * Puts the known states in, cuts the results that are new, and applies the decisions that are ready. Waits for nothing.
 * New states are noted before they are sent, so that every process sends the same.
 */
export function compose<Written>(
	opened: OpenedConversation,
	request: HostRequest<Written>,
	shared: Shared & { readonly onError: (error: unknown) => void },
): Composed<Written> {
	const { transcript, conversation, remembered, paired, keys, isCold, isHeldOut } = opened;
	const { policy, memory, histories } = shared;
	const { body, decides } = request;
	const number = remembered.requests + 1;
	const leftOutBefore = new Map(remembered.leftOut);
	const { messages } = transcript;
	const began = { since: number, at: messages.length, changed: 0 };
	const remain = isHeldOut ? keys.map(() => undefined) : knownStates(opened, remembered, memory);
	const before = mayClear(request, remembered) ? remain : remain.map(uncleared);
	const mend = (stateAt: (place: number) => ResultState | undefined) =>
		isHeldOut
			? new Map<number, ResultState>()
			: mendRepeats(opened, { ...shared, ...request, stateOf: stateAt, began });
	/** States that the host's history or another process has overtaken. */
	const overtaken = mend((place) => before[place]);
	const known = overtaken.size === 0 ? before : before.map((state, place) => overtaken.get(place) ?? state);

	let noDecision = reasonAgainst(opened, number <= remembered.frozenUntil, shared);
	const fresh = new Map<number, ResultState>();
	let why: Why | undefined;
	let asked: ReadonlySet<number> = new Set();
	if (noDecision === undefined) {
		try {
			const chosen = decide(fresh, opened, { request, shared, known, began });
			if (chosen) ({ why, asked } = chosen);
			for (const [place, state] of mend((place) => fresh.get(place) ?? known[place])) fresh.set(place, state);
		} catch (error) {
			noDecision = "failed";
			fresh.clear();
			shared.onError(error);
		}
	}
	const stateOf = (place: number) => fresh.get(place) ?? known[place];
	const changed = () => changesOf(new Map([...overtaken, ...fresh]), opened, { known, remembered, policy, began });

	const tracks = !isHeldOut && (remembered.isEnforced || tracksReasoning(request, policy));
	const allBlocks = once(() => boundBlocks(body, transcript, remembered));
	const blocks = tracks ? allBlocks() : [];
	const invalidAmong = (among: readonly Block[], stateAt: (place: number) => ResultState | undefined): Block[] => {
		if (among.length === 0) return [];
		const changes = paired.flatMap(({ result, message }, place) => {
			const { changed = 0, kind } = stateAt(place) ?? {};
			// A result that the provider clears is still sent whole.
			if (kind === "cleared") return [];
			const path = changed > 0 ? (result.whole ?? result.texts[0] ?? result.media[0])?.path : undefined;
			return path ? [{ message, path, changed }] : [];
		});
		return blocksLeftOut({ blocks: among, changes, leftOut: leftOutBefore, number, model: request.model });
	};
	const leavesOut = remembered.isEnforced || leavesInvalidOut(request, policy);
	const chosenOut = (invalid: readonly Block[]) =>
		leavesOut ? invalid : invalid.filter(({ key }) => leftOutBefore.has(key));
	let invalid = invalidAmong(blocks, stateOf);
	let out = chosenOut(invalid);

	if (decides && !isHeldOut) {
		const noteOf = (states: readonly StateChange[]): Note => ({
			number,
			model: request.model,
			messages: messages.length,
			isCold,
			states,
			produced: blocks.filter(({ key }) => !remembered.produced.has(key)).map((block) => [block.key, block.produced]),
			leftOut: keysOf(out),
			ending: tracks ? endingOf(messages) : undefined,
		});
		const changes = changed();
		try {
			// The first tells other processes that the conversation has been here. Where nothing hangs on a later one, it is counted
			// by this process alone.
			const isFirst = remembered.messages === 0;
			const isCounted =
				isFirst || tracks || isCold || number <= remembered.frozenUntil || remembered.unwritten.length > 0;
			if (isCounted || changes.length > 0) memory.note(conversation, noteOf(changes));
			else memory.noteHere(conversation, noteOf([]));
		} catch {
			// The disk is full, for example: known states are sent, and nothing new is decided.
			noDecision = "memory";
			fresh.clear();
			why = undefined;
			invalid = invalidAmong(blocks, stateOf);
			out = chosenOut(invalid);
			memory.noteLater(conversation, noteOf(changed()));
		}
		memory.called(conversation);
	}

	const drops = remembered.dropsBlocks && request.takesBetas ? dropBlocks.edit(body) : undefined;
	const writtenBefore: Pick<Branch, "writtenText"> = { writtenText: opened.branch?.writtenText };
	const write = (stateAt: (place: number) => ResultState | undefined, left: readonly Block[], drop = drops) => {
		const clearing = contextManagement(body, paired, stateAt);
		const isThere = objectOf(body).context_management !== undefined;
		const edits: WrittenEdit[] = paired.flatMap(({ result }, place) => {
			const state = stateAt(place);
			return state ? workingEdits(state, result, request.recallWays) : [];
		});
		edits.push(...removals(body, left), ...(drop ? [drop] : []));
		if (clearing && isThere) edits.push({ kind: "replace", path: ["context_management"], replacement: clearing });
		if (clearing && !isThere) return request.write(edits, writtenBefore, { context_management: clearing });
		return edits.length === 0 ? undefined : request.write(edits, writtenBefore);
	};
	const clears = (stateAt: (place: number) => ResultState | undefined) =>
		paired.some((_, place) => stateAt(place)?.kind === "cleared");
	const composed: Omit<Composed<Written>, "variants"> = {
		number,
		written: write(stateOf, out),
		states: paired.map((_, place) => stateOf(place)),
		decided: new Set(fresh.keys()),
		asked,
		why,
		noDecision: noDecision ?? unplannedOf(opened, histories),
		leftOut: out,
		charsSent: once(() => charsSent(transcript, paired, stateOf)),
		asksToDrop: drops !== undefined,
		asksToClear: clears(stateOf),
		branch: decides
			? histories.keep(conversation, { transcript, paired, keys, ...writtenBefore }, opened.branch)
			: undefined,
	};
	// A request that only counts tokens leaves nothing out of those after it.
	const noteLeftOut = (left: readonly Block[]): Omit<Note, "number"> => ({
		leftOut: decides ? keysOf(left) : undefined,
		isEnforced: true,
	});
	const variant = (
		written: Written | undefined,
		left: readonly Block[],
		note: Omit<Note, "number">,
	): Variant<Written> => ({
		...composed,
		written,
		leftOut: left,
		asksToDrop: composed.asksToDrop || note.dropsBlocks === true,
		accepted: () => noteQuietly(memory, conversation, { number, ...note }),
	});
	const isRefusedAgain = () => {
		const { refusedAt } = remembered;
		const kinds = new Set(Array.from(fresh.values(), ({ kind }) => kind));
		return refusedAt > 0 && !known.some((state) => state && kinds.has(state.kind) && state.since > refusedAt);
	};
	const frozenUntil = number + (isRefusedAgain() ? frozenFor.again : frozenFor.once);
	return {
		...composed,
		variants: {
			withoutInvalid() {
				invalid = invalidAmong(allBlocks(), stateOf);
				if (invalid.length === out.length) return undefined;
				return variant(write(stateOf, invalid), invalid, noteLeftOut(invalid));
			},
			dropping() {
				const drop = drops || !request.takesBetas ? undefined : dropBlocks.edit(body);
				const note = { ...noteLeftOut(invalid), dropsBlocks: true } as const;
				return drop && variant(write(stateOf, invalid, drop), invalid, note);
			},
			withoutReasoning() {
				const all = allBlocks();
				return all.length === 0 ? undefined : variant(write(stateOf, all), all, noteLeftOut(all));
			},
			withoutClearing() {
				if (!composed.asksToClear) return undefined;
				const sent = (place: number) => {
					const state = stateOf(place);
					// The note of this request names what is cleared.
					const isNote = state?.kind === "noted" && fresh.has(place);
					return isNote ? withoutNote(state) : uncleared(state);
				};
				const states = Array.from(fresh.keys(), (place) => {
					return { key: keys[place] as string, result: (paired[place] as PairedResult).result, state: sent(place) };
				});
				const note = { ...(decides ? { states } : {}), refusesClearing: true } as const;
				const unclear = { states: paired.map((_, place) => sent(place)), asksToClear: false, why: undefined };
				return { ...variant(write(sent, out), out, note), ...unclear };
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
				const note = decides ? { states, putBack, frozenUntil } : {};
				const earlier = { states: [...known], decided: new Set<number>(), why: undefined, asksToClear: clears(before) };
				return { ...variant(write(before, left), left, note), ...earlier };
			},
			own() {
				if (composed.written === undefined) return undefined;
				const sent = { states: known.map(() => undefined), decided: new Set<number>(), why: undefined };
				return {
					...variant(undefined, [], { frozenUntil }),
					...sent,
					asksToDrop: false,
					asksToClear: false,
				};
			},
		},
	};
}

/** Adds the states that begin with this request to `fresh`. Returns the decisions among them. */
function decide(
	fresh: Map<number, ResultState>,
	opened: OpenedConversation,
	about: {
		readonly request: HostRequest<unknown>;
		readonly shared: Shared;
		readonly known: readonly (ResultState | undefined)[];
		readonly began: Pick<ResultState, "since" | "at" | "changed">;
	},
): ReturnType<typeof choose> {
	const { request, shared, known, began } = about;
	const { remembered, paired, isCold, branch, transcript } = opened;
	const { recall, decides, terms } = request;
	if (!decides) return undefined;
	const arrivals = arrivalsOf(opened, arrivingPlaces(opened, known), { ...shared, recall, repeats: opened.repeats });
	for (const [place, arrival] of arrivals) fresh.set(place, { ...began, ...arrival });
	for (const [place, answer] of opened.answers ?? []) {
		const value = paired[place]?.result.whole?.write(answer);
		if (value !== undefined)
			fresh.set(place, { ...began, kind: "answered", values: new Map([["whole", () => value]]) });
	}
	const clearing = clearingFor(request, shared.policy, remembered);
	// A program that asks again after a failure gets the same edits: the provider's cache may hold them.
	const isAgain = branch?.wasRefused === true && messagesOf(branch) === settledLength(transcript) && !isCold;
	const mayChoose = !isAgain && clearing !== "refused";
	const chosen = mayChoose ? choose(opened, known, { remembered, terms, clearing }) : undefined;
	for (const [place, { kind, values, ref }] of chosen?.decisions ?? []) {
		const before = known[place];
		const cut = before && isShortened(before) ? before.values : before?.cut;
		const sources = kind === "cleared" ? before?.sources : undefined;
		fresh.set(place, {
			...began,
			kind,
			changed: began.since,
			values,
			ref,
			...(cut ? { cut } : {}),
			...(sources ? { sources } : {}),
		});
	}
	if (recall) addClearingNote(opened, { known, fresh, recall, policy: shared.policy, began });
	const { policy } = shared;
	if (recall) addHint(opened, { known, fresh, recall, ways: request.recallWays, policy, number: began.since });
	return chosen;
}

/** Why the request before this one is not planned on. */
function unplannedOf({ branch, conversation, remembered }: OpenedConversation, histories: Histories) {
	if (branch || remembered.messages === 0) return branch?.unplanned;
	return histories.mayBeForgotten(conversation) ? "busy" : undefined;
}

/** Whether the API may refuse reasoning whose beginning was edited. */
function tracksReasoning({ model, body }: HostRequest<unknown>, { thinking }: Policy): boolean {
	return thinking === "strip_after_edit" || asksForCheck(body) || reasoningBinding(model) !== "none";
}

/**
 * Whether invalid reasoning is left out before anybody has refused it. Where only some accounts are checked, it is left
 * in until this one has refused it.
 */
function leavesInvalidOut({ model, body, isEnforced }: HostRequest<unknown>, { thinking }: Policy): boolean {
	if (thinking !== "auto") return thinking === "strip_after_edit";
	const binding = reasoningBinding(model);
	return asksForCheck(body) || binding === "all_accounts" || (isEnforced && binding === "some_accounts");
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
