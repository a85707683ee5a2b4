import { addToList } from "../conversation/lists.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { pairResults } from "../conversation/turns.ts";
import { callTarget, resultArguments } from "./call-targets.ts";
import { type StructuralErrorRule, structuralError } from "./errors.ts";
import { type CallTarget, otherTarget, textKey } from "./targets.ts";

interface JudgedResult {
	readonly target: CallTarget;
	readonly given: string | undefined;
	readonly error: StructuralErrorRule | undefined;
}

/** Judges the results of a transcript, in the order of `pairResults`, each by the messages before it. */
function judgeResults(transcript: Transcript): readonly JudgedResult[] {
	const argumentsOf = resultArguments(transcript);
	return pairResults(transcript).map(({ result, call }, place) => {
		const given = argumentsOf[place];
		const target = call ? callTarget({ name: call.name, argumentsText: given }) : otherTarget;
		return { target, given, error: structuralError({ result, target }) };
	});
}

/** For each of `pairResults`. */
export function resultTargets(transcript: Transcript): readonly CallTarget[] {
	return judgeResults(transcript).map(({ target }) => target);
}

interface FoundError {
	readonly rule: StructuralErrorRule;
	/** The first message by which the same call, the same command or a call on the same file succeeded. */
	readonly resolvedFrom: number | undefined;
}

/** Finds errors, in the order of `pairResults`. A longer conversation changes none of them. Placeholders (`masked`) resolve none. */
export function findErrors(
	transcript: Transcript,
	masked: ReadonlySet<number> = new Set(),
): readonly (FoundError | undefined)[] {
	const paired = pairResults(transcript);
	const judged = judgeResults(transcript);
	const errors = new Array<FoundError | undefined>(paired.length).fill(undefined);
	/** Places of errors by the attempt that would resolve them. */
	const open = new Map<string, number[]>();
	paired.forEach(({ call, message }, place) => {
		if (masked.has(place)) return;
		const { target, given, error: rule } = judged[place] as JudgedResult;
		if (rule !== undefined) errors[place] = { rule, resolvedFrom: undefined };
		if (!call) return;
		const sameCall = `call ${textKey(`${call.name ?? ""}\n${given ?? ""}`)}`;
		for (const one of [sameCall, ...triesOf(target)]) {
			if (rule !== undefined) {
				addToList(open, one, place);
				continue;
			}
			for (const resolved of open.get(one) ?? []) {
				const error = errors[resolved] as FoundError;
				errors[resolved] = { rule: error.rule, resolvedFrom: error.resolvedFrom ?? message };
			}
			open.delete(one);
		}
	});
	return errors;
}

/** The attempts of a call, whatever its other arguments: a command, or a file that it reads or writes. */
function triesOf({ kind, command, paths }: CallTarget): string[] {
	if (kind === "run") return command === undefined ? [] : [`run ${command}`];
	return kind === "read" || kind === "write" ? paths.map((path) => `${kind} ${path}`) : [];
}
