import { carryOutChange, type FileChange } from "../hooks/change-file.ts";
import { lineDifference } from "../hooks/line-difference.ts";
import { say } from "./shell.ts";

/**
 * Prints what changes in a user's file, then changes it, unless that is a dry run. Answers with whether anything changed
 * or would.
 */
export async function showChange(what: {
	readonly file: string;
	readonly change: FileChange;
	readonly dryRun: boolean | undefined;
	/** What is said afterwards, such as "installed". */
	readonly done: string;
}): Promise<boolean> {
	const { file, change, dryRun, done } = what;
	const { before, after } = change;
	if (before === after) {
		say(`${file}: nothing to change`);
		return false;
	}
	process.stdout.write(`${file}\n${lineDifference(before ?? "", after ?? "")}`);
	if (dryRun) {
		say("nothing was written (--dry-run)");
		return true;
	}
	const backup = await carryOutChange(file, change);
	say(`${done}${backup === undefined ? "" : `; what the file was: ${backup}`}`);
	return true;
}
