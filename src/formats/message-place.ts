import { childPath, type Path } from "../engine/path.ts";

/** Where a message stands that is one item of a list. */
export interface MessagePlace {
	readonly path: Path;
	/** The paths of all values that make up the message: this one. */
	readonly paths: readonly Path[];
	/** Path of its `content`. */
	readonly content: Path;
}

/** Lists longer than this are rare, and their places are made anew. */
const mostShared = 10_000;

// The places of one conversation are those of the next: made for each, they were one in seven of the objects that are kept of it.
const shared = new Map<string, MessagePlace[]>();
/** Keys that hold a list of messages in one API or another; no caller's own may fill memory. */
const sharedKeys: ReadonlySet<unknown> = new Set(["messages", "contents", "input"]);

/** The place of a list's item. Shared by conversations: nobody may change it. */
export function placeOfMessage(base: Path, index: number): MessagePlace {
	const [key = ""] = base;
	const isShared = index < mostShared && (base.length === 0 || (base.length === 1 && sharedKeys.has(key)));
	if (!isShared) return newPlace(base, index);
	let places = shared.get(key as string);
	if (!places) {
		places = [];
		shared.set(key as string, places);
	}
	for (let next = places.length; next <= index; next += 1) places.push(newPlace(base, next));
	return places[index] as MessagePlace;
}

function newPlace(base: Path, index: number): MessagePlace {
	const path = childPath(base, index);
	return { path, paths: [path], content: childPath(path, "content") };
}
