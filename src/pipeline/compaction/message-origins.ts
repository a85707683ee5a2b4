import type { ReadConversation } from "../../formats/read-conversation.ts";
import { type Tracks, tracePath } from "./trace-path.ts";

/** For each message between two rounds its index before the first; -1 for one that the first has put in. */
export function messageOrigins(source: ReadConversation, between: ReadConversation, tracks: Tracks): readonly number[] {
	const depth = source.located.base.length;
	const byValue = new Map<unknown, number[]>();
	source.transcript.messages.forEach(({ paths }, message) => {
		const value = paths[0]?.[depth];
		byValue.set(value, [...(byValue.get(value) ?? []), message]);
	});
	const taken = new Map<unknown, number>();
	return between.transcript.messages.map(({ paths: [path] }) => {
		const origin = path && tracePath(tracks, path.slice(0, depth + 1));
		if (origin?.kind !== "before") return -1;
		const value = origin.path[depth];
		const ordinal = taken.get(value) ?? 0;
		taken.set(value, ordinal + 1);
		return byValue.get(value)?.[ordinal] ?? -1;
	});
}
