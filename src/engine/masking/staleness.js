import { resultContent } from "../conversation/transcript.js";
import { pairResults } from "../conversation/turns.js";
import { resultArguments } from "./call-targets.js";
import { textKey } from "./targets.js";
/**
 * For each of `pairResults`, the message of the next result with the same text or of the same call, from which on it is not
 * needed; `undefined` if none follows. Looks only backwards, so a longer conversation changes nothing. The text of
 * placeholders (`masked`) is not known.
 */
export function findStale(transcript, masked = new Set()) {
	// Of each key, the results that none has made stale yet: each is more than twice as long as the next one.
	const waiting = new Map();
	const staleFrom = [];
	const argumentsOf = resultArguments(transcript);
	pairResults(transcript).forEach(({ result, message, call }, place) => {
		staleFrom.push(undefined);
		const text = resultContent(result);
		if (text === "" || masked.has(place)) return;
		const given = argumentsOf[place];
		const sameCall = given === undefined ? [] : [`call ${textKey(`${call?.name ?? ""}\n${given}`)}`];
		for (const key of [`text ${textKey(text)}`, ...sameCall]) {
			const before = waiting.get(key) ?? [];
			waiting.set(key, before);
			// A much shorter answer to the same call is a failure, or a notice that the file has not changed.
			for (let last = before.at(-1); last && text.length * 2 >= last.length; last = before.at(-1)) {
				staleFrom[last.place] ??= message;
				before.pop();
			}
			before.push({ place, length: text.length });
		}
	});
	return staleFrom;
}
