import { createMemoryDriver } from "../../../src/storage/archive/memory.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { describeArchive, type OpenForSuite } from "./archive-suite.ts";
import { describePieces } from "./pieces-suite.ts";
import { describeReferences } from "./references-suite.ts";

const open: OpenForSuite = async (options) => {
	const archive = await openArchive({ where: "memory", ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
};

describeArchive("memory", open, { outlives: false });
describeReferences("memory", open, async (options) => createMemoryDriver(options));
describePieces("memory", open);
