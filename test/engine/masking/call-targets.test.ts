import { describe, expect, it } from "vitest";
import { callTarget, resultArguments } from "../../../src/engine/masking/call-targets.ts";
import { resultTargets } from "../../../src/engine/masking/judge-results.ts";
import type { CallTarget } from "../../../src/engine/masking/targets.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";
import { bash, called, edit, read } from "./called.ts";

const target = (name: string, given: unknown): CallTarget =>
	callTarget({ name, argumentsText: typeof given === "string" ? given : JSON.stringify(given) });

describe("callTarget reads file tools by their arguments", () => {
	it.each<[string, string, unknown, object]>([
		["Claude Code", "Read", { file_path: "/p/a.ts" }, { kind: "read", paths: ["/p/a.ts"] }],
		["a range by offset", "Read", { file_path: "/p/a.ts", offset: 11, limit: 10 }, { kind: "read" }],
		["a limit alone", "read", { filePath: "./a.ts", limit: 5 }, { paths: ["a.ts"] }],
		["an offset of 0", "read", { path: "a", offset: 0, limit: 5 }, { kind: "read" }],
		["Gemini CLI", "read_file", { file_path: "a.ts", start_line: 3, end_line: 7 }, { kind: "read" }],
		[
			"SWE-agent's editor",
			"str_replace_editor",
			{ command: "view", path: "/a.py", view_range: [5, -1] },
			{ kind: "read" },
		],
		[
			"the same, with nulls",
			"str_replace_editor",
			{ command: "view", path: "a.py", view_range: null, old_str: null },
			{ kind: "read" },
		],
		["Kimi CLI", "ReadFile", { path: "/a.py", line_offset: 2, n_lines: 3 }, { kind: "read" }],
		[
			"several files",
			"read_files",
			{ files: [{ path: "a", start_line: 1, end_line: 2 }, { path: "b" }] },
			{
				paths: ["a", "b"],
			},
		],
		[
			"a part by symbol",
			"ViewCode",
			{ files: [{ file_path: "a.py", start_line: null, end_line: null, span_ids: ["f"] }] },
			{ kind: "read" },
		],
		["an MCP server", "mcp__files__open_file", { uri: "file:///p/a.ts" }, { kind: "read", paths: ["/p/a.ts"] }],
		["Windows", "read_file", { path: "C:\\p\\.\\a.ts" }, { paths: ["C:/p/a.ts"] }],
		["an edit", "Edit", { file_path: "/a", old_string: "x", new_string: "" }, { kind: "write", paths: ["/a"] }],
		["several edits", "MultiEdit", { file_path: "/a", edits: [{ old_string: "x" }] }, { kind: "write", paths: ["/a"] }],
		["a new file", "write_file", { path: "a", content: "" }, { kind: "write", paths: ["a"] }],
		["the editor", "str_replace_editor", { command: "insert", path: "a", insert_line: 3 }, { kind: "write" }],
		["Kimi's edit", "StrReplaceFile", { path: "/a", edit: { old: "x", new: "y" } }, { kind: "write", paths: ["/a"] }],
		["OpenAI's patch", "apply_patch", { type: "update_file", path: "a", diff: "@@" }, { kind: "write", paths: ["a"] }],
		["a search", "Grep", { pattern: "x", path: "src" }, { kind: "search", paths: ["src"] }],
		["a listing", "Glob", { pattern: "**/*.go" }, { kind: "list", paths: [] }],
		["a folder", "list_directory", { path: "src" }, { kind: "list", paths: ["src"] }],
		["no file", "get_order_details", { order_id: "#W1" }, { kind: "other", paths: [] }],
		["notes", "TodoWrite", { todos: [{ content: "Edit a.ts" }] }, { kind: "other", paths: [] }],
	])("%s", (_, name, given, expected) => {
		expect(target(name, given)).toMatchObject(expected);
	});

	it("reads patches by their headers", () => {
		const patch = "*** Begin Patch\n*** Update File: ./a.ts\n@@\n-x\n+y\n*** Add File: b.ts\n+z\n*** End Patch";
		const expected = { kind: "write", paths: ["a.ts", "b.ts"] };
		expect(target("apply_patch", patch)).toMatchObject(expected);
		expect(target("apply_patch", { input: patch })).toMatchObject(expected);
		expect(target("shell", { command: ["apply_patch", patch] })).toMatchObject({ kind: "write" });
		expect(target("shell", { cmd: `apply_patch <<'EOF'\n${patch}\nEOF` })).toMatchObject({ kind: "write" });
		const diff = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b/new.ts\n";
		expect(target("apply_diff", diff)).toMatchObject({ kind: "write", paths: ["src/a.ts", "new.ts"] });
	});

	it.each(["", "not json", "{broken", "[1]", "null", '{"path": 5}', '{"path": ""}', '{"__proto__": {"path": "a"}}'])(
		"finds no target in %j",
		(given) => {
			expect(target("read_file", given)).toEqual({ kind: "other", paths: [] });
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
		expect(target(name, given)).toMatchObject({ kind: "read", command: expect.stringContaining("a.ts") });
	});
});

describe("resultTargets", () => {
	it("gives each result the target of its call", () => {
		const targets = resultTargets(transcriptOf(...called(read("/a.ts"), edit("/a.ts"), bash("npm test"))));
		expect(targets.map(({ kind }) => kind)).toEqual(["read", "write", "run"]);
		expect(targets[1]?.paths).toEqual(["/a.ts"]);
	});

	it("finds none for an orphan", () => {
		const orphan = messageOf({ role: "tool", results: [resultOf("gone")] });
		expect(resultTargets(transcriptOf(orphan))).toMatchObject([{ kind: "other", paths: [] }]);
	});

	it("has the arguments of each result's call", () => {
		const calls = [
			{ id: "a", name: "read" },
			{ id: "b", name: "list" },
		];
		const transcript = transcriptOf(
			messageOf({ calls, counted: ["Words.", "read", '{"path":1}', "list", '{"path":2}'] }),
			messageOf({ role: "tool", results: [resultOf("b"), resultOf("a"), resultOf("gone"), resultOf(undefined)] }),
		);
		expect(resultArguments(transcript)).toEqual(['{"path":2}', '{"path":1}', undefined, undefined]);
	});
});
