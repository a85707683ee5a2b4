import type { Plan } from "../engine/edit.ts";
import type { Transcript } from "../engine/transcript.ts";
import type { ReadAt } from "./format.ts";
import { locateMessages, type ReadConversation } from "./read-conversation.ts";

/**
 * Reads a conversation again after a plan was applied to it. Messages whose value is the very same object as before are
 * not read again, and keep the paths that they had.
 */
export function readEdited(source: ReadConversation, edited: unknown, plan: Plan): Transcript {
	const { format, located, transcript } = source;
	const kept = keptValues(located.messages.length, located.base.length, plan);
	const first = firstMessages(source);
	const recollection = {
		recall(value: unknown, index: number) {
			const original = kept[index];
			if (original === undefined || located.messages[original] !== value) return undefined;
			const at = first[original] as number;
			const end = first[original + 1] as number;
			return end === at + 1 ? transcript.messages[at] : transcript.messages.slice(at, end);
		},
		learn: (value: unknown, index: number, read: ReadAt) => read(value, index),
	};
	return format.read({ ...locateMessages(edited), recollection });
}

/** For each value of the list afterwards its index before; `undefined` where the plan has put it there. */
function keptValues(length: number, depth: number, plan: Plan): (number | undefined)[] {
	const removed = new Uint8Array(length);
	const added = new Uint32Array(length + 1);
	for (const { kind, path } of plan) {
		if (path.length !== depth + 1) continue;
		const index = Number(path[depth]);
		if (kind === "remove") removed[index] = 1;
		else if (kind === "insert") added[index] = (added[index] ?? 0) + 1;
	}
	const kept: (number | undefined)[] = [];
	for (let index = 0; index <= length; index += 1) {
		for (let count = added[index] ?? 0; count > 0; count -= 1) kept.push(undefined);
		if (index < length && removed[index] === 0) kept.push(index);
	}
	return kept;
}

/** For each value of the list the index of the first message that was read of it, in a format that reads each on its own. */
function firstMessages({ located, transcript }: ReadConversation): readonly number[] {
	const { base, messages } = located;
	const first: number[] = [];
	let message = 0;
	for (let index = 0; index <= messages.length; index += 1) {
		while (Number(transcript.messages[message]?.paths[0]?.[base.length]) < index) message += 1;
		first.push(message);
	}
	return first;
}
