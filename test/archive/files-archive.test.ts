import { openArchive } from "../../src/archive/open-archive.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { describeArchive } from "./archive-suite.ts";

const folder = scratchFolder();

describeArchive("files", async (options) => {
	const archive = await openArchive({ where: await folder, ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
});
