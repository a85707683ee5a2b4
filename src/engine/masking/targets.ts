const longest = 1_000;

/** With `/`, `..` resolved if possible. `undefined` for an address, a device or other text. */
export function normalisePath(path: string): string | undefined {
	if (path === "" || path.length > longest || /[\n\r\0*?<>|"`$]/.test(path)) return undefined;
	const plain = path.replace(/^file:\/\//, "").replaceAll("\\", "/");
	if (/^[a-z][a-z0-9+.-]{1,20}:\/\//i.test(plain) || plain.startsWith("/dev/")) return undefined;
	const parts: string[] = [];
	for (const part of plain.split("/")) {
		if (part === "" || part === ".") continue;
		if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
		else parts.push(part);
	}
	if (parts.length === 0) return plain.startsWith("/") ? "/" : ".";
	return `${plain.startsWith("/") ? "/" : ""}${parts.join("/")}`;
}

const patchHeader = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\n\r]{1,1000})/gm;

const diffHeader = /^(?:\+\+\+|---) (?:[ab]\/)?([^\n\r\t]{1,1000})/gm;

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

export type TargetKind = "read" | "write" | "list" | "search" | "run" | "other";

export interface CallTarget {
	/** The part that its result shows; of a script that does several things, the one with the most output. */
	readonly kind: TargetKind;
	readonly paths: readonly string[];
	/** For a shell, the command that decides its kind, without quoted text; for a `run`, program and subcommand: `npm test`. */
	readonly command?: string;
	/** Whether a script was run to be shown something: it reads, searches or asks (`git diff`, `gh pr view`, `curl`). */
	readonly isAsked?: true;
}

export const otherTarget: CallTarget = { kind: "other", paths: [] };

/** A key for a map. V8 hashes strings of over 16 383 characters by their length alone, so theirs is a hash (cyrb53). */
export function textKey(text: string): string {
	if (text.length < 16_384) return text;
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
