import { type About, recordOf, withCheck } from "../../storage/archive/driver.ts";
import { fileNames } from "../../storage/archive/files-layout.ts";
import { hashPrefixOfRef, refOfHash, tidyRef } from "../../storage/archive/reference.ts";
import { type Disk, sha256 } from "./disk.ts";

/** An original of an archive of files, as every other part of the product reads it (docs/archive.md). */
export interface KeptOriginal {
	readonly text: string;
	/** Of `text`. */
	readonly hash: string;
	readonly toolCallId: string;
	readonly toolName: string;
	/** In ms since 1970. */
	readonly at: number;
}

/** More than a day after its last use, a text is marked as used again: a sweep removes those that were not used for long. */
const renewAfterMs = 24 * 3_600_000;

/**
 * Writes an original into the folder of a namespace. A text that is there stays as it is, since a file is not replaced at once. Rejects
 * where anything of it could not be written.
 */
export async function keepOriginal(original: KeptOriginal, where: { readonly disk: Disk; readonly folder: string }) {
	const { text, hash, toolCallId, toolName, at } = original;
	const { disk, folder } = where;
	const bytes = new TextEncoder().encode(text).length;
	const call = await callKeyOf(toolCallId);
	const about: About = {
		kind: "result",
		toolCallId,
		toolName,
		chars: text.length,
		bytes,
		archivedAt: at,
		redactions: 0,
	};
	const unchecked = recordOf(about);
	const record = withCheck(unchecked, await sha256(JSON.stringify(unchecked)));
	const file = `${folder}/${fileNames.text(hash)}`;
	const writeText = async () => {
		const found = await disk.stat(file).catch(() => undefined);
		if (found?.size !== bytes) await disk.write(file, text);
		else if (at - found.mtimeMs > renewAfterMs) await disk.touch(file);
	};
	// Each waits for the program: together they wait once.
	await Promise.all([
		disk.write(`${folder}/${fileNames.about(hash, call)}`, record),
		disk.write(`${folder}/${fileNames.call(call, hash)}`, ""),
		writeText(),
	]);
}

/** As `callKey` of the archive. */
async function callKeyOf(toolCallId: string): Promise<string> {
	return (await sha256(JSON.stringify(toolCallId))).slice(0, 16);
}

/** The text of a reference; `undefined` if it is not there, or the reference or the text was altered. */
export async function findOriginal(ref: string, where: { readonly disk: Disk; readonly folder: string }) {
	const { disk, folder } = where;
	const prefix = hashPrefixOfRef(tidyRef(ref));
	if (prefix === undefined) return undefined;
	const bucket = `${folder}/${fileNames.textFolder(prefix)}`;
	const names = (await disk.names(bucket).catch(() => [])).filter((name) => name.startsWith(prefix));
	const [hash, another] = names.filter((name) => /^[0-9a-f]{64}$/.test(name));
	if (hash === undefined || another !== undefined) return undefined;
	const text = await disk.read(`${bucket}/${hash}`);
	if ((await sha256(text)) !== hash) return undefined;
	return { ref: refOfHash(hash), text };
}
