import path from "node:path";

/**
 * The names in the folder of a namespace:
 *
 * - `ab/ab12…` (SHA-256): a text, unchanged;
 * - `ab/ab12….{call}.json`: the record of the text for one tool call; `{call}` are 16 hex digits of the SHA-256 of the
 *   call's id, or `none`;
 * - `calls/cd/{call}.ab12…`: an empty file, which leads from a call to its texts;
 * - `swept`: its time is that of the last automatic sweep;
 * - `sweep-intent.json`: the intent of an automatic sweep that waits;
 * - `ab/ab12….long`: an empty file of older versions: the reference of 8 characters names another text.
 *
 * No two processes change one file, so that they need no lock, and a torn write damages nothing else.
 */
export function layoutOf(folder: string) {
	const within = (name: string) => path.join(folder, name);
	return {
		folder,
		textFolder: (hash: string) => within(fileNames.textFolder(hash)),
		text: (hash: string) => within(fileNames.text(hash)),
		about: (hash: string, call: string) => within(fileNames.about(hash, call)),
		callFolder: (call: string) => within(fileNames.callFolder(call)),
		call: (call: string, hash: string) => within(fileNames.call(call, hash)),
		sweepMarker: path.join(folder, "swept"),
		sweepIntent: path.join(folder, "sweep-intent.json"),
		calls: within("calls"),
	};
}

const textFolder = (hash: string) => hash.slice(0, 2);
const callFolder = (call: string) => `calls/${call.slice(0, 2)}`;

/** The names within the folder, for a program that has no paths of its own. */
export const fileNames = {
	textFolder,
	text: (hash: string) => `${textFolder(hash)}/${hash}`,
	about: (hash: string, call: string) => `${textFolder(hash)}/${hash}.${call}.json`,
	callFolder,
	call: (call: string, hash: string) => `${callFolder(call)}/${call}.${hash}`,
};

export const longMark = ".long";

export type Layout = ReturnType<typeof layoutOf>;

const patterns = {
	text: /^(?<hash>[0-9a-f]{64})$/,
	about: /^(?<hash>[0-9a-f]{64})\.(?<call>[0-9a-f]{16}|none)\.json$/,
	long: /^(?<hash>[0-9a-f]{64})\.long$/,
	call: /^(?<call>[0-9a-f]{16})\.(?<hash>[0-9a-f]{64})$/,
	"set-aside": /^(?<hash>[0-9a-f]{64})\.[0-9a-f-]{36}\.swept$/,
	temporary: /^\.(?:palimpsest-)?[0-9a-f-]{36}\.tmp$/,
};

/** `hash` and `call` are empty where the name has none. */
export function readName(name: string): { readonly [part in "is" | "hash" | "call"]: string } {
	for (const [is, pattern] of Object.entries(patterns)) {
		const match = pattern.exec(name);
		if (match) return { is, hash: "", call: "", ...match.groups };
	}
	return { is: "other", hash: "", call: "" };
}
