import { rm } from "node:fs/promises";
import { afterAll, afterEach } from "vitest";
import { runEnds } from "./at-end.ts";
import { scratchFolders } from "./scratch-folder.ts";

// Vitest runs this file once for each file of tests, also for those that share their modules.
afterEach(() => runEnds("test"));
afterAll(async () => {
	await runEnds("file");
	const folders = scratchFolders.splice(0);
	await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 3 })));
});
