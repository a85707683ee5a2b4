import { pairResults } from "../pairing.ts";
import { type StructuralErrorRule, structuralError } from "../structural-errors.ts";
import type { Transcript } from "../transcript.ts";
import { argumentsOfCall, resultTargets } from "./result-targets.ts";
import type { CallTarget } from "./target.ts";
import { textKey } from "./text-key.ts";

/** A result that is an error. */
export interface FoundError {
	readonly rule: StructuralErrorRule;
	/**
	 * Index of the first message with which it is settled: the same call has then succeeded, or the same command, or a
	 * call that reads or writes the same file. `undefined` where none has.
	 */
	readonly resolvedFrom: number | undefined;
}

/**
 * The errors among the results, by `structuralError`, in the order of `pairResults`. Found going forward, so what is so of
 * a conversation stays so when it goes on. `masked` holds the places of the results that came as placeholders: nobody
 * knows whether such a call failed, so it settles nothing. Takes time in proportion to the conversation.
 */
export function findErrors(
	transcript: Transcript,
	masked: ReadonlySet<number> = noneMasked,
): readonly (FoundError | undefined)[] {
	if (masked.size > 0) return find(transcript, masked);
	let found = known.get(transcript);
	if (!found) {
		found = find(transcript, masked);
		known.set(transcript, found);
	}
	return found;
}

const noneMasked: ReadonlySet<number> = new Set();
const known = new WeakMap<Transcript, readonly (FoundError | undefined)[]>();

function find(transcript: Transcript, masked: ReadonlySet<number>): (FoundError | undefined)[] {
	const paired = pairResults(transcript);
	const targets = resultTargets(transcript);
	const errors = new Array<FoundError | undefined>(paired.length).fill(undefined);
	/** Places of errors by what would settle them. */
	const open = new Map<string, number[]>();
	paired.forEach(({ result, call, caller, message }, place) => {
		if (masked.has(place)) return;
		const target = targets[place] as CallTarget;
		const rule = structuralError({ result, target });
		const holder = caller === undefined ? undefined : transcript.messages[caller];
		if (!call || !holder) {
			if (rule !== undefined) errors[place] = { rule, resolvedFrom: undefined };
			return;
		}
		const tries = [callKey(call.name, argumentsOfCall(holder, call)), ...triesOf(target)];
		if (rule !== undefined) errors[place] = { rule, resolvedFrom: undefined };
		for (const one of tries) {
			const places = open.get(one);
			if (rule !== undefined) {
				if (places) places.push(place);
				else open.set(one, [place]);
				continue;
			}
			for (const settled of places ?? []) {
				const error = errors[settled];
				if (error && error.resolvedFrom === undefined) errors[settled] = { ...error, resolvedFrom: message };
			}
			open.delete(one);
		}
	});
	return errors;
}

function callKey(name: string | undefined, given: string | undefined): string {
	return `call ${textKey(`${name ?? ""}\n${given ?? ""}`)}`;
}

/** What a call tries, whatever its arguments are otherwise: a command, or a file that it reads or writes. */
function triesOf({ kind, program, folder, paths }: CallTarget): string[] {
	if (kind === "run") return program === undefined ? [] : [`run ${program} in ${folder ?? ""}`];
	return kind === "read" || kind === "write" ? paths.map((path) => `${kind} ${path}`) : [];
}
