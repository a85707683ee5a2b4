import { existsSync, realpathSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { packageFile } from "../version.ts";
import type { ServerStart } from "./host.ts";

/** How other programs call this one: by name if the shell finds it, else by the path of its script, or by `otherwise`. */
export function ownCommand(otherwise?: readonly string[]): readonly string[] {
	return placeOnPath() === undefined ? (otherwise ?? byPath()) : ["palimpsest"];
}

export function ownCommandLine(): string {
	return ownCommand().map(shellArgument).join(" ");
}

/**
 * The same where the PATH is not known: in a login shell, which sets its own, and in programs that did not start from here. By the
 * paths of the Node.js and the script that run now.
 */
export function ownCommandAnywhere(): string {
	return byPath().map(shellArgument).join(" ");
}

/** The command that is entered in settings of other programs. A checkout enters itself, not another `palimpsest` of the PATH. */
export function enteredCommand(): readonly string[] {
	const place = placeOnPath();
	return place !== undefined && (!isCheckout() || isThisProgram(place)) ? ["palimpsest"] : byPath();
}

/** The command that starts the server: npx, which on Windows is a script that only a shell can run. */
export function serverStart(choices: {
	readonly preset?: string | undefined;
	readonly locale?: string | undefined;
	readonly archive?: string | undefined;
	/** Names with commas between them; absent: all. */
	readonly tools?: string | undefined;
	readonly command?: readonly string[] | undefined;
	readonly platform: NodeJS.Platform;
}): ServerStart {
	const { preset, locale, archive, tools, command, platform } = choices;
	const fromNpm = ["npx", "-y", "palimpsest-mcp"];
	const [program = "npx", ...args] = command ?? (platform === "win32" ? ["cmd", "/c", ...fromNpm] : fromNpm);
	const named = {
		PALIMPSEST_PRESET: preset,
		PALIMPSEST_LOCALE: locale,
		PALIMPSEST_ARCHIVE: archive,
		PALIMPSEST_TOOLS: tools,
	};
	const env = Object.fromEntries(Object.entries(named).flatMap(([name, value]) => (value ? [[name, value]] : [])));
	return { command: program, args, env };
}

/** The package has no sources. */
export function isCheckout(): boolean {
	return existsSync(packageFile("src/cli.ts"));
}

/** The file that the shell runs as `palimpsest`. */
function placeOnPath(): string | undefined {
	const name = process.platform === "win32" ? "palimpsest.cmd" : "palimpsest";
	return (
		(process.env.PATH ?? "")
			.split(path.delimiter)
			// The folder that npx makes for one run does not last.
			.filter((folder) => folder !== "" && !folder.includes("_npx"))
			.map((folder) => path.join(folder, name))
			.find((file) => existsSync(file))
	);
}

/** npm links the script itself; on Windows it writes a script of its own next to the linked package. */
function isThisProgram(file: string): boolean {
	const linked =
		process.platform === "win32" ? path.join(path.dirname(file), "node_modules/palimpsest-mcp/dist/cli.js") : file;
	try {
		return realpathSync(linked) === realpathSync(fileURLToPath(packageFile("dist/cli.js")));
	} catch {
		return false;
	}
}

function byPath(): readonly string[] {
	return [process.execPath, path.resolve(process.argv[1] ?? "")];
}

/** An argument that POSIX shells, PowerShell and cmd read as one word. */
export function shellArgument(argument: string): string {
	return plainWord.test(argument) ? argument : `"${argument.replace(/(["\\$`])/g, "\\$1")}"`;
}

/** A word of a POSIX shell, in which nothing is expanded. */
export function shellWord(word: string): string {
	return plainWord.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A word that programs on Windows read unchanged. */
export function windowsWord(word: string): string {
	return `"${word.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, "$1$1")}"`;
}

const plainWord = /^[\w@%+=:,./-]+$/;
