import { type ArchiveLocation, openArchiveOfPolicy } from "../../archive/open.ts";
import { PalimpsestError } from "../../errors.ts";
import type { Policy } from "../../policy/schema.ts";
import type { Finding } from "./finding.ts";

const name = "archive";
const probe = { text: "Written by palimpsest doctor, and thrown away again.", kind: "result" } as const;

/** Whether the archive takes an original and gives it back: tried in a namespace of its own, which is emptied again. */
export async function checkArchive(location: ArchiveLocation, policy: Policy): Promise<Finding> {
	try {
		const archive = await openArchiveOfPolicy({ ...location, namespace: `doctor-${process.pid}` }, policy);
		if (!archive) {
			const advice = "Leave out --archive none, and PALIMPSEST_ARCHIVE, to be able to recall what was masked.";
			return { name, state: "warning", found: "none: nothing is kept, so nothing can be recalled", advice };
		}
		try {
			const [ref] = await archive.put([probe]);
			const { text } = await archive.get(ref ?? "");
			await archive.clear();
			const found = `${archive.location}: written and read`;
			if (text === probe.text) return { name, state: "ok", found };
			return { name, state: "failed", found, advice: "What was read is not what was written: look at the disk." };
		} finally {
			await archive.close();
		}
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { name, state: "failed", found: error.message };
	}
}
