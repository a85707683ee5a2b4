import { openArchive } from "../../src/archive/open.ts";
import { describeArchive, type OpenForSuite } from "./archive-suite.ts";
import { describePieces } from "./pieces-suite.ts";

const open: OpenForSuite = async (options) => {
	const archive = await openArchive({ where: "memory", ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
};

describeArchive("memory", open, { outlives: false });
describePieces("memory", open);
