import { addToList } from "../conversation/lists.js";
import { pairResults } from "../conversation/turns.js";
import { callTarget, resultArguments } from "./call-targets.js";
import { structuralError } from "./errors.js";
import { otherTarget, textKey } from "./targets.js";

/** Judges the results of a transcript, in the order of `pairResults`, each by the messages before it. */
function judgeResults(transcript) {
	const argumentsOf = resultArguments(transcript);
	return pairResults(transcript).map(({ result, call }, place) => {
		const given = argumentsOf[place];
		const target = call ? callTarget({ name: call.name, argumentsText: given }) : otherTarget;
		return { target, given, error: structuralError({ result, target }) };
	});
}
/** For each of `pairResults`. */
export function resultTargets(transcript) {
	return judgeResults(transcript).map(({ target }) => target);
}
/** Finds errors, in the order of `pairResults`. A longer conversation changes none of them. Placeholders (`masked`) resolve none. */
export function findErrors(transcript, masked = new Set()) {
	const paired = pairResults(transcript);
	const judged = judgeResults(transcript);
	const errors = new Array(paired.length).fill(undefined);
	/** Places of errors by the attempt that would resolve them. */
	const open = new Map();
	paired.forEach(({ call, message }, place) => {
		if (masked.has(place)) return;
		const { target, given, error: rule } = judged[place];
		if (rule !== undefined) errors[place] = { rule, resolvedFrom: undefined };
		if (!call) return;
		const sameCall = `call ${textKey(`${call.name ?? ""}\n${given ?? ""}`)}`;
		for (const one of [sameCall, ...triesOf(target)]) {
			if (rule !== undefined) {
				addToList(open, one, place);
				continue;
			}
			for (const resolved of open.get(one) ?? []) {
				const error = errors[resolved];
				errors[resolved] = { rule: error.rule, resolvedFrom: error.resolvedFrom ?? message };
			}
			open.delete(one);
		}
	});
	return errors;
}
/** The attempts of a call, whatever its other arguments: a command, or a file that it reads or writes. */
function triesOf({ kind, command, paths }) {
	if (kind === "run") return command === undefined ? [] : [`run ${command}`];
	return kind === "read" || kind === "write" ? paths.map((path) => `${kind} ${path}`) : [];
}
