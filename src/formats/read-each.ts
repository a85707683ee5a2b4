import type { Path } from "../engine/path.ts";
import type { Message } from "../engine/transcript.ts";
import type { LocatedMessages, ReadValue } from "./format.ts";
import type { JsonObject } from "./json-values.ts";
import { type MessagePlace, placeOfMessage } from "./message-place.ts";

/** Reads the messages of a format in which each value means the same whatever stands beside it. */
export function readEach(
	{ messages, base }: LocatedMessages,
	read: (message: JsonObject, path: Path, place: MessagePlace) => ReadValue,
): readonly Message[] {
	return messages.flatMap((value, index) => {
		const place = placeOfMessage(base, index);
		return read(value as JsonObject, place.path, place);
	});
}
