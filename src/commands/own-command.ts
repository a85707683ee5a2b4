import { existsSync } from "node:fs";
import path from "node:path";
import { shellArgument } from "../hooks/shell-argument.ts";

/** How this program is called from elsewhere: by name where the shell finds it, else by its place. */
export function ownCommand(): readonly string[] {
	const folders = (process.env.PATH ?? "").split(path.delimiter).filter((folder) => folder !== "");
	const names = process.platform === "win32" ? ["palimpsest.cmd"] : ["palimpsest"];
	// A folder that npx makes for one run is gone afterwards.
	const isThere = folders.some(
		(folder) => !folder.includes("_npx") && names.some((name) => existsSync(path.join(folder, name))),
	);
	return isThere ? ["palimpsest"] : [process.execPath, path.resolve(process.argv[1] ?? "")];
}

/** The same as a shell takes it: for who reads a notice and wants the whole. */
export function ownCommandLine(): string {
	return ownCommand().map(shellArgument).join(" ");
}
