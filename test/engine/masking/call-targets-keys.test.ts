import { describe, expect, it } from "vitest";
import { callTarget } from "../../../src/engine/masking/call-targets.ts";
import { normalisePath, patchPaths } from "../../../src/engine/masking/targets.ts";

const target = (name: string, given: unknown) =>
	callTarget({ name, argumentsText: typeof given === "string" ? given : JSON.stringify(given) });

const kindOf = (name: string, given: unknown) => target(name, given).kind;

const words = (text: string) => text.split(" ");

const readsA = { kind: "read", paths: ["a"] };

const writesA = { kind: "write", paths: ["a"] };

const noTarget = { kind: "other", paths: [] };

const shows = { kind: "read", command: "cat a" };

describe("a shell", () => {
	it.each(
		words(
			"bash sh zsh shell exec execute terminal command commands powershell cmd run MyShell x_run_y runTask my-cmd RUN",
		),
	)("is a tool with the name %s", (name) => {
		expect(target(name, { script: "cat a" })).toMatchObject(shows);
		expect(target(name, "cat a")).toMatchObject(shows);
	});

	it.each(["runner", "shellfish", "crash", "other"])("is not a tool with the name %s", (name) => {
		expect(target(name, { script: "cat a" })).toEqual(noTarget);
		expect(target(name, "cat a")).toEqual(noTarget);
	});

	it.each(words("command cmd script commands code shell_command input"))("takes its script under %s", (key) => {
		expect(target("bash", { [key]: "cat a" })).toMatchObject(shows);
		expect(target("bash", { [key]: ["sh", "-lc", "cat a"] })).toMatchObject(shows);
		const isNamed = key === "command" || key === "cmd";
		expect(target("other", { [key]: "cat a" })).toMatchObject(isNamed ? shows : noTarget);
		expect(target("other", { [key]: "cat a", path: "b" })).toEqual(noTarget);
	});

	it("takes a list of words or of scripts", () => {
		const commandOf = (given: object) => target("bash", given).command;
		expect(commandOf({ command: ["bash", "-c", "cat a", "b"] })).toBe("cat a b");
		expect(commandOf({ command: ["cat", "a;b", "c/d:e=f@g%h+i,j-k"] })).toBe("cat '…' c/d:e=f@g%h+i,j-k");
		expect(kindOf("bash", { command: ["echo", ">", "a"] })).toBe("other");
		expect(commandOf({ commands: ["echo a", 5, "cat b"] })).toBe("cat b");
		for (const command of [[], [5], 5]) expect(commandOf({ command, cmd: "cat a" })).toBe("cat a");
		expect(commandOf({ command: ["x-c", "y-c", "cat a"] })).toBe("x-c y-c");
		for (const given of [{}, { command: 5 }, ""]) expect(target("bash", given)).toEqual(noTarget);
	});
});

describe("a patch", () => {
	it.each<[string, unknown, readonly string[]]>([
		["my_patch", "--- a/x\n+++ b/y\n", ["x", "y"]],
		["seeDiff", "+++ b/./y", ["y"]],
		["other", "*** Begin Patch\n*** Delete File: x\n", ["x"]],
		["other", { input: "*** Begin Patch\n*** Move to: x\n" }, ["x"]],
		["other", { patch: "*** Begin Patch\n*** Add File: x\n" }, ["x"]],
		["other", { patch: "+++ b/x" }, ["x"]],
		["other", { input: "+++ b/x", new_str: "" }, ["x"]],
		["other", { diff: "+++ b/x\n", path: "y" }, ["y", "x"]],
		["other", { input: "*** Begin Patch\n*** Add File: x\n", path: "y" }, ["x"]],
		["other", { patch: "*** Begin Patch\n*** Add File: x\n", path: "y" }, ["x"]],
		["other", { input: "no patch", patch: "*** Begin Patch\n*** Add File: x\n" }, ["x"]],
	])("%s %j", (name, given, writes) => {
		expect(target(name, given)).toEqual({ kind: "write", paths: writes });
	});

	it("without files has no target", () => {
		for (const given of ["", "*** Begin Patch\n", "*** Begin Patch\n*** Add File: *.ts", "+++ $x"]) {
			expect(target("apply_patch", given)).toEqual(noTarget);
		}
		expect(target("other", "*** Delete File: x\n")).toEqual(noTarget);
	});

	it.each<[string, readonly string[]]>([
		["*** Add File: a\n*** Update File:  b \r\n*** Delete File: a\n*** Move to: c\n+++ b/d", ["a", "b", "c"]],
		["--- a/x\t2020\n+++ b/y", ["x", "y"]],
		["+++ x\n---  \n--- /dev/null", ["x"]],
		["--- /dev/null\n+++ ab/c", ["ab/c"]],
		["*** Add File: \n+++ z", ["z"]],
		["x *** Add File: a\n x +++ y\n++ x\n-- x", []],
	])("names files in its headers: %j", (patch, paths) => {
		expect(patchPaths(patch)).toEqual(paths);
	});

	it("names at most 1000 files", () => {
		const patch = Array.from({ length: 1_005 }, (_, index) => `*** Add File: f${index}`).join("\n");
		expect(patchPaths(patch)).toHaveLength(1_000);
		expect(patchPaths(patch).at(-1)).toBe("f999");
	});
});

describe("a tool of files", () => {
	it.each(
		words(
			"file_path filePath path file filename file_name filepath target_file targetFile absolute_path absolutePath relative_path relative_workspace_path AbsolutePath TargetFile notebook_path directory dir_path folder uri",
		),
	)("names a file under %s", (key) => {
		expect(target("read", { [key]: "./a" })).toEqual(readsA);
		expect(target("read", { files: [{ [key]: "./a" }] })).toEqual(readsA);
		expect(target("read", { [`${key}s_`]: "./a" })).toEqual(noTarget);
		expect(target("read", { [key]: 5 })).toEqual(noTarget);
	});

	it.each(words("files paths file_paths filePaths file_names edits changes others"))("lists files under %s", (key) => {
		const given = { [key]: ["a", "./b", "a", 5, null, { path: "c" }, { uri: "d", start: 3 }] };
		const { kind, paths } = target("read", given);
		expect(kind).toBe(key === "edits" ? "write" : key === "others" ? "other" : "read");
		expect(paths).toEqual(key === "others" ? [] : ["a", "b", "c", "d"]);
		expect(target("read", { [key]: "a" }).paths).toEqual([]);
	});

	it.each(
		words(
			"old_string old_str old_text oldText oldString new_string new_str new_text newText newString content contents file_text insert_text insert_line edit edits code_edit diff patch replacement new_source SEARCH",
		),
	)("writes if it is given %s", (key) => {
		expect(target("read", { path: "a", [key]: 0 })).toEqual(writesA);
		expect(target("read", { path: "a", [key]: "" })).toEqual(writesA);
		expect(target("read", { path: "a", [key]: null })).toEqual(readsA);
		expect(target("read", { path: "a", [`${key}_`]: 0 })).toEqual(readsA);
		expect(target("read", { [key]: 0 })).toEqual(noTarget);
	});

	it.each(words("pattern query regex search glob file_pattern glob_pattern search_term"))(
		"searches if it is given %s",
		(key) => {
			expect(kindOf("tool", { [key]: "x", path: "a" })).toBe("search");
			expect(kindOf("tool", { [key]: "x" })).toBe("search");
			expect(kindOf("tool", { [key]: null, path: "a" })).toBe("other");
			expect(kindOf("tool", { [`${key}_`]: "x", path: "a" })).toBe("other");
			expect(kindOf("list_x", { [key]: "x", path: "a" })).toBe("list");
		},
	);

	it.each([
		["write", "edit multi write create replace insert update append apply patch delete remove move rename save put"],
		["read", "read view open cat get show fetch load head tail"],
		["list", "ls list glob tree dir"],
		["search", "grep search find rg semantic"],
		["other", "other reader reedit edits lists finder refind heads"],
	])("that may %s has one of these words in its name: %s", (kind, names) => {
		const kindWithout = kind === "list" || kind === "search" ? kind : "other";
		for (const name of words(names)) {
			expect(kindOf(name, { path: "a" })).toBe(kind);
			expect(kindOf(`my_${name}2`, { path: "a" })).toBe("other");
			expect(kindOf(`mcp__x__${name}-y`, { path: "a" })).toBe(kind);
			expect(kindOf(`do${name.charAt(0).toUpperCase()}${name.slice(1)}Now`, { path: "a" })).toBe(kind);
			expect(kindOf(name, { id: "a" })).toBe(kindWithout);
		}
	});

	it("is known by its command", () => {
		for (const command of ["view", "VIEW"]) expect(target("edit", { command, path: "a" })).toEqual(readsA);
		for (const command of words("create str_replace insert undo_edit write edit")) {
			expect(target("tool", { command, path: "a" })).toEqual(writesA);
			expect(target("tool", { command: command.toUpperCase(), path: "a" })).toEqual(writesA);
			expect(kindOf("tool", { command: `${command}s`, path: "a" })).toBe("other");
			expect(kindOf("tool", { command: `re${command}`, path: "a" })).toBe("other");
			expect(kindOf("get", { command, id: "a" })).not.toBe("read");
		}
		expect(target("tool", { command: "view" })).toMatchObject({ kind: "run", command: "view" });
	});

	it("is recognised by the first 200 characters of its name", () => {
		expect(kindOf(`${"x".repeat(195)}_read`, { path: "a" })).toBe("read");
		expect(kindOf(`${"x".repeat(196)}_read`, { path: "a" })).toBe("other");
	});
});

describe("a tool of an unknown name", () => {
	it.each(
		words(
			"view_range line_range lines range start_line startLine line_start from_line StartLine start end_line endLine line_end to_line EndLine end offset line_offset limit n_lines num_lines line_count span_ids symbol symbols symbol_name function_name class_name section selector",
		),
	)("reads a file if it is given %s", (key) => {
		expect(target("tool", { path: "a", [key]: 3 })).toEqual(readsA);
		expect(target("tool", { path: "a", [key]: [2, 5] })).toEqual(readsA);
		expect(target("tool", { path: "a", [key]: null }).kind).toBe("other");
		expect(target("tool", { path: "a", [`${key}_`]: 3 }).kind).toBe("other");
		expect(target("tool", { [key]: 3 }).kind).toBe("other");
	});
});

describe("a path", () => {
	it.each<[string, string | undefined]>([
		...["a\rb", "a\0b", "a?b", "a<b", "a>b", 'a"b', "ftp://a", "a1+.-://b", "HTTP://x", "/dev/x"].map(
			(path): [string, undefined] => [path, undefined],
		),
		["file://a", "a"],
		["1a://b", "1a:/b"],
		["dev/null", "dev/null"],
		["cache/ftp://a", "cache/ftp:/a"],
		["a/../../b", "../b"],
		["a/b/../../..", ".."],
		["..", ".."],
		["/..", "/.."],
		["C:/a", "C:/a"],
		["~", "~"],
		["//a", "/a"],
		["a\\b", "a/b"],
		["a".repeat(1_000), "a".repeat(1_000)],
	])("%j", (path, plain) => {
		expect(normalisePath(path)).toBe(plain);
	});
});
