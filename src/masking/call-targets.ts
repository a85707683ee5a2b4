import { isJsonObject, type JsonObject, parseJsonObject } from "../conversation/json.ts";
import type { Transcript } from "../conversation/transcript.ts";
import { callArguments, pairResults } from "../conversation/turns.ts";
import { shellTarget } from "./shell.ts";
import {
	type CallTarget,
	type FileRead,
	isAbsolute,
	normalisePath,
	otherTarget,
	patchPaths,
	type TargetKind,
} from "./targets.ts";

/** For each of `pairResults`, the arguments of its call; `undefined` for orphans, and if they are not counted apart. */
export function resultArguments(transcript: Transcript): readonly (string | undefined)[] {
	const { messages } = transcript;
	const texts = messages.map(callArguments);
	return pairResults(transcript).map(({ call, caller }) =>
		call && caller !== undefined ? texts[caller]?.[messages[caller]?.calls.indexOf(call) ?? -1] : undefined,
	);
}

/** Absolute paths with the same last part that a relative one is compared with. */
const mostAlike = 16;

export function resolver(): (target: CallTarget) => CallTarget {
	let folder: string | undefined;
	let openFile: string | undefined;
	const absolutes = new Map<string, string[]>();

	/** An earlier absolute path that ends with a relative one of two parts or more shows the working folder. */
	const learn = (path: string) => {
		const name = path.slice(path.lastIndexOf("/") + 1);
		if (isAbsolute(path)) {
			const alike = absolutes.get(name) ?? [];
			if (alike.length < mostAlike && !alike.includes(path)) alike.push(path);
			absolutes.set(name, alike);
		} else if (folder === undefined && path.includes("/") && !path.startsWith("..")) {
			const [only, ...others] = (absolutes.get(name) ?? []).filter((one) => one.endsWith(`/${path}`));
			if (only !== undefined && others.length === 0) folder = only.slice(0, -path.length - 1) || undefined;
		}
	};
	const absolute = (path: string) => normalisePath(path, folder) ?? path;

	return (target) => {
		const { paths, reads, writes } = target;
		if (target.folder !== undefined && isAbsolute(target.folder)) folder ??= target.folder;
		paths.forEach(learn);
		const named = reads[0]?.path ?? writes[0];
		if (target.openFile !== undefined && named !== undefined) openFile = absolute(named);
		else if (target.openFile !== undefined && openFile !== undefined) {
			const isWrite = target.openFile === "write";
			const read: FileRead = { path: openFile, lines: "part" };
			return { ...target, paths: [openFile], reads: isWrite ? [] : [read], writes: isWrite ? [openFile] : [] };
		}
		return {
			...target,
			paths: paths.map(absolute),
			reads: reads.map(({ path, lines }) => ({ path: absolute(path), lines })),
			writes: writes.map(absolute),
		};
	};
}

const scriptKeys = ["command", "cmd", "script", "commands", "code", "shell_command", "input"];

const shellNames = /(?:^|[^a-z])(?:bash|sh|zsh|shell|exec|execute|terminal|commands?|powershell|cmd|run)(?:[^a-z]|$)/i;

const folderKeys = ["workdir", "cwd", "working_directory", "workingDirectory", "directory", "dir_path"];

/** Judges a call by its arguments, since hosts name tools for the same job differently. Takes linear time. */
export function callTarget({
	name = "",
	argumentsText = "",
}: {
	readonly name: string | undefined;
	readonly argumentsText: string | undefined;
}): CallTarget {
	const given = parseJsonObject(argumentsText);
	if (given === undefined) return targetOfFreeText(name, argumentsText);
	const folder = folderKeys.map((key) => stringAt(given, key)).find((one) => one !== undefined);
	const script = isShell(name, given) ? scriptIn(given) : undefined;
	if (script !== undefined) return shellTarget(script, folder === undefined ? undefined : normalisePath(folder));
	const patch = stringAt(given, "input") ?? stringAt(given, "patch");
	if (patch?.startsWith("*** Begin Patch")) return targetOfPatch(patch);
	return fileToolTarget(name, given);
}

function targetOfFreeText(name: string, text: string): CallTarget {
	if (text.includes("*** Begin Patch") || /patch|diff/i.test(name)) return targetOfPatch(text);
	return shellNames.test(separated(name)) ? shellTarget(text) : otherTarget;
}

function targetOfPatch(patch: string): CallTarget {
	const writes = [...new Set(patchPaths(patch).flatMap((path) => normalisePath(path) ?? []))];
	return writes.length === 0 ? otherTarget : { ...otherTarget, kind: "write", paths: writes, writes };
}

function isShell(name: string, given: JsonObject): boolean {
	if (shellNames.test(separated(name))) return true;
	return (Object.hasOwn(given, "command") || Object.hasOwn(given, "cmd")) && !Object.hasOwn(given, "path");
}

/** The script in the arguments: a text, a list of words (`["bash", "-lc", SCRIPT]`) or a list of scripts. */
function scriptIn(given: JsonObject): string | undefined {
	for (const key of scriptKeys) {
		const value = given[key];
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
	return `'${word.replaceAll("'", `'\\''`)}'`;
}

const pathKeys =
	"file_path filePath path file filename file_name filepath target_file targetFile absolute_path absolutePath relative_path relative_workspace_path AbsolutePath TargetFile notebook_path directory dir_path folder uri".split(
		" ",
	);

const listKeys = ["files", "paths", "file_paths", "filePaths", "file_names", "edits", "changes"];

const writeKeys =
	"old_string old_str old_text oldText oldString new_string new_str new_text newText newString content contents file_text insert_text insert_line edit edits code_edit diff patch replacement new_source SEARCH".split(
		" ",
	);

const searchKeys = ["pattern", "query", "regex", "search", "glob", "file_pattern", "glob_pattern", "search_term"];

const partKeys = ["span_ids", "symbol", "symbols", "symbol_name", "function_name", "class_name", "section", "selector"];

const writeNames =
	/^(?:edit|multi|write|create|replace|insert|update|append|apply|patch|delete|remove|move|rename|save|put)$/;

const readNames = /^(?:read|view|open|cat|get|show|fetch|load|head|tail)$/;

const listNames = /^(?:ls|list|glob|tree|dir)$/;

const searchNames = /^(?:grep|search|find|rg|semantic)$/;

function fileToolTarget(name: string, given: JsonObject): CallTarget {
	const reads = filesIn(given);
	const paths = [...new Set(reads.map((read) => read.path))];
	const kind = kindOf(name, given, paths.length > 0);
	if (kind === undefined) return otherTarget;
	return {
		...otherTarget,
		kind,
		paths,
		reads: kind === "read" ? reads : [],
		writes: kind === "write" ? paths : [],
	};
}

function kindOf(name: string, given: JsonObject, hasPath: boolean): TargetKind | undefined {
	const words = nameWords(name);
	const command = stringAt(given, "command")?.toLowerCase();
	const named = (names: RegExp) => words.some((word) => names.test(word));
	if (hasPath) {
		if (command === "view") return "read";
		if (command !== undefined && /^(?:create|str_replace|insert|undo_edit|write|edit)$/.test(command)) return "write";
		if (writeKeys.some((key) => isGiven(given[key]))) return "write";
	}
	if (named(searchNames) || (searchKeys.some((key) => isGiven(given[key])) && !named(listNames))) return "search";
	if (named(listNames)) return "list";
	if (!hasPath) return undefined;
	if (named(writeNames)) return "write";
	return named(readNames) || linesIn(given) !== "whole" ? "read" : undefined;
}

function filesIn(given: JsonObject): FileRead[] {
	const files = new Map<string, FileRead>();
	const add = (path: string, from: JsonObject) => {
		const known = normalisePath(path);
		if (known !== undefined && !files.has(known)) files.set(known, { path: known, lines: linesIn(from) });
	};
	for (const key of pathKeys) add(stringAt(given, key) ?? "", given);
	for (const key of listKeys) {
		const list = given[key];
		if (!Array.isArray(list)) continue;
		for (const item of list as unknown[]) {
			if (typeof item === "string") add(item, given);
			else if (isJsonObject(item)) for (const inner of pathKeys) add(stringAt(item, inner) ?? "", item);
		}
	}
	for (const key of ["patch", "input", "diff"]) {
		for (const path of patchPaths(stringAt(given, key) ?? "")) add(path, {});
	}
	return [...files.values()];
}

/** The lines that arguments request: a range, an offset with a limit (from 1; 0 is the start too), or all. */
function linesIn(given: JsonObject): FileRead["lines"] {
	const range = ["view_range", "line_range", "lines", "range"].map((key) => given[key]).find(Array.isArray);
	const start = range ? numberIn(range[0]) : firstNumber(given, startKeys);
	const end = range ? numberIn(range[1]) : firstNumber(given, endKeys);
	if (start !== undefined || end !== undefined) {
		const to = end === undefined || end < 0 ? Number.POSITIVE_INFINITY : end;
		return { from: Math.max(1, start ?? 1), to };
	}
	const offset = firstNumber(given, ["offset", "line_offset"]);
	const limit = firstNumber(given, ["limit", "n_lines", "num_lines", "line_count"]);
	const isOfPart = partKeys.some((key) => (Array.isArray(given[key]) ? given[key].length > 0 : isGiven(given[key])));
	if (offset === undefined && limit === undefined) return isOfPart ? "part" : "whole";
	const from = Math.max(1, offset ?? 1);
	return { from, to: limit === undefined ? Number.POSITIVE_INFINITY : from + limit - 1 };
}

const startKeys = ["start_line", "startLine", "line_start", "from_line", "StartLine", "start"];

const endKeys = ["end_line", "endLine", "line_end", "to_line", "EndLine", "end"];

function firstNumber(given: JsonObject, keys: readonly string[]): number | undefined {
	return keys.map((key) => numberIn(given[key])).find((value) => value !== undefined);
}

function numberIn(value: unknown): number | undefined {
	const number = typeof value === "string" && /^-?\d{1,9}$/.test(value) ? Number(value) : value;
	return Number.isInteger(number) ? (number as number) : undefined;
}

function isGiven(value: unknown): boolean {
	return value !== undefined && value !== null;
}

/** The words of a tool's name: `mcp__files__read_file` and `ReadFile` both have `read` and `file`. */
function nameWords(name: string): string[] {
	return separated(name)
		.toLowerCase()
		.split(/[^a-z0-9]/);
}

function separated(name: string): string {
	return name.slice(0, 200).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
}

function stringAt(given: JsonObject, key: string): string | undefined {
	const value = given[key];
	return typeof value === "string" ? value : undefined;
}
