import type { Content } from "./cut.ts";
import type { Disk } from "./disk.ts";

/** Claude Code 2.1.332 saves an output of a command over 30 000 characters, and shows its first 2 kB between these. */
const preview =
	/^<persisted-output>\nOutput too large \([^)\n]*\)\. Full output saved to: (?<file>[^\n]+)\n[\s\S]*<\/persisted-output>\s*$/;

const mostBytes = 2_000_000;

/**
 * All of an output that the program has saved, where the result is its preview; `undefined` for every other result. A command may print
 * such words about any file, so that only one in the session's own folder counts.
 */
export async function savedFile(
	content: Content,
	{ folder, disk }: { readonly folder: string; readonly disk: Disk },
): Promise<string | undefined> {
	if (typeof content !== "string" || folder === "") return undefined;
	const file = preview.exec(content)?.groups?.file;
	const within = `${folder}/tool-results/`.replaceAll("\\", "/");
	if (file === undefined || !file.replaceAll("\\", "/").startsWith(within)) return undefined;
	if (!/^[\w.-]+$/.test(file.slice(within.length))) return undefined;
	const { size } = await disk.stat(file);
	return size > mostBytes ? undefined : disk.read(file);
}
