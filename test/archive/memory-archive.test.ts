import { openArchive } from "../../src/archive/open-archive.ts";
import { describeArchive } from "./archive-suite.ts";

describeArchive("memory", async (options) => {
	const archive = await openArchive({ where: "memory", ...options });
	if (archive === undefined) throw new Error("no archive");
	return archive;
});
