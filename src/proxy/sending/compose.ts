import { once } from "../../engine/conversation/lists.ts";
import type { Message } from "../../engine/conversation/transcript.ts";
import { objectOf } from "../../formats/json-text/value.ts";
import type { Branch } from "./branch.ts";
import { contextManagement } from "./clearing.ts";
import type { Composed } from "./composed.ts";
import { type Decided, decideStates } from "./decide.ts";
import { changesOf, unsentPlaces } from "./decisions.ts";
import type { Histories } from "./histories.ts";
import { messageKey } from "./identity.ts";
import { type LeftOutReasoning, readReasoning } from "./left-out-reasoning.ts";
import type { Note, StateChange } from "./notes.ts";
import { otherForms } from "./other-forms.ts";
import { type Block, dropBlocks, keysOf, removals } from "./reasoning.ts";
import type { HostRequest, OpenedConversation, Shared, WrittenEdit } from "./request.ts";
import { charsSent, type ResultState } from "./states.ts";
import { type Swap, swapFor, withSwap } from "./swap.ts";
import { workingEdits } from "./working-hint.ts";

/**
 * Puts the known states in, cuts the results that are new, and applies the decisions that are ready. Waits for the journal alone.
 * New states are noted before they are sent, so that every process sends the same.
 */
export async function compose<Written>(
	opened: OpenedConversation,
	request: HostRequest<Written>,
	shared: Deciding,
): Promise<Composed<Written>> {
	const { transcript, conversation, paired, keys } = opened;
	const { body, decides } = request;
	const { memory, histories } = shared;
	// Before it is noted: a new conversation has forgotten nothing.
	const unplanned = unplannedOf(opened, histories);
	const { decided, reasoning, out } = await memory.inTurn(conversation, async () => {
		opened.remembered = await memory.renewed(conversation, opened.remembered, opened.wait);
		return decideAndNote(opened, request, shared);
	});
	if (decides && !opened.isHeldOut) memory.called(conversation);
	const stateOf = (place: number) => decided.fresh.get(place) ?? decided.known[place];
	const { remembered, isHeldOut } = opened;
	const swap = isHeldOut ? undefined : await noteCarrier(swapFor(request, remembered), opened, { request, memory });
	const drops = remembered.dropsBlocks && request.takesBetas ? dropBlocks.edit(body) : undefined;
	const writtenBefore: Pick<Branch, "writtenText"> = { writtenText: opened.branch?.writtenText };
	const members = decides && !isHeldOut ? request.membersFor?.(conversation) : undefined;
	const write = (
		stateAt: (place: number) => ResultState | undefined,
		left: readonly Block[],
		drop = drops,
		swapped: Swap | null | undefined = swap,
	) => {
		const clearing = contextManagement(body, paired, stateAt);
		const isThere = objectOf(body).context_management !== undefined;
		const own: WrittenEdit[] = paired.flatMap(({ result }, place) => {
			const state = stateAt(place);
			return state ? workingEdits(state, result, request.recallWays) : [];
		});
		own.push(...removals(body, left), ...(drop ? [drop] : []));
		const edits = [...withSwap(own, body, swapped)];
		if (clearing && isThere) edits.push({ kind: "replace", path: ["context_management"], replacement: clearing });
		const added = clearing && !isThere ? { ...members, context_management: clearing } : members;
		return edits.length === 0 && !added ? undefined : request.write(edits, writtenBefore, added);
	};
	const composed: Omit<Composed<Written>, "variants"> = {
		number: decided.began.since,
		written: write(stateOf, out),
		states: paired.map((_, place) => stateOf(place)),
		decided: new Set(decided.fresh.keys()),
		asked: decided.asked,
		why: decided.why,
		noDecision: decided.noDecision ?? unplanned,
		leftOut: out,
		charsSent: once(() => charsSent(transcript, paired, stateOf)),
		asksToDrop: drops !== undefined,
		asksToClear: paired.some((_, place) => stateOf(place)?.kind === "cleared"),
		block: swap?.block,
		isDiagnosed: members !== undefined,
		branch: decides
			? histories.keep(conversation, { transcript, paired, keys, ...writtenBefore }, opened.branch)
			: undefined,
	};
	return { ...composed, variants: otherForms(composed, { opened, request, memory, decided, reasoning, write }) };
}

type Deciding = Shared & { readonly onError: (error: unknown) => void };

/**
 * Notes the message that carries what the block lacks. If it cannot be noted, the block is sent without that message. The first
 * process that notes one wins.
 */
async function noteCarrier(
	swap: Swap | undefined,
	{ conversation, remembered, wait }: OpenedConversation,
	{ request, memory }: { readonly request: HostRequest<unknown>; readonly memory: Shared["memory"] },
): Promise<Swap | undefined> {
	if (!swap?.isNew) return swap;
	try {
		await memory.note(conversation, { number: remembered.requests, carrier: swap.isNew }, wait);
		return swapFor(request, await memory.renewed(conversation, remembered, wait));
	} catch {
		return { ...swap, carried: swap.carried.slice(0, -1) };
	}
}

interface Noting {
	readonly decided: Decided;
	readonly reasoning: LeftOutReasoning;
	/** Reasoning that is left out. */
	readonly out: readonly Block[];
}

/** Decisions that others have overtaken are made again so many times. */
const mostTries = 3;

async function decideAndNote(
	opened: OpenedConversation,
	request: HostRequest<unknown>,
	shared: Deciding,
): Promise<Noting> {
	const { conversation, isHeldOut } = opened;
	const { memory } = shared;
	const leftOut = (reasoning: LeftOutReasoning, { fresh, known }: Decided) =>
		reasoning.leftOut(reasoning.invalid((place) => fresh.get(place) ?? known[place]));
	let mayDecide = true;
	for (let tries = 1; ; tries += 1) {
		const reasoning = readReasoning(opened, request, shared.policy);
		const decided = decideStates(opened, request, shared);
		const about: Noting = { decided, reasoning, out: leftOut(reasoning, decided) };
		if (!request.decides || isHeldOut) return about;
		if (mayDecide) {
			const outcome = await noteOnce(opened, request, { ...about, shared });
			if (outcome === "noted") return about;
			// Another request has decided on one of its results: that is sent.
			opened.remembered = await memory.renewed(conversation, opened.remembered, opened.wait);
			mayDecide = outcome === "overtaken" && tries < mostTries;
			continue;
		}
		// The disk is full, for example: known states are sent, and nothing new is decided.
		const none = { fresh: new Map(), why: undefined, asked: new Set<number>(), noDecision: "memory" } as const;
		const nothing: Decided = { ...decided, ...none };
		const sent: Noting = { decided: nothing, reasoning, out: leftOut(reasoning, nothing) };
		const left = unsentPlaces(opened).filter((place) => decided.fresh.has(place) && !decided.known[place]);
		const whole = left.map((place) => [place, { ...decided.began, kind: "whole", values: new Map() }] as const);
		const noted = changed({ ...nothing, fresh: new Map(whole) }, opened, shared);
		memory.noteLater(conversation, noteOf(opened, request, sent, noted));
		return sent;
	}
}

/** Notes a request with the states that begin with it. */
async function noteOnce(
	opened: OpenedConversation,
	request: HostRequest<unknown>,
	about: Noting & { readonly shared: Shared },
): Promise<"noted" | "overtaken" | "failed"> {
	const { conversation, remembered, isCold, wait } = opened;
	const { shared, reasoning } = about;
	const { memory } = shared;
	const changes = changed(about.decided, opened, shared);
	// The first tells other processes that the conversation has been here. Where nothing hangs on a later one, it is counted
	// by this process alone.
	const isFrozen = remembered.requests + 1 <= remembered.frozenUntil;
	const isFirst = remembered.messages === 0;
	const isCounted = isFirst || reasoning.tracks || isCold || isFrozen || remembered.unwritten.length > 0;
	try {
		if (isCounted || changes.length > 0)
			return await memory.note(conversation, noteOf(opened, request, about, changes), wait);
		memory.noteHere(conversation, noteOf(opened, request, about, []));
		return "noted";
	} catch {
		return "failed";
	}
}

function changed({ known, overtaken, fresh, began }: Decided, opened: OpenedConversation, { policy }: Shared) {
	const { remembered } = opened;
	return changesOf(new Map([...overtaken, ...fresh]), opened, { known, remembered, policy, began });
}

function noteOf(
	{ transcript, remembered, isCold }: OpenedConversation,
	request: HostRequest<unknown>,
	{ decided, reasoning, out }: Noting,
	states: readonly StateChange[],
): Note {
	const { tracks, blocks } = reasoning;
	const { messages } = transcript;
	return {
		number: decided.began.since,
		model: request.model,
		messages: messages.length,
		isCold,
		states,
		produced: blocks.filter(({ key }) => !remembered.produced.has(key)).map((block) => [block.key, block.produced]),
		leftOut: keysOf(out),
		ending: tracks ? endingOf(messages) : undefined,
	};
}

/** Why the request before this one is not planned on. */
function unplannedOf({ branch, conversation, remembered }: OpenedConversation, histories: Histories) {
	if (branch || remembered.messages === 0) return branch?.unplanned;
	return histories.mayBeForgotten(conversation) ? "busy" : undefined;
}

/** Names the end of a request, which the answer follows. */
function endingOf(messages: readonly Message[]): string | undefined {
	const last = messages.findLast(({ role, results }) => role !== "assistant" || results.length > 0);
	return last && messageKey(last);
}
