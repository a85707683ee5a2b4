import { isJsonObject, type JsonObject } from "../conversation/json.ts";
import { childPath, type Message, type Path, type Transcript } from "../conversation/transcript.ts";
import { type LocatedMessages, transcriptOf } from "./format.ts";
import { joinMessages } from "./parts.ts";

/**
 * Reads a run that is recorded as a list of events, one for each text, call or result. `read` gives `undefined` for events
 * that are not sent.
 */
export function readEvents(
	format: string,
	{ messages, base }: LocatedMessages,
	read: (event: JsonObject, path: Path, index: number) => Message | undefined,
): Transcript {
	const found = messages.flatMap((event, index) => {
		const message = isJsonObject(event) ? read(event, childPath(base, index), index) : undefined;
		return message ? [message] : [];
	});
	return transcriptOf(format, joinAnswers(found));
}

/**
 * Joins the texts and calls that a model gave in a row: they are one answer, which ends at a result or at a message of
 * someone else. It goes on until all results of its calls are there: otherwise two answers could become one when the
 * result between them is dropped.
 */
export function joinAnswers(messages: readonly Message[]): Message[] {
	const lastResults = findLastResults(messages);
	const joined: Message[][] = [];
	let answer: Message[] | undefined;
	let answeredBy = -1;
	for (const [index, message] of messages.entries()) {
		if (message.role !== "assistant") {
			joined.push([message]);
			continue;
		}
		const isOpen = joined.at(-1) === answer || answeredBy >= index;
		if (answer && isOpen && answer[0]?.sent === message.sent) answer.push(message);
		else {
			answer = [message];
			answeredBy = -1;
			joined.push(answer);
		}
		answeredBy = Math.max(answeredBy, lastResults[index] ?? -1);
	}
	return joined.map(joinMessages);
}

/** By message, the index of the last result of its calls. Ids may be used again. */
function findLastResults(messages: readonly Message[]): readonly number[] {
	const last = new Array<number>(messages.length).fill(-1);
	const byId = new Map<string | undefined, number>();
	for (let index = messages.length - 1; index >= 0; index -= 1) {
		const { calls, results } = messages[index] as Message;
		for (const { callId } of results) if (!byId.has(callId)) byId.set(callId, index);
		for (const { id } of calls) {
			const answer = id === undefined ? undefined : byId.get(id);
			if (answer !== undefined) last[index] = Math.max(last[index] ?? -1, answer);
			byId.delete(id);
		}
	}
	return last;
}
