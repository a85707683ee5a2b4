import { chmod, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findTasks } from "../../src/commands/trial-tasks.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

async function writeTask(folder: string, files: readonly string[]): Promise<void> {
	await mkdir(folder, { recursive: true });
	for (const name of files) {
		await writeFile(join(folder, name), name === "prompt.md" ? "Do it." : "#!/bin/sh\nexit 1\n");
		await chmod(join(folder, name), 0o755);
	}
}

it.skipIf(process.platform === "win32")("tasks may be links, and what cannot be run is named", async () => {
	const folder = await scratchFolder();
	const tasks = join(folder, "tasks");
	await writeTask(join(tasks, "ein Aufgäbchen"), ["prompt.md", "check"]);
	await writeTask(join(folder, "elsewhere"), ["prompt.md", "check"]);
	await symlink(join(folder, "elsewhere"), join(tasks, "linked"));
	await symlink(join(folder, "absent"), join(tasks, "dangling"));
	await symlink(join(folder, "elsewhere/prompt.md"), join(tasks, "README.md"));
	await writeTask(join(tasks, "without-prompt"), ["check"]);
	await writeTask(join(tasks, "no-task"), ["notes.txt"]);
	const found = await findTasks(tasks);
	expect(found.tasks.map(({ name }) => name)).toEqual(["ein Aufgäbchen", "linked"]);
	expect(found.notRun).toEqual([
		{ task: "dangling", reason: "its files cannot be read (ENOENT)" },
		{ task: "without-prompt", reason: "prompt.md is missing" },
	]);
});
