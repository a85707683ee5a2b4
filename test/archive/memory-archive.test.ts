import { openArchive } from "../../src/archive/open.ts";
import { describeArchive, type OpenForSuite } from "./archive-suite.ts";
import { describeCollisions } from "./collision-suite.ts";
import { describePieces } from "./pieces-suite.ts";

const open: OpenForSuite = async (options) => {
	const archive = await openArchive({ where: "memory", ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
};

describeArchive("memory", open, { outlives: false });
describeCollisions("memory", open, { shares: false });
describePieces("memory", open);
