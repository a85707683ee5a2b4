/** Longest text that is taken for a path, in characters. */
const longest = 1_000;

/**
 * A path in the spelling in which paths are compared: slashes forwards, no `.`, no empty parts, `..` resolved where it
 * can be. Relative to `folder` where that is given. `undefined` for what is no path of a file (an address, a device, text).
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
