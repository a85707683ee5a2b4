import { createFilesDriver } from "../../../src/storage/archive/files.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { describeArchive, type OpenForSuite } from "./archive-suite.ts";
import { describePieces } from "./pieces-suite.ts";
import { describeReferences } from "./references-suite.ts";

const folder = scratchFolder();

const open: OpenForSuite = async (options) => {
	const archive = await openArchive({ where: await folder, ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
};

describeArchive("files", open, { outlives: true });
describeReferences("files", open, async (options) => createFilesDriver({ folder: await folder, ...options }));
describePieces("files", open);
