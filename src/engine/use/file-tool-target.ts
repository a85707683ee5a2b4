import { normalisePath } from "./normalise-path.ts";
import { patchPaths } from "./patch-paths.ts";
import { type CallTarget, type FileRead, otherTarget, type TargetKind } from "./target.ts";

type Arguments = Readonly<Record<string, unknown>>;

const pathKeys = [
	"file_path",
	"filePath",
	"path",
	"file",
	"filename",
	"file_name",
	"filepath",
	"target_file",
	"targetFile",
	"absolute_path",
	"absolutePath",
	"relative_path",
	"relative_workspace_path",
	"AbsolutePath",
	"TargetFile",
	"notebook_path",
	"directory",
	"dir_path",
	"folder",
	"uri",
];
const listKeys = ["files", "paths", "file_paths", "filePaths", "file_names", "edits", "changes"];
/** Arguments that hold what is to be written. */
const writeKeys = [
	"old_string",
	"old_str",
	"old_text",
	"oldText",
	"oldString",
	"new_string",
	"new_str",
	"new_text",
	"newText",
	"newString",
	"content",
	"contents",
	"file_text",
	"insert_text",
	"insert_line",
	"edit",
	"edits",
	"code_edit",
	"diff",
	"patch",
	"replacement",
	"new_source",
	"SEARCH",
];
const searchKeys = ["pattern", "query", "regex", "search", "glob", "file_pattern", "glob_pattern", "search_term"];
/** Arguments that name a part of a file otherwise than by lines. */
const partKeys = ["span_ids", "symbol", "symbols", "symbol_name", "function_name", "class_name", "section", "selector"];
const writeNames =
	/^(?:edit|multi|write|create|replace|insert|update|append|apply|patch|delete|remove|move|rename|save|put)$/;
const readNames = /^(?:read|view|open|cat|get|show|fetch|load|head|tail)$/;
const listNames = /^(?:ls|list|glob|tree|dir)$/;
const searchNames = /^(?:grep|search|find|rg|semantic)$/;

/** Reads what a file tool's arguments say; `undefined` where they name no file and nothing to look for. */
export function fileToolTarget(name: string, given: Arguments): CallTarget | undefined {
	const words = nameWords(name);
	const command = stringAt(given, "command")?.toLowerCase();
	const reads = filesIn(given);
	const paths = [...new Set(reads.map((read) => read.path))];
	const kind = kindOf(words, given, command, paths.length > 0);
	if (kind === undefined || (paths.length === 0 && kind !== "search" && kind !== "list")) return undefined;
	const [first] = reads;
	const range = kind === "read" && reads.length === 1 && typeof first?.lines === "object" ? first.lines : undefined;
	return {
		...otherTarget,
		kind,
		paths,
		reads: kind === "read" ? reads : [],
		writes: kind === "write" ? paths : [],
		...(range === undefined ? {} : { range }),
	};
}

function kindOf(
	words: readonly string[],
	given: Arguments,
	command: string | undefined,
	hasPath: boolean,
): TargetKind | undefined {
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
	return named(readNames) || hasRange(given) ? "read" : undefined;
}

/** The files that the arguments name, each with the lines that they ask for. */
function filesIn(given: Arguments): FileRead[] {
	const files = new Map<string, FileRead>();
	const add = (path: string | undefined, from: Arguments) => {
		const known = path === undefined ? undefined : normalisePath(path);
		if (known !== undefined && !files.has(known)) files.set(known, { path: known, lines: linesIn(from) });
	};
	for (const key of pathKeys) add(stringAt(given, key), given);
	for (const key of listKeys) {
		const list = given[key];
		if (!Array.isArray(list)) continue;
		for (const item of list as unknown[]) {
			if (typeof item === "string") add(item, given);
			else if (isObject(item)) for (const inner of pathKeys) add(stringAt(item, inner), item);
		}
	}
	for (const key of ["patch", "input", "diff"]) {
		for (const path of patchPaths(stringAt(given, key) ?? "")) add(path, {});
	}
	return [...files.values()];
}

/** The lines that arguments ask for: a range, an offset with a limit (from 1; 0 is the start too), or all. */
function linesIn(given: Arguments): FileRead["lines"] {
	const range = ["view_range", "line_range", "lines", "range"].map((key) => given[key]).find(Array.isArray);
	const start = range
		? numberIn(range[0])
		: firstNumber(given, ["start_line", "startLine", "line_start", "from_line", "StartLine", "start"]);
	const end = range
		? numberIn(range[1])
		: firstNumber(given, ["end_line", "endLine", "line_end", "to_line", "EndLine", "end"]);
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

function hasRange(given: Arguments): boolean {
	return linesIn(given) !== "whole";
}

function firstNumber(given: Arguments, keys: readonly string[]): number | undefined {
	for (const key of keys) {
		const value = numberIn(given[key]);
		if (value !== undefined) return value;
	}
	return undefined;
}

function numberIn(value: unknown): number | undefined {
	const number = typeof value === "string" && /^-?\d{1,9}$/.test(value) ? Number(value) : value;
	return typeof number === "number" && Number.isInteger(number) ? number : undefined;
}

function isGiven(value: unknown): boolean {
	return value !== undefined && value !== null;
}

/** The words of a tool's name: `mcp__files__read_file` and `ReadFile` both have `read` and `file`. */
function nameWords(name: string): string[] {
	return name
		.slice(0, 200)
		.replace(/([a-z0-9])([A-Z])/g, "$1 $2")
		.toLowerCase()
		.split(/[^a-z0-9]+/);
}

export function isObject(value: unknown): value is Arguments {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function stringAt(given: Arguments, key: string): string | undefined {
	const value = Object.hasOwn(given, key) ? given[key] : undefined;
	return typeof value === "string" ? value : undefined;
}
