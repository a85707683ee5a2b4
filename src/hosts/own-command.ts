import { existsSync } from "node:fs";
import path from "node:path";

/** How other programs call this one: by name if the shell finds it, else by the path of its script, or by `otherwise`. */
export function ownCommand(otherwise?: readonly string[]): readonly string[] {
	const name = process.platform === "win32" ? "palimpsest.cmd" : "palimpsest";
	const isThere = (process.env.PATH ?? "")
		.split(path.delimiter)
		// The folder that npx makes for one run does not last.
		.some((folder) => folder !== "" && !folder.includes("_npx") && existsSync(path.join(folder, name)));
	return isThere ? ["palimpsest"] : (otherwise ?? [process.execPath, path.resolve(process.argv[1] ?? "")]);
}

export function ownCommandLine(): string {
	return ownCommand().map(shellArgument).join(" ");
}

/** An argument that POSIX shells, PowerShell and cmd read as one word. */
export function shellArgument(argument: string): string {
	return plainWord.test(argument) ? argument : `"${argument.replace(/(["\\$`])/g, "\\$1")}"`;
}

/** A word of a POSIX shell, in which nothing is expanded. */
export function shellWord(word: string): string {
	return plainWord.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

const plainWord = /^[\w@%+=:,./-]+$/;
