import { fileToolTarget, isObject, stringAt } from "./file-tool-target.ts";
import { normalisePath } from "./normalise-path.ts";
import { patchPaths } from "./patch-paths.ts";
import { shellTarget } from "./shell-target.ts";
import { type CallTarget, otherTarget } from "./target.ts";

/** A call by its tool's name and its arguments as text: JSON, or free text (a patch, a script). */
export interface CallText {
	readonly name: string | undefined;
	readonly argumentsText: string | undefined;
}

const scriptKeys = ["command", "cmd", "script", "commands", "code", "shell_command", "input"];
const shellNames = /(?:^|[^a-z])(?:bash|sh|zsh|shell|exec|execute|terminal|commands?|powershell|cmd|run)(?:[^a-z]|$)/i;
const folderKeys = ["workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path"];

/**
 * Recognises what a call reads, writes, lists, searches or runs from its arguments, since hosts name tools for the same
 * job differently (`Bash`, `exec_command`, `run_shell_command`; `Read`, `view`, `str_replace_editor`). Paths are spelled
 * as `normalisePath` spells them. Takes time in proportion to the arguments.
 */
export function callTarget({ name = "", argumentsText = "" }: CallText): CallTarget {
	const given = parseObject(argumentsText);
	if (given === undefined) return targetOfFreeText(name, argumentsText);
	const folder = folderKeys.map((key) => stringAt(given, key)).find((one) => one !== undefined);
	const script = isShell(name, given) ? scriptIn(given) : undefined;
	if (script !== undefined) return shellTarget(script, folder === undefined ? undefined : normalisePath(folder));
	const patch = stringAt(given, "input") ?? stringAt(given, "patch");
	if (patch?.startsWith("*** Begin Patch")) return targetOfPatch(patch);
	return fileToolTarget(name, given) ?? otherTarget;
}

function targetOfFreeText(name: string, text: string): CallTarget {
	if (text.includes("*** Begin Patch") || /patch|diff/i.test(name)) return targetOfPatch(text);
	return shellNames.test(separated(name)) && text !== "" ? shellTarget(text) : otherTarget;
}

function targetOfPatch(patch: string): CallTarget {
	const writes = [...new Set(patchPaths(patch).flatMap((path) => normalisePath(path) ?? []))];
	return writes.length === 0 ? otherTarget : { ...otherTarget, kind: "write", paths: writes, writes };
}

/** A tool that runs commands: by its name, or by having a command and no file. */
function isShell(name: string, given: Readonly<Record<string, unknown>>): boolean {
	if (shellNames.test(separated(name))) return true;
	return (Object.hasOwn(given, "command") || Object.hasOwn(given, "cmd")) && !Object.hasOwn(given, "path");
}

/** The script in the arguments: a text, a list of words (`["bash", "-lc", SCRIPT]`) or a list of scripts. */
function scriptIn(given: Readonly<Record<string, unknown>>): string | undefined {
	for (const key of scriptKeys) {
		const value = Object.hasOwn(given, key) ? given[key] : undefined;
		if (typeof value === "string") return value;
		if (!Array.isArray(value)) continue;
		const words = value.filter((word): word is string => typeof word === "string");
		if (words.length === 0) continue;
		if (/^-\w*c$/.test(words[1] ?? "")) return words.slice(2).join(" ");
		return key === "commands" ? words.join("\n") : words.map(quoted).join(" ");
	}
	return undefined;
}

function quoted(word: string): string {
	return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A name in which words are apart: `runShellCommand` as `run Shell Command`. */
function separated(name: string): string {
	return name.slice(0, 200).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
	if (!text.trimStart().startsWith("{")) return undefined;
	try {
		const value: unknown = JSON.parse(text);
		return isObject(value) ? value : undefined;
	} catch {
		return undefined;
	}
}
