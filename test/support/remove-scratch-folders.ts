import { rm } from "node:fs/promises";
import { afterAll } from "vitest";
import { scratchFolders } from "./scratch-folder.ts";

// Here, and not beside what makes them: files of tests that share their modules would have one hook between them.
afterAll(async () => {
	const folders = scratchFolders.splice(0);
	await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true, maxRetries: 3 })));
});
