import type { Path } from "../engine/path.ts";
import type { Message } from "../engine/transcript.ts";
import type { LocatedMessages, ReadValue } from "./format.ts";
import type { JsonObject } from "./json-values.ts";
import { type MessagePlace, placeOfMessage } from "./message-place.ts";

/**
 * Reads the messages of a format in which each value means the same whatever stands beside it. Those that were read
 * before are not read again.
 */
export function readEach(
	{ messages, base, recollection }: LocatedMessages,
	read: (message: JsonObject, path: Path, place: MessagePlace) => ReadValue,
): readonly Message[] {
	const begun = recollection?.begun;
	if (begun?.values === messages.length) return begun.messages;
	const all = begun ? begun.messages.slice() : [];
	const readAt = (value: unknown, index: number) => {
		const place = placeOfMessage(base, index);
		return read(value as JsonObject, place.path, place);
	};
	for (let index = begun?.values ?? 0; index < messages.length; index += 1) {
		const value = messages[index];
		const held = recollection
			? (recollection.recall(value, index) ?? recollection.learn(value, index, readAt))
			: readAt(value, index);
		if (isOne(held)) all.push(held);
		else all.push(...held);
	}
	recollection?.finish?.(all);
	return all;
}

function isOne(read: ReadValue): read is Message {
	return !Array.isArray(read);
}
