/** The files of the machine, as the program that runs a mod reaches them. Folders are made as needed. Every function may reject. */
export interface Disk {
	/** All of a file, or the bytes of a part of it as text. */
	readonly read: (path: string) => Promise<string>;
	readonly write: (path: string, text: string) => Promise<void>;
	/** Names in a folder. */
	readonly names: (folder: string) => Promise<readonly string[]>;
	/** In bytes, and ms since 1970. Rejects for a file that is missing. */
	readonly stat: (path: string) => Promise<{ readonly size: number; readonly mtimeMs: number }>;
	/** Gives a file the time of now. */
	readonly touch: (path: string) => Promise<void>;
}

/** Hex digits of the SHA-256 of a text as UTF-8. */
export async function sha256(text: string): Promise<string> {
	const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
	return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
