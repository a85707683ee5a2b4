import path from "node:path";

/**
 * Where things stand in the folder of a namespace:
 *
 * - `ab/ab12…` (SHA-256): a text, as it is;
 * - `ab/ab12….{call}.json`: what it was, for one tool call; `{call}` are 16 hex digits of the SHA-256 of the call's id,
 *   or `none`;
 * - `calls/cd/{call}.ab12…`: an empty file by which a call's texts are found.
 *
 * No file is shared, so that several processes need no lock and a torn write spoils nothing else.
 */
export interface Layout {
	readonly folder: string;
	readonly textFolder: (hash: string) => string;
	readonly text: (hash: string) => string;
	readonly about: (hash: string, call: string) => string;
	readonly callFolder: (call: string) => string;
	readonly call: (call: string, hash: string) => string;
	/** Its time tells when somebody last swept. */
	readonly sweepMarker: string;
	/** What a sweep has left for a later one to take away. */
	readonly sweepIntent: string;
	readonly buckets: readonly string[];
	readonly callBuckets: readonly string[];
}

const twoDigits = Array.from({ length: 256 }, (_, number) => number.toString(16).padStart(2, "0"));

export function layoutOf(folder: string): Layout {
	const textFolder = (hash: string) => path.join(folder, hash.slice(0, 2));
	const callFolder = (call: string) => path.join(folder, "calls", call.slice(0, 2));
	return {
		folder,
		textFolder,
		text: (hash) => path.join(textFolder(hash), hash),
		about: (hash, call) => path.join(textFolder(hash), `${hash}.${call}.json`),
		callFolder,
		call: (call, hash) => path.join(callFolder(call), `${call}.${hash}`),
		sweepMarker: path.join(folder, "swept"),
		sweepIntent: path.join(folder, "sweep-intent.json"),
		buckets: twoDigits.map((digits) => path.join(folder, digits)),
		callBuckets: twoDigits.map((digits) => path.join(folder, "calls", digits)),
	};
}

/** What a file's name says that it is. */
export type Named =
	| { readonly is: "text"; readonly hash: string }
	| { readonly is: "about"; readonly hash: string; readonly call: string }
	| { readonly is: "call"; readonly hash: string; readonly call: string }
	/** A text on its way out: put aside by a sweep. */
	| { readonly is: "set-aside"; readonly hash: string }
	/** A file that was being written. */
	| { readonly is: "temporary" }
	| { readonly is: "other" };

const patterns = {
	text: /^([0-9a-f]{64})$/,
	about: /^([0-9a-f]{64})\.([0-9a-f]{16}|none)\.json$/,
	call: /^([0-9a-f]{16})\.([0-9a-f]{64})$/,
	setAside: /^([0-9a-f]{64})\.[0-9a-f-]{36}\.swept$/,
	temporary: /^\.[0-9a-f-]{36}\.tmp$/,
};

/** Reads a file's name. */
export function readName(name: string): Named {
	const [, text] = patterns.text.exec(name) ?? [];
	if (text !== undefined) return { is: "text", hash: text };
	const [, hash, call] = patterns.about.exec(name) ?? [];
	if (hash !== undefined && call !== undefined) return { is: "about", hash, call };
	const [, caller, called] = patterns.call.exec(name) ?? [];
	if (caller !== undefined && called !== undefined) return { is: "call", hash: called, call: caller };
	const [, aside] = patterns.setAside.exec(name) ?? [];
	if (aside !== undefined) return { is: "set-aside", hash: aside };
	return { is: patterns.temporary.test(name) ? "temporary" : "other" };
}
