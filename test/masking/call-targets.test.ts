import { describe, expect, it } from "vitest";
import { callTarget } from "../../src/masking/call-targets.ts";
import { resultTargets } from "../../src/masking/judge-results.ts";
import type { CallTarget } from "../../src/masking/targets.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";
import { bash, type Called, called, edit, read } from "./called.ts";

const target = (name: string, given: unknown): CallTarget =>
	callTarget({ name, argumentsText: typeof given === "string" ? given : JSON.stringify(given) });

describe("callTarget reads file tools by their arguments", () => {
	it.each<[string, string, unknown, object]>([
		["Claude Code", "Read", { file_path: "/p/a.ts" }, { kind: "read", paths: ["/p/a.ts"] }],
		[
			"a range by offset",
			"Read",
			{ file_path: "/p/a.ts", offset: 11, limit: 10 },
			{ reads: [{ lines: { from: 11, to: 20 } }] },
		],
		[
			"a limit alone",
			"read",
			{ filePath: "./a.ts", limit: 5 },
			{ paths: ["a.ts"], reads: [{ lines: { from: 1, to: 5 } }] },
		],
		["an offset of 0", "read", { path: "a", offset: 0, limit: 5 }, { reads: [{ lines: { from: 1, to: 5 } }] }],
		[
			"Gemini CLI",
			"read_file",
			{ file_path: "a.ts", start_line: 3, end_line: 7 },
			{ kind: "read", reads: [{ lines: { from: 3, to: 7 } }] },
		],
		[
			"SWE-agent's editor",
			"str_replace_editor",
			{ command: "view", path: "/a.py", view_range: [5, -1] },
			{ kind: "read", reads: [{ lines: { from: 5, to: Number.POSITIVE_INFINITY } }] },
		],
		[
			"the same, with nulls",
			"str_replace_editor",
			{ command: "view", path: "a.py", view_range: null, old_str: null },
			{ kind: "read", reads: [{ path: "a.py", lines: "whole" }] },
		],
		["Kimi CLI", "ReadFile", { path: "/a.py", line_offset: 2, n_lines: 3 }, { reads: [{ lines: { from: 2, to: 4 } }] }],
		[
			"several files",
			"read_files",
			{ files: [{ path: "a", start_line: 1, end_line: 2 }, { path: "b" }] },
			{
				paths: ["a", "b"],
				reads: [
					{ path: "a", lines: { from: 1, to: 2 } },
					{ path: "b", lines: "whole" },
				],
			},
		],
		[
			"a part by symbol",
			"ViewCode",
			{ files: [{ file_path: "a.py", start_line: null, end_line: null, span_ids: ["f"] }] },
			{ kind: "read", reads: [{ path: "a.py", lines: "part" }] },
		],
		["an MCP server", "mcp__files__open_file", { uri: "file:///p/a.ts" }, { kind: "read", paths: ["/p/a.ts"] }],
		["Windows", "read_file", { path: "C:\\p\\.\\a.ts" }, { paths: ["C:/p/a.ts"] }],
		["an edit", "Edit", { file_path: "/a", old_string: "x", new_string: "" }, { kind: "write", writes: ["/a"] }],
		[
			"several edits",
			"MultiEdit",
			{ file_path: "/a", edits: [{ old_string: "x" }] },
			{ kind: "write", writes: ["/a"] },
		],
		["a new file", "write_file", { path: "a", content: "" }, { kind: "write", reads: [], writes: ["a"] }],
		["the editor", "str_replace_editor", { command: "insert", path: "a", insert_line: 3 }, { kind: "write" }],
		["Kimi's edit", "StrReplaceFile", { path: "/a", edit: { old: "x", new: "y" } }, { kind: "write", writes: ["/a"] }],
		["OpenAI's patch", "apply_patch", { type: "update_file", path: "a", diff: "@@" }, { kind: "write", writes: ["a"] }],
		["a search", "Grep", { pattern: "x", path: "src" }, { kind: "search", paths: ["src"], reads: [] }],
		["a listing", "Glob", { pattern: "**/*.go" }, { kind: "list", paths: [] }],
		["a folder", "list_directory", { path: "src" }, { kind: "list", paths: ["src"] }],
		["no file", "get_order_details", { order_id: "#W1" }, { kind: "other", paths: [] }],
		["notes", "TodoWrite", { todos: [{ content: "Edit a.ts" }] }, { kind: "other", paths: [] }],
	])("%s", (_, name, given, expected) => {
		expect(target(name, given)).toMatchObject(expected);
	});

	it("reads patches by their headers", () => {
		const patch = "*** Begin Patch\n*** Update File: ./a.ts\n@@\n-x\n+y\n*** Add File: b.ts\n+z\n*** End Patch";
		const expected = { kind: "write", writes: ["a.ts", "b.ts"] };
		expect(target("apply_patch", patch)).toMatchObject(expected);
		expect(target("apply_patch", { input: patch })).toMatchObject(expected);
		expect(target("shell", { command: ["apply_patch", patch] })).toMatchObject({ kind: "run" });
		expect(target("shell", { cmd: `apply_patch <<'EOF'\n${patch}\nEOF` })).toMatchObject({ writes: ["a.ts", "b.ts"] });
		const diff = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/new.ts\n";
		expect(target("apply_diff", diff)).toMatchObject({ kind: "write", writes: ["src/a.ts", "new.ts"] });
	});

	it.each(["", "not json", "{broken", "[1]", "null", '{"path": 5}', '{"path": ""}', '{"__proto__": {"path": "a"}}'])(
		"finds no target in %j",
		(given) => {
			expect(target("read_file", given)).toEqual({ kind: "other", paths: [], reads: [], writes: [] });
		},
	);

	it("accepts a call without name or arguments", () => {
		expect(callTarget({ name: undefined, argumentsText: undefined }).kind).toBe("other");
	});
});

describe("callTarget reads shells under any name", () => {
	it.each<[string, unknown]>([
		["Bash", { command: "cat ./a.ts" }],
		["bash", { cmd: "cat a.ts" }],
		["execute_bash", { command: "cat a.ts" }],
		["exec_command", { cmd: "cat a.ts", workdir: "." }],
		["run_shell_command", { command: "cat a.ts" }],
		["runTerminalCommand", { command: "cat a.ts" }],
		["shell", { command: ["bash", "-lc", "cat a.ts"] }],
		["shell", { command: ["cat", "a.ts"] }],
		["local_shell", { type: "exec", command: ["cat", "./a.ts"] }],
		["shell", { commands: ["true", "cat a.ts"] }],
		["developer__shell", { command: "cat a.ts" }],
		["bash", "cat a.ts"],
		["anything", { command: "cat a.ts" }],
	])("%s %j", (name, given) => {
		expect(target(name, given)).toMatchObject({ kind: "read", paths: ["a.ts"], writes: [] });
	});
});

const pathsOf = (...all: Called[]) => resultTargets(transcriptOf(...called(...all))).map((target) => target.paths);

describe("resultTargets", () => {
	it("gives each result the target of its call", () => {
		const targets = resultTargets(transcriptOf(...called(read("/a.ts"), edit("/a.ts"), bash("npm test"))));
		expect(targets.map(({ kind }) => kind)).toEqual(["read", "write", "run"]);
		expect(targets[1]?.writes).toEqual(["/a.ts"]);
	});

	it("finds none for an orphan", () => {
		const orphan = messageOf({ role: "tool", results: [resultOf("gone")] });
		expect(resultTargets(transcriptOf(orphan))).toMatchObject([{ kind: "other", paths: [] }]);
	});

	it("resolves relative paths in the folder that a command changed to", () => {
		expect(pathsOf(bash("cd /repo && ls"), read("src/a.ts"), read("/repo/src/a.ts"))).toEqual([
			[],
			["/repo/src/a.ts"],
			["/repo/src/a.ts"],
		]);
	});

	it("finds the folder by a relative path that ends an absolute one", () => {
		expect(pathsOf(read("/home/me/p/src/a.ts"), bash("cat src/a.ts README.md"))).toEqual([
			["/home/me/p/src/a.ts"],
			["/home/me/p/src/a.ts", "/home/me/p/README.md"],
		]);
	});

	it("finds the folder by a path that was read twice", () => {
		expect(pathsOf(read("/p/src/a.ts"), read("/p/src/a.ts"), read("src/a.ts"), read("b.ts"))[3]).toEqual(["/p/b.ts"]);
	});

	it("does not guess when two paths end alike, or by a name only", () => {
		const twice = [read("/x/src/a.ts"), read("/y/src/a.ts"), bash("cat src/a.ts")];
		expect(pathsOf(...twice)[2]).toEqual(["src/a.ts"]);
		expect(pathsOf(read("/x/docs/README.md"), bash("cat README.md"))[1]).toEqual(["README.md"]);
	});

	it("follows the file that is open in SWE-agent's shell", () => {
		const targets = resultTargets(
			transcriptOf(...called(bash("open src/a.py 10"), bash("goto 90"), bash("edit 3:4\nx\nend_of_edit"), bash("ls"))),
		);
		expect(targets.map(({ kind, paths }) => [kind, ...paths])).toEqual([
			["read", "src/a.py"],
			["read", "src/a.py"],
			["write", "src/a.py"],
			["list"],
		]);
		expect(targets[2]?.writes).toEqual(["src/a.py"]);
		expect(resultTargets(transcriptOf(...called(bash("goto 90"))))[0]?.paths).toEqual([]);
	});
});
