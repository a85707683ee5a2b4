import { spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { scratchFolder } from "../../support/scratch-folder.ts";

/** A file system in memory, until the test ends; `undefined` where this user may not mount one. */
export async function mountSmallDisk(kilobytes: number): Promise<string | undefined> {
	if (process.platform !== "linux") return undefined;
	const folder = await scratchFolder();
	const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${kilobytes}k,mode=700`, "palimpsest", folder]);
	if (status !== 0) {
		process.stderr.write("Skipped: no file system can be mounted here, so that no disk can be filled.\n");
		return undefined;
	}
	// Not by a hook of this module: test files that share their modules would have one hook between them.
	onTestFinished(() => void spawnSync("umount", ["--lazy", folder]));
	return folder;
}

/** Makes a mounted file system read-only, or writable again. */
export function setReadOnly(folder: string, readOnly: boolean): void {
	const { status } = spawnSync("mount", ["-o", `remount,${readOnly ? "ro" : "rw"}`, folder]);
	if (status !== 0) throw new Error("cannot mount again");
}
