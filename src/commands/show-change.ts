import { structuredPatch } from "diff";
import { carryOutChange, type FileChange } from "../hooks/change-file.ts";
import { say, show, shownName } from "./shell.ts";

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
	show(`${shownName(file)}\n${lineDifference(before ?? "", after ?? "")}`);
	if (dryRun) {
		say("nothing was written (--dry-run)");
		return true;
	}
	const backup = await carryOutChange(file, change);
	say(`${done}${backup === undefined ? "" : `; what the file was: ${backup}`}`);
	return true;
}

/** The lines that change, with `-` and `+` before them and up to three lines around. */
function lineDifference(before: string, after: string): string {
	// A missing line break at the end of the file, or one of Windows, is no change that a reader cares about.
	const [old, changed] = [before, after].map((text) => text.replace(/(?<!\n)$/, "\n").replace(/^\n$/, ""));
	const { hunks } = structuredPatch("", "", old ?? "", changed ?? "", "", "", { context: 3, stripTrailingCr: true });
	return hunks.map(({ lines }) => lines.map((line) => `${line[0]} ${line.slice(1)}\n`).join("")).join("  …\n");
}
