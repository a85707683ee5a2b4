import type { PairedResult } from "../../engine/conversation/turns.ts";
import { uncleared } from "./clearing.ts";
import { withoutNote } from "./clearing-note.ts";
import type { Composed, Variant, Variants } from "./composed.ts";
import type { Decided } from "./decide.ts";
import type { LeftOutReasoning } from "./left-out-reasoning.ts";
import type { Memory } from "./memory.ts";
import type { Note } from "./notes.ts";
import { type Block, dropBlocks, keysOf } from "./reasoning.ts";
import type { HostRequest, OpenedConversation } from "./request.ts";
import type { ResultState } from "./states.ts";
import type { Swap } from "./swap.ts";

/**
 * Requests of a conversation without another decision: after one that was refused, and after the next one if that is refused, too.
 * Some refusals come and go.
 */
const frozenFor = { once: 1, again: 20 };

/** The forms of a request to send when the provider has refused it. What it takes is noted, so that later requests are like it. */
export function otherForms<Written>(
	composed: Omit<Composed<Written>, "variants">,
	about: {
		readonly opened: OpenedConversation;
		readonly request: HostRequest<Written>;
		readonly memory: Memory;
		readonly decided: Decided;
		readonly reasoning: LeftOutReasoning;
		readonly write: (
			stateOf: (place: number) => ResultState | undefined,
			left: readonly Block[],
			drops?: ReturnType<typeof dropBlocks.edit>,
			/** Null: with the host's own messages. */
			swap?: Swap | null,
		) => Written | undefined;
	},
): Variants<Written> {
	const { opened, request, memory, reasoning, write } = about;
	const { remembered, paired, keys } = opened;
	const { known, fresh, began } = about.decided;
	const { number, leftOut: out } = composed;
	const { body, decides } = request;
	const stateOf = (place: number) => fresh.get(place) ?? known[place];
	let invalid: readonly Block[] | undefined;

	const variant = (
		written: Written | undefined,
		left: readonly Block[],
		note: Omit<Note, "number">,
	): Variant<Written> => ({
		...composed,
		written,
		leftOut: left,
		asksToDrop: composed.asksToDrop || note.dropsBlocks === true,
		accepted: () => noteQuietly(memory, opened, { number, ...note }),
	});
	// A request that only counts tokens leaves nothing out of those after it.
	const noteLeftOut = (left: readonly Block[]): Omit<Note, "number"> => ({
		leftOut: decides ? keysOf(left) : undefined,
		isEnforced: true,
	});
	const noteStates = (to: (place: number) => ResultState | undefined) =>
		Array.from(fresh.keys(), (place) => {
			return { key: keys[place] as string, result: (paired[place] as PairedResult).result, state: to(place) };
		});
	const isRefusedAgain = () => {
		const { refusedAt } = remembered;
		const kinds = new Set(Array.from(fresh.values(), ({ kind }) => kind));
		return refusedAt > 0 && !known.some((state) => state && kinds.has(state.kind) && state.since > refusedAt);
	};
	const frozenUntil = number + (isRefusedAgain() ? frozenFor.again : frozenFor.once);
	const nothing = { decided: new Set<number>(), why: undefined };
	return {
		withoutInvalid() {
			invalid = reasoning.invalid(stateOf, reasoning.all());
			if (invalid.length === out.length) return undefined;
			return variant(write(stateOf, invalid), invalid, noteLeftOut(invalid));
		},
		dropping() {
			const drop = composed.asksToDrop || !request.takesBetas ? undefined : dropBlocks.edit(body);
			const left = invalid ?? reasoning.invalid(stateOf);
			return drop && variant(write(stateOf, left, drop), left, { ...noteLeftOut(left), dropsBlocks: true });
		},
		withoutReasoning() {
			const all = reasoning.all();
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
			const note = { ...(decides ? { states: noteStates(sent) } : {}), refusesClearing: true } as const;
			const states = paired.map((_, place) => sent(place));
			return { ...variant(write(sent, out), out, note), states, asksToClear: false, why: undefined };
		},
		withoutBlock() {
			if (!composed.block) return undefined;
			const written = write(stateOf, out, undefined, null);
			return { ...variant(written, out, { refusesBlocks: true }), block: undefined };
		},
		earlier() {
			if (fresh.size === 0) return undefined;
			const before = (place: number) => known[place];
			const left = reasoning.leftOut(reasoning.invalid(before));
			const stays = new Set(keysOf(left));
			// A result that was refused cut is sent whole.
			const states = noteStates((place) => known[place] ?? { ...began, kind: "whole", values: new Map() });
			const putBack = keysOf(out).filter((key) => !stays.has(key));
			// A request that only counts tokens has noted nothing.
			const note = decides ? { states, putBack, frozenUntil } : {};
			const asksToClear = known.some((state) => state?.kind === "cleared");
			return { ...variant(write(before, left), left, note), ...nothing, states: [...known], asksToClear };
		},
		own() {
			if (composed.written === undefined) return undefined;
			const states = known.map(() => undefined);
			return {
				...variant(undefined, [], { frozenUntil }),
				...nothing,
				states,
				asksToDrop: false,
				asksToClear: false,
				block: undefined,
				isDiagnosed: false,
			};
		},
	};
}

async function noteQuietly(
	memory: Memory,
	{ conversation, wait }: Pick<OpenedConversation, "conversation" | "wait">,
	note: Note,
): Promise<void> {
	try {
		await memory.note(conversation, note, wait);
	} catch {
		memory.noteLater(conversation, note);
	}
}
