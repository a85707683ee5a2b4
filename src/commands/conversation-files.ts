import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import path from "node:path";
import { PalimpsestError, UnsupportedShapeError } from "../errors.ts";
import { fileProblem, isResultName } from "../storage/files/access.ts";
import { unpackedName } from "../storage/files/packed.ts";
import { withProgress } from "./progress.ts";

interface FoundFile {
	readonly file: string;
	/** Whether an argument names the file itself, not a folder above it. */
	readonly isNamed: boolean;
}

/**
 * Named files, and all .json and .jsonl files below named folders, also packed ones, except our results. No folder is read
 * twice. Of a file that is there in both forms, Codex reads the plain one.
 */
export async function findConversations(names: readonly string[]): Promise<readonly FoundFile[]> {
	const lists = await Promise.all(
		names.map(async (name): Promise<readonly FoundFile[]> => {
			if (!(await isFolder(name))) return [{ file: name, isNamed: true }];
			const isSession = (file: string) => /\.jsonl?$/i.test(unpackedName(file)) && !isResultName(unpackedName(file));
			const found = (await filesBelow(name)).filter(isSession).sort();
			const plain = new Set(found);
			const files = found.filter((file) => unpackedName(file) === file || !plain.has(unpackedName(file)));
			return files.map((file) => ({ file, isNamed: false }));
		}),
	);
	return lists.flat();
}

/** Why a file is left out; `undefined` for an error that ends the command. */
function whyUnreadable(error: unknown): string | undefined {
	if (!(error instanceof PalimpsestError)) return undefined;
	const { cause } = error;
	if (cause instanceof UnsupportedShapeError) return `of a kind that is not supported (${cause.shape})`;
	return unreadable[error.code];
}

const unreadable: Readonly<Record<string, string>> = {
	invalid_json: "that cannot be read as a conversation",
	not_a_conversation: "that cannot be read as a conversation",
	payload_too_large: "larger than limits.max_file_bytes",
	unreadable_file: "that cannot be opened or unpacked",
};

/** A reason and its number, as `leftOutText` takes them. */
type LeftOut = readonly [count: number, what: string, why: string];

/**
 * Adds all files. Tells how many are left out for a reason of the caller, and how many cannot be read, by reason. A file that an
 * argument names has to be readable.
 */
export async function addFiles<Reason extends string>(
	names: readonly string[],
	add: (file: string) => Promise<Reason | "added">,
): Promise<{ readonly countOf: (reason: Reason) => number; readonly unreadable: readonly LeftOut[] }> {
	const done: (Reason | "added")[] = [];
	const counts = new Map<string, number>();
	await withProgress("reading sessions", async (step) => {
		const files = await findConversations(names);
		for (const [index, { file, isNamed }] of files.entries()) {
			step(index, files.length);
			try {
				done.push(await add(file));
			} catch (error) {
				const why = isNamed ? undefined : whyUnreadable(error);
				if (why === undefined) throw error;
				counts.set(why, (counts.get(why) ?? 0) + 1);
			}
		}
	});
	return {
		countOf: (reason) => done.filter((one) => one === reason).length,
		unreadable: Array.from(counts, ([why, count]) => [count, "file", why]),
	};
}

/** What a command has left out, such as `left out 2 files that cannot be read`; `undefined` for nothing. */
export function leftOutText(counts: readonly LeftOut[]): string | undefined {
	const words = counts.flatMap(([count, what, why]) =>
		count === 0 ? [] : [`${count} ${what}${count === 1 ? "" : "s"} ${why}`],
	);
	return words.length === 0 ? undefined : `left out ${words.join(", ")}`;
}

async function isFolder(name: string): Promise<boolean> {
	const about = name === "-" ? undefined : await stat(name).catch(() => undefined);
	return about?.isDirectory() ?? false;
}

/** Linked folders come last, so that a folder is found under its own path rather than a link. */
async function filesBelow(top: string): Promise<string[]> {
	const files: string[] = [];
	const seen = new Set<string>();
	const waiting = [top];
	for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
		const place = await realpath(folder).catch(() => folder);
		if (seen.has(place)) continue;
		seen.add(place);
		for (const entry of await list(folder)) {
			const name = path.join(folder, entry.name);
			if (entry.isDirectory()) waiting.unshift(name);
			else if (entry.isSymbolicLink() && (await isFolder(name))) waiting.push(name);
			else files.push(name);
		}
	}
	return files;
}

async function list(folder: string): Promise<Dirent[]> {
	try {
		return await readdir(folder, { withFileTypes: true });
	} catch (cause) {
		throw new PalimpsestError("unreadable_file", `Cannot list the folder ${folder}: ${fileProblem(cause)}.`, { cause });
	}
}
