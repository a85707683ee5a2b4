import { isJsonObject, parseJsonObject } from "../conversation/json.js";
import { callArguments, pairResults } from "../conversation/turns.js";
import { shellTarget } from "./shell.js";
import { normalisePath, otherTarget, patchPaths } from "./targets.js";
/** For each of `pairResults`, the arguments of its call; `undefined` for orphans, and if they are not counted apart. */
export function resultArguments(transcript) {
	const { messages } = transcript;
	const texts = messages.map(callArguments);
	return pairResults(transcript).map(({ call, caller }) =>
		call && caller !== undefined ? texts[caller]?.[messages[caller]?.calls.indexOf(call) ?? -1] : undefined,
	);
}
const scriptKeys = ["command", "cmd", "script", "commands", "code", "shell_command", "input"];
const shellNames = /(?:^|[^a-z])(?:bash|sh|zsh|shell|exec|execute|terminal|commands?|powershell|cmd|run)(?:[^a-z]|$)/i;
/** Judges a call by its arguments, since hosts name tools for the same job differently. Takes linear time. */
export function callTarget({ name = "", argumentsText = "" }) {
	const given = parseJsonObject(argumentsText);
	if (given === undefined) return targetOfFreeText(name, argumentsText);
	const script = isShell(name, given) ? scriptIn(given) : undefined;
	if (script !== undefined) return shellTarget(script);
	const patch = stringAt(given, "input") ?? stringAt(given, "patch");
	if (patch?.startsWith("*** Begin Patch")) return targetOfPatch(patch);
	return fileToolTarget(name, given);
}
function targetOfFreeText(name, text) {
	if (text.includes("*** Begin Patch") || /patch|diff/i.test(name)) return targetOfPatch(text);
	return isShellName(name) ? shellTarget(text) : otherTarget;
}
function targetOfPatch(patch) {
	const writes = [...new Set(patchPaths(patch).flatMap((path) => normalisePath(path) ?? []))];
	return writes.length === 0 ? otherTarget : { ...otherTarget, kind: "write", paths: writes };
}
/** Whether a tool is named like one that runs commands. */
export function isShellName(name) {
	return shellNames.test(separated(name));
}
function isShell(name, given) {
	if (isShellName(name)) return true;
	return (Object.hasOwn(given, "command") || Object.hasOwn(given, "cmd")) && !Object.hasOwn(given, "path");
}
/** The script in the arguments: a text, a list of words (`["bash", "-lc", SCRIPT]`) or a list of scripts. */
function scriptIn(given) {
	for (const key of scriptKeys) {
		const value = given[key];
		if (typeof value === "string") return value;
		if (!Array.isArray(value)) continue;
		const words = value.filter((word) => typeof word === "string");
		if (words.length === 0) continue;
		if (/^-\w*c$/.test(words[1] ?? "")) return words.slice(2).join(" ");
		return key === "commands" ? words.join("\n") : words.map(quoted).join(" ");
	}
	return undefined;
}
function quoted(word) {
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
/** Only a file has lines or named parts. */
const lineKeys =
	"view_range line_range lines range start_line startLine line_start from_line StartLine start end_line endLine line_end to_line EndLine end offset line_offset limit n_lines num_lines line_count span_ids symbol symbols symbol_name function_name class_name section selector".split(
		" ",
	);
const writeNames =
	/^(?:edit|multi|write|create|replace|insert|update|append|apply|patch|delete|remove|move|rename|save|put)$/;
const readNames = /^(?:read|view|open|cat|get|show|fetch|load|head|tail)$/;
const listNames = /^(?:ls|list|glob|tree|dir)$/;
const searchNames = /^(?:grep|search|find|rg|semantic)$/;
const askingNames = /^(?:query|lookup|describe|inspect|count|browse)$/;
/** Whether the same call can be expected to return the same again and to change nothing: by what it reads, else by its name. */
export function isRepeatable(call) {
	const { kind } = callTarget(call);
	if (kind !== "other") return kind === "read" || kind === "list" || kind === "search";
	const words = nameWords(call.name ?? "");
	const named = (...names) => words.some((word) => names.some((one) => one.test(word)));
	return named(readNames, listNames, searchNames, askingNames) && !named(writeNames);
}
function fileToolTarget(name, given) {
	const paths = pathsIn(given);
	const kind = kindOf(name, given, paths.length > 0);
	return kind === undefined ? otherTarget : { kind, paths };
}
function kindOf(name, given, hasPath) {
	const words = nameWords(name);
	const command = stringAt(given, "command")?.toLowerCase();
	const named = (names) => words.some((word) => names.test(word));
	if (hasPath) {
		if (command === "view") return "read";
		if (command !== undefined && /^(?:create|str_replace|insert|undo_edit|write|edit)$/.test(command)) return "write";
		if (writeKeys.some((key) => isGiven(given[key]))) return "write";
	}
	if (named(searchNames) || (searchKeys.some((key) => isGiven(given[key])) && !named(listNames))) return "search";
	if (named(listNames)) return "list";
	if (!hasPath) return undefined;
	if (named(writeNames)) return "write";
	return named(readNames) || lineKeys.some((key) => isGiven(given[key])) ? "read" : undefined;
}
function pathsIn(given) {
	const written = pathKeys.map((key) => given[key]);
	for (const list of listKeys.map((key) => given[key])) {
		for (const item of Array.isArray(list) ? list : []) {
			written.push(...(isJsonObject(item) ? pathKeys.map((key) => item[key]) : [item]));
		}
	}
	for (const key of ["patch", "input", "diff"]) written.push(...patchPaths(stringAt(given, key) ?? ""));
	return [...new Set(written.flatMap((path) => (typeof path === "string" ? (normalisePath(path) ?? []) : [])))];
}
function isGiven(value) {
	return value !== undefined && value !== null;
}
/** The words of a tool's name: `mcp__files__read_file` and `ReadFile` both have `read` and `file`. */
function nameWords(name) {
	return separated(name)
		.toLowerCase()
		.split(/[^a-z0-9]/);
}
function separated(name) {
	return name.slice(0, 200).replace(/([a-z0-9])([A-Z])/g, "$1 $2");
}
function stringAt(given, key) {
	const value = given[key];
	return typeof value === "string" ? value : undefined;
}
