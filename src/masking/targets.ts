/** Longest text that is taken for a path, in characters. */
const longest = 1_000;

/**
 * A path in the spelling in which paths are compared: forward slashes, no `.`, no empty parts, `..` resolved where it can
 * be, relative to `folder` where that is given. `undefined` for what is no path of a file (an address, a device, text).
 */
export function normalisePath(path: string, folder?: string): string | undefined {
	if (path === "" || path.length > longest || /[\n\r\0*?<>|"`$]/.test(path)) return undefined;
	const plain = path.replace(/^file:\/\//, "").replaceAll("\\", "/");
	if (/^[a-z][a-z0-9+.-]{1,20}:\/\//i.test(plain) || plain.startsWith("/dev/")) return undefined;
	const joined = folder !== undefined && !isAbsolute(plain) ? `${folder}/${plain}` : plain;
	const parts: string[] = [];
	for (const part of joined.split("/")) {
		if (part === "" || part === ".") continue;
		if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
		else parts.push(part);
	}
	if (parts.length === 0) return joined.startsWith("/") ? "/" : ".";
	return `${joined.startsWith("/") ? "/" : ""}${parts.join("/")}`;
}

/** Whether a path starts at a root: `/`, a drive or the home folder. */
export function isAbsolute(path: string): boolean {
	return /^(?:[/~]|[A-Za-z]:[/\\])/.test(path);
}

/** Headers of a patch as `apply_patch` takes it. */
const patchHeader = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n\r]{1,1000})/gm;

/** Headers of a unified diff; `/dev/null` stands for a file that is not there. */
const diffHeader = /^(?:\+\+\+|---) (?:[ab]\/)?([^\n\r\t]{1,1000})/gm;

/** Most files that are read of a patch. */
const mostFiles = 1_000;

/** The files that a patch changes, by its headers: of `apply_patch`, or of a unified diff. */
export function patchPaths(patch: string): string[] {
	if (patch === "") return [];
	const own = pathsBehind(patchHeader, patch);
	return own.length > 0 ? own : pathsBehind(diffHeader, patch);
}

function pathsBehind(header: RegExp, patch: string): string[] {
	const paths = new Set<string>();
	for (const [, written = ""] of patch.matchAll(header)) {
		const path = written.trim();
		if (path !== "" && path !== "/dev/null") paths.add(path);
		if (paths.size >= mostFiles) break;
	}
	return [...paths];
}

/** The name of a program without its folder. */
export function programName(word: string | undefined): string | undefined {
	return word === undefined ? undefined : word.slice(word.lastIndexOf("/") + 1);
}

/** Lines of a file, from 1, both ends included; `to` is `Infinity` where it goes to the end of the file. */
export interface LineRange {
	readonly from: number;
	readonly to: number;
}

/** A file that a call shows: all of it, the lines of a range, or a part that the arguments do not tell. */
export interface FileRead {
	readonly path: string;
	readonly lines: LineRange | "whole" | "part";
}

export type TargetKind = "read" | "write" | "list" | "search" | "run" | "other";

/** The files that a call reads, writes, lists or searches, or the command that it runs, as far as its arguments tell. */
export interface CallTarget {
	/** What its result shows; of a script that does several things, the one whose output weighs most. */
	readonly kind: TargetKind;
	/** The files or folders that it is about, each once, as `normalisePath` spells them. */
	readonly paths: readonly string[];
	/** Lines read, where the call reads one range of one file. */
	readonly range?: LineRange;
	/** The files that its result shows. */
	readonly reads: readonly FileRead[];
	/** The files that it writes, moves or removes. */
	readonly writes: readonly string[];
	/** The folder in which it runs, where its arguments say so. Relative paths are already joined to it. */
	readonly folder?: string;
	/** How it uses the file that an earlier call opened, in tools that keep one open (SWE-agent's `edit 10:20`). */
	readonly openFile?: "read" | "write";
	/** The command of a `run`, by which another try is recognised: its program and subcommand, such as `npm test`. */
	readonly program?: string;
}

/** The target of a call that tells nothing. */
export const otherTarget: CallTarget = { kind: "other", paths: [], reads: [], writes: [] };

/** The range of a call's target, where it reads one range of one file. */
export function rangeOf(reads: readonly FileRead[]): Pick<CallTarget, "range"> {
	const [only] = reads;
	return reads.length === 1 && typeof only?.lines === "object" ? { range: only.lines } : {};
}

/**
 * A key under which equal texts are found in a map: a hash of 53 bits (cyrb53) with the length, so compare the texts that
 * are found. (V8 hashes strings of over 16 383 characters by their length alone, so that they collide as keys.)
 */
export function textKey(text: string): string {
	let [low, high] = [0xdeadbeef, 0x41c6ce57];
	for (let index = 0; index < text.length; index += 1) {
		const code = text.charCodeAt(index);
		low = Math.imul(low ^ code, 2_654_435_761);
		high = Math.imul(high ^ code, 1_597_334_677);
	}
	low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
	high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
	return `${text.length}:${4_294_967_296 * (2_097_151 & high) + (low >>> 0)}`;
}
