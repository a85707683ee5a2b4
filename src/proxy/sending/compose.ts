import { once } from "../../engine/conversation/lists.ts";
import type { Message } from "../../engine/conversation/transcript.ts";
import { objectOf } from "../../formats/json-text/value.ts";
import { contextManagement } from "./clearing.ts";
import type { Composed } from "./composed.ts";
import { type Decided, decideStates } from "./decide.ts";
import { changesOf } from "./decisions.ts";
import type { Branch, Histories } from "./histories.ts";
import { messageKey } from "./identity.ts";
import { type LeftOutReasoning, readReasoning } from "./left-out-reasoning.ts";
import type { Note, StateChange } from "./notes.ts";
import { otherForms } from "./other-forms.ts";
import { type Block, dropBlocks, keysOf, removals } from "./reasoning.ts";
import type { HostRequest, OpenedConversation, Shared, WrittenEdit } from "./request.ts";
import { charsSent, type ResultState } from "./states.ts";
import { workingEdits } from "./working-hint.ts";

/**
 * Puts the known states in, cuts the results that are new, and applies the decisions that are ready. Waits for nothing.
 * New states are noted before they are sent, so that every process sends the same.
 */
export function compose<Written>(
	opened: OpenedConversation,
	request: HostRequest<Written>,
	shared: Shared & { readonly onError: (error: unknown) => void },
): Composed<Written> {
	const { transcript, conversation, remembered, paired, keys, isHeldOut } = opened;
	const { body, decides } = request;
	const reasoning = readReasoning(opened, request, shared.policy);
	let decided = decideStates(opened, request, shared);
	const stateOf = (place: number) => decided.fresh.get(place) ?? decided.known[place];
	let out = reasoning.leftOut(reasoning.invalid(stateOf));
	if (decides && !isHeldOut && !isNoted(opened, { request, shared, decided, reasoning, out })) {
		// The disk is full, for example: known states are sent, and nothing new is decided.
		decided = { ...decided, fresh: new Map(), why: undefined, asked: new Set(), noDecision: "memory" };
		out = reasoning.leftOut(reasoning.invalid(stateOf));
		const about = { request, decided, reasoning, out };
		shared.memory.noteLater(conversation, noteOf(opened, about, changed(decided, opened, shared)));
	}
	if (decides && !isHeldOut) shared.memory.called(conversation);

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
	const { histories, memory } = shared;
	const composed: Omit<Composed<Written>, "variants"> = {
		number: decided.began.since,
		written: write(stateOf, out),
		states: paired.map((_, place) => stateOf(place)),
		decided: new Set(decided.fresh.keys()),
		asked: decided.asked,
		why: decided.why,
		noDecision: decided.noDecision ?? unplannedOf(opened, histories),
		leftOut: out,
		charsSent: once(() => charsSent(transcript, paired, stateOf)),
		asksToDrop: drops !== undefined,
		asksToClear: paired.some((_, place) => stateOf(place)?.kind === "cleared"),
		branch: decides
			? histories.keep(conversation, { transcript, paired, keys, ...writtenBefore }, opened.branch)
			: undefined,
	};
	return { ...composed, variants: otherForms(composed, { opened, request, memory, decided, reasoning, write }) };
}

interface Noting {
	readonly request: HostRequest<unknown>;
	readonly decided: Decided;
	readonly reasoning: LeftOutReasoning;
	readonly out: readonly Block[];
}

/** Notes a request with the states that begin with it; tells whether that could be written. */
function isNoted(opened: OpenedConversation, about: Noting & { readonly shared: Shared }): boolean {
	const { conversation, remembered, isCold } = opened;
	const { shared, reasoning } = about;
	const { memory } = shared;
	const changes = changed(about.decided, opened, shared);
	// The first tells other processes that the conversation has been here. Where nothing hangs on a later one, it is counted
	// by this process alone.
	const isFrozen = remembered.requests + 1 <= remembered.frozenUntil;
	const isFirst = remembered.messages === 0;
	const isCounted = isFirst || reasoning.tracks || isCold || isFrozen || remembered.unwritten.length > 0;
	try {
		if (isCounted || changes.length > 0) memory.note(conversation, noteOf(opened, about, changes));
		else memory.noteHere(conversation, noteOf(opened, about, []));
		return true;
	} catch {
		return false;
	}
}

function changed({ known, overtaken, fresh, began }: Decided, opened: OpenedConversation, { policy }: Shared) {
	const { remembered } = opened;
	return changesOf(new Map([...overtaken, ...fresh]), opened, { known, remembered, policy, began });
}

function noteOf(
	{ transcript, remembered, isCold }: OpenedConversation,
	{ request, decided, reasoning, out }: Noting,
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
