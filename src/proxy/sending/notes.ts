import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import type { ToolResult } from "../../engine/conversation/transcript.ts";
import { listOf, objectsOf, stringAt } from "../../formats/json-text/value.ts";
import { type BlockNote, type CarrierNote, readBlockNote, readCarrierNote } from "./block-notes.ts";
import { decodedChars, decodeValues, encodeValues, type ResultState } from "./states.ts";

/** The notes that a request adds. */
export interface Note {
	/** The number of the request. */
	readonly number: number;
	/** The place in the journal up to which its writer had read. Absent: the note holds whatever came before it. */
	readonly seen?: number | undefined;
	readonly model?: string | undefined;
	readonly messages?: number | undefined;
	readonly isCold?: boolean | undefined;
	/** With the result, whose text the encoded values refer to. `undefined` for the state before: none is known. */
	readonly states?: readonly StateChange[] | undefined;
	readonly produced?: readonly (readonly [string, number])[] | undefined;
	readonly leftOut?: readonly string[] | undefined;
	/** Reasoning that was left out by a request that the provider has refused. */
	readonly putBack?: readonly string[] | undefined;
	readonly ending?: string | undefined;
	readonly frozenUntil?: number | undefined;
	readonly isEnforced?: true | undefined;
	readonly dropsBlocks?: true | undefined;
	readonly refusesClearing?: true | undefined;
	/** A summary of the provider, and the message that takes what it lacks. */
	readonly block?: BlockNote | undefined;
	readonly carrier?: CarrierNote | undefined;
	/** The provider has written none, or has refused one. */
	readonly refusesBlocks?: true | undefined;
}

export interface StateChange {
	readonly key: string;
	readonly result: ToolResult;
	/** `undefined` takes the state back that a refused request began. */
	readonly state: ResultState | undefined;
}

/** Of the lines that this version writes. A reader ignores what it does not know in those of any version. */
const version = 1;

/** The line of a note in the journal of its conversation. States that hold text that may not be stored are left out. */
export function lineOf(note: Note, { isStorable }: { readonly isStorable: (text: string) => boolean }): string {
	const { number, model, messages, isCold, states = [], produced, leftOut, putBack, ending } = note;
	const encoded = states.flatMap(({ key, result, state }) => {
		const written = state ? encodeState(state, result) : null;
		return isStorable(JSON.stringify(written)) ? [[key, written]] : [];
	});
	return JSON.stringify({
		version,
		number,
		seen: note.seen,
		model,
		messages,
		cold: isCold || undefined,
		states: encoded.length > 0 ? encoded : undefined,
		produced: produced?.length ? produced : undefined,
		left_out: leftOut?.length ? leftOut : undefined,
		put_back: putBack?.length ? putBack : undefined,
		ending,
		frozen_until: note.frozenUntil,
		enforced: note.isEnforced,
		drops_blocks: note.dropsBlocks,
		refuses_clearing: note.refusesClearing,
		block: note.block && isStorable(JSON.stringify(note.block)) ? note.block : undefined,
		carrier: note.carrier,
		refuses_blocks: note.refusesBlocks,
	});
}

function encodeState({ values, cut, ...state }: ResultState, result: ToolResult): JsonObject {
	return { ...state, values: encodeValues(values, result), ...(cut ? { cut: encodeValues(cut, result) } : {}) };
}

/** Reads a line; `undefined` for one that was cut off by a crash. Members of newer versions are ignored. */
export function readLine(line: string) {
	let read: unknown;
	try {
		read = JSON.parse(line);
	} catch {
		return undefined;
	}
	if (!isJsonObject(read)) return undefined;
	const { number, messages, cold, states, produced, left_out, put_back, ending, frozen_until } = read;
	const note: Omit<Note, "states"> = {
		number: numberOf(number) ?? 0,
		seen: numberOf(read.seen),
		model: stringAt(read, "model"),
		messages: numberOf(messages),
		isCold: cold === true,
		produced: pairsIn(produced).flatMap(([key, value]) => (typeof value === "number" ? [[key, value] as const] : [])),
		leftOut: stringsIn(left_out),
		putBack: stringsIn(put_back),
		ending: typeof ending === "string" ? ending : undefined,
		frozenUntil: numberOf(frozen_until),
		...(read.enforced === true ? { isEnforced: true } : {}),
		...(read.drops_blocks === true ? { dropsBlocks: true } : {}),
		...(read.refuses_clearing === true ? { refusesClearing: true } : {}),
		block: readBlockNote(read.block),
		carrier: readCarrierNote(read.carrier),
		...(read.refuses_blocks === true ? { refusesBlocks: true } : {}),
	};
	const decoded = pairsIn(states).flatMap(([key, value]) => {
		const state = decodeState(value);
		return state || value === null ? [[key, state] as const] : [];
	});
	/** Characters that it takes in memory, once its values are read. */
	const chars = line.length + decodedChars(states);
	return { note, states: decoded, chars };
}

const stateKinds = ["whole", "cut", "repeat", "noted", "answered", "masked", "cleared"] as const;

function decodeState(value: unknown): ResultState | undefined {
	if (!isJsonObject(value)) return undefined;
	const { kind, cut } = value;
	const known = stateKinds.find((one) => one === kind);
	if (known === undefined) return undefined;
	const ref = stringAt(value, "ref");
	const sources = objectsOf(value.sources).flatMap((one) => {
		const [key, form] = [stringAt(one, "key"), stringAt(one, "form")];
		return key === undefined || form === undefined ? [] : [{ key, form, chars: numberOf(one.chars) ?? 0 }];
	});
	return {
		kind: known,
		since: numberOf(value.since) ?? 0,
		at: numberOf(value.at) ?? 0,
		changed: numberOf(value.changed) ?? 0,
		values: decodeValues(value.values),
		...(cut === undefined ? {} : { cut: decodeValues(cut) }),
		...(ref === undefined ? {} : { ref }),
		...(sources.length === 0 ? {} : { sources }),
	};
}

function pairsIn(value: unknown): [string, unknown][] {
	return listOf(value).filter(
		(pair): pair is [string, unknown] => Array.isArray(pair) && pair.length === 2 && typeof pair[0] === "string",
	);
}

function stringsIn(value: unknown): string[] {
	return listOf(value).filter((one): one is string => typeof one === "string");
}

function numberOf(value: unknown): number | undefined {
	return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
