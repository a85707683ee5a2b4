import { describe, expect, it } from "vitest";
import { outcomeOf, structuralError } from "../../../src/engine/masking/errors.ts";
import { otherTarget, type TargetKind } from "../../../src/engine/masking/targets.ts";

const ruleOf = (kind: TargetKind, text: string) =>
	structuralError({
		result: { texts: [{ path: [], text }], isError: undefined },
		target: { ...otherTarget, kind },
	});

const filler = "a line of output that says nothing\n".repeat(60);

describe("a message that begins like an error", () => {
	it.each([
		"fatal, so we stop",
		"- fatal, so we stop",
		"Error was seen",
		"failed to load",
		"Failure in a step",
		"panic in main",
		"unable to start",
		"cannot start",
		"can't start",
		"could not start",
		"invalid input",
		"unknown tool x",
		"unknown command x",
		"unknown skill x",
		"unknown option x",
		"no such file x",
		"no such tool x",
		"no such command x",
		"Unauthorized request",
		"unauthorised request",
		"Forbidden for you",
		"bad request of a",
		"aborted by a",
		"cancelled by a",
		"canceled by a",
		"timed out after 3 s",
		"timeout after 3 s",
		"TypeError in a",
		"IllegalStateException in a",
		"EPIPE: broken pipe",
		"[Operation Cancelled] by a",
		"MCP error 5 in a",
		"MCP error -32 in a",
		"The tool execution failed today",
		"12 validation errors in a",
		"1 validation error in a",
		"Tool failed in a",
		"Command aborted in a",
		"Operation cancelled in a",
		"Operation canceled in a",
		"Request rejected in a",
		"Tool denied in a",
		"Request timed out in a",
	])("%s", (text) => {
		expect(ruleOf("other", text)).toBe("error_message");
		expect(ruleOf("other", `seen before: ${text}`)).toBeUndefined();
		expect(ruleOf("other", `fine\n${text}`)).toBeUndefined();
	});

	it.each(["errors are rare", "failedly", "Tool ran", "MCP error", "EAB: no", "validation errors"])(
		"not %s",
		(text) => {
			expect(ruleOf("other", text)).toBeUndefined();
		},
	);
});

describe("a message that says an error", () => {
	it.each([
		"a does not exist here",
		"a doesn't exist here",
		"it was not found here",
		"they were not found here",
		"a is not found here",
		"a are not found here",
		"the file not found here",
		"the path not found here",
		"the user not found here",
		"the tool not found here",
		"the item not found here",
		"the resource not found here",
		"the record not found here",
		"a: no such file or directory here",
		"a: command not found here",
		"text not found in file a",
		"a: permission denied here",
		"a: access denied here",
		"a is not a file here",
		"a is not a directory here",
		"a exceeds maximum size",
		"a exceeds the maximum size",
		"a must be within b",
		"the tool use was rejected here",
		"the file already exists at a",
		"your edit has introduced new syntax error here",
		"the user doesn't want to proceed now",
		"a has not been read yet",
		"it has been rejected here",
		"it was denied here",
		"it was cancelled here",
		"it was canceled here",
		"it was aborted here",
		"it cannot be executed here",
		"it cannot be found here",
		"it cannot be read here",
		"it cannot be opened here",
		"two matches of the string to replace, but no more",
	])("%s", (text) => {
		expect(ruleOf("other", text)).toBe("error_message");
		expect(ruleOf("read", text)).toBe("error_message");
		expect(ruleOf("run", text)).toBe("error_message");
		expect(ruleOf("write", text)).toBe("error_message");
		expect(ruleOf("list", text)).toBeUndefined();
		expect(ruleOf("other", `fine\n${text}`)).toBeUndefined();
	});

	it("reads a name of a file that was not found at the start only", () => {
		expect(ruleOf("other", "File src/a.ts not found")).toBe("error_message");
		expect(ruleOf("other", "The File src/a.ts not found")).toBeUndefined();
		expect(ruleOf("other", "File src a not found")).toBeUndefined();
	});

	it("reads 400 characters of the first line of at most 1000 characters", () => {
		expect(ruleOf("other", `${"x ".repeat(180)}a does not exist`)).toBe("error_message");
		expect(ruleOf("other", `${"x ".repeat(200)}a does not exist`)).toBeUndefined();
		expect(ruleOf("other", `Error was seen\n${"x".repeat(1_000 - 15)}`)).toBe("error_message");
		expect(ruleOf("other", `Error was seen\n${"x".repeat(1_001 - 15)}`)).toBeUndefined();
	});

	it("does not read values", () => {
		for (const text of [
			'{"m": "a does not exist"',
			'["a does not exist"]',
			"[[a does not exist]]",
			"[{a does not exist}]",
		]) {
			expect(ruleOf("run", text)).toBeUndefined();
		}
		expect(ruleOf("run", 'a {"m" does not exist')).toBe("error_message");
		expect(ruleOf("run", 'a ["m" does not exist')).toBe("error_message");
	});

	it("may go on to show a file after a refused edit only", () => {
		const long = `Error: no\n${filler}`;
		expect(ruleOf("write", long)).toBe("error_message");
		expect((["read", "other", "run"] as const).map((kind) => ruleOf(kind, long))).toEqual([
			undefined,
			undefined,
			undefined,
		]);
	});

	it.each([";", '"', "{", "}", "="])("takes a line with %s for a line of a program that was read", (sign) => {
		expect(ruleOf("read", `a does not exist ${sign}`)).toBeUndefined();
		expect(ruleOf("other", `a does not exist ${sign}`)).toBe("error_message");
		expect(ruleOf("read", `a does not exist\n${sign}`)).toBe("error_message");
	});
});

describe("a message instead of a listing or of search results", () => {
	it.each([
		"Error: no",
		"ERROR: no",
		"error: no",
		"fatal: no",
		"Unknown tool: no",
		"Unknown tool name: no",
		"ls: a: No such file or directory",
		"/bin/ls: a b: Permission denied",
		"grep: a: Is a directory\n  \ngrep: b: Not a directory\n",
	])("%j", (text) => {
		expect(ruleOf("list", text)).toBe("error_message");
		expect(ruleOf("search", text)).toBe("error_message");
		expect(ruleOf("search", `of ${text}`)).toBeUndefined();
	});

	it.each([
		"",
		" \n ",
		"a.ts: Error: no",
		"grep: a: Is a directory\nb.ts:1:x",
		"grep: a: Is a directory now",
		"a grep: b: Is a directory",
		"Unknown tools are listed: no",
		": a: Is a directory",
	])("not %j", (text) => {
		expect(ruleOf("list", text)).toBeUndefined();
	});

	it("is at most 1000 characters long", () => {
		expect(ruleOf("list", `Error: ${"x".repeat(993)}`)).toBe("error_message");
		expect(ruleOf("list", `Error: ${"x".repeat(994)}`)).toBeUndefined();
	});
});

describe("JSON of an error", () => {
	it.each([
		{ error: "no" },
		{ error: { code: 1 } },
		{ isError: true },
		{ is_error: true },
		{ success: false },
		{ ok: false },
		{ status: "error" },
		{ status: "Failed" },
		{ status: "FAILURE" },
		{ status: 400 },
		{ status: "599" },
		{ statusCode: 404 },
		{ status_code: 500 },
	])("%j", (value) => {
		expect(ruleOf("other", JSON.stringify(value))).toBe("json_error");
		for (const kind of ["read", "write", "run", "search", "list"] as const) {
			expect(ruleOf(kind, JSON.stringify(value))).toBeUndefined();
		}
		expect(ruleOf("other", JSON.stringify([value]))).toBeUndefined();
	});

	it.each([
		{},
		{ error: "" },
		{ error: false },
		{ isError: "true" },
		{ is_error: 1 },
		{ success: 0 },
		{ ok: true },
		{ status: "errors" },
		{ status: "no error" },
		{ status: ["error"] },
		{ status: 399 },
		{ status: 600 },
		{ code: 404 },
		{ data: { error: "no" } },
	])("not %j", (value) => {
		expect(ruleOf("other", JSON.stringify(value))).toBeUndefined();
	});

	it("is at most 100 000 characters long", () => {
		const ofLength = (length: number) => `{"error":"${"x".repeat(length - 12)}"}`;
		expect(ruleOf("other", ofLength(100_000))).toBe("json_error");
		expect(ruleOf("other", ofLength(100_001))).toBeUndefined();
	});
});

describe("the wrapping of an output", () => {
	it.each(["observation", "output", "result", "stdout", "stderr", "system"])("<%s>", (tag) => {
		expect(ruleOf("read", `<${tag}><error>no</error>`)).toBe("error_tag");
		expect(ruleOf("read", `  <${tag}>\n  <tool_error>no</tool_error>`)).toBe("error_tag");
		expect(ruleOf("run", `${filler}make: *** no</${tag}>`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}(exit)\n10 failing</${tag}>`)).toBe("failed_run");
		expect(ruleOf("run", `(exit)\n10 failing</${tag}>`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}(exit)\n10 failing  </${tag}>  `)).toBe("failed_run");
		expect(ruleOf("run", `${filler}(exit)\n10 failing </${tag}> now`)).toBeUndefined();
		expect(ruleOf("read", `x <${tag}><error>no</error>`)).toBeUndefined();
	});

	it("is a line of Codex about the time", () => {
		expect(ruleOf("read", "Wall time: 12.5 seconds\nOutput:\n<error>no</error>")).toBe("error_tag");
		expect(ruleOf("read", "Wall time:\nOutput:\n<error>no</error>")).toBeUndefined();
	});

	it("is not the text itself", () => {
		expect(ruleOf("read", "see <error>no</error>")).toBeUndefined();
		expect(ruleOf("read", "<errors>no</errors>")).toBeUndefined();
		expect(ruleOf("read", "\n <error>no</error>")).toBe("error_tag");
		expect(ruleOf("read", "<output></output>")).toBeUndefined();
		expect(ruleOf("run", "\n\n(exit)\n10 failing\n\n")).toBe("failed_run");
	});

	it("may be colours of a terminal", () => {
		expect(ruleOf("run", `${filler}\u001b[1;31m10 failing\u001b[0m`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}\u001b[K10\u001b[m failing`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}\u001b[?10 failing`)).toBeUndefined();
		const coloured = (length: number) => `Error: \u001b[0m${"x".repeat(length - 11)}`;
		expect(ruleOf("write", coloured(20_000))).toBe("error_message");
		expect(ruleOf("write", coloured(20_001))).toBeUndefined();
		expect(ruleOf("write", `Error: ${"x".repeat(20_001)}`)).toBe("error_message");
	});
});

describe("the end of a run that failed", () => {
	it.each([
		"npm ERR! code 1",
		"npm error code 1",
		"FAIL",
		"FAILED",
		"FAIL\tpkg",
		"FAILED (failures=1)",
		"FAILED (errors=1)",
		"make: *** [all] Error 1",
		"make[12]: *** [all] Error 1",
		"error: could not compile `a`",
		"BUILD FAILED",
		"BUILD FAILURE",
		"Build failed with 1",
		"a.ts(1,2): error TS2345: no",
		"error TS18003: no",
		"Test: 12 failed",
		"Tests  12 failed",
		"* Tests:  3 skipped 1 failed",
		"Test Suites: 1 failed",
		"Test Files  1 failed",
		"== 12 failed",
		"== 1 error",
		"= 3 passed, 10 errors in 2 s",
		"12:30 ERROR task failed",
		'error: script "lint" exited with code 12',
		"Found 12 errors in 3 files",
		"Found 1 error",
		"✖ 12 problems (10 errors, 2 warnings)",
		"✖ 1 problem (1 error, 0 warnings)",
		"panic: no",
		"Segmentation fault",
		"./a.sh:Segmentation fault",
		"fatal: no",
		"error: no",
		"ERROR: no",
		"sh: rg: command not found",
		"sh: 1: rg: not found",
		"x ELIFECYCLE y",
		"10 failing",
		"  1 fail",
		"# fail 3",
		"Command aborted by the user",
		"Command timed out after 3 s",
	])("%s", (line) => {
		expect(ruleOf("run", `${filler}${line}`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}${line}\n\nan end`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}${line}   `)).toBe("failed_run");
		expect(ruleOf("run", `${filler}${line}\n${"x\n".repeat(14)}`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}${line}\n${"x\n".repeat(15)}`)).toBeUndefined();
		expect(ruleOf("run", `${filler}${line}\n${"x".repeat(6_000)}`)).toBeUndefined();
		expect(ruleOf("run", `${filler}${line}\n# fail 0`)).toBeUndefined();
		expect(ruleOf("read", `${filler}${line}`)).toBeUndefined();
		expect(ruleOf("other", `${filler}${line}`)).toBeUndefined();
	});

	it.each([
		"see npm ERR! code 1",
		"npm ERR!",
		"see FAIL",
		"FAILURES",
		"see FAILED (failures=1)",
		"see make: *** [all]",
		"make: ** [all]",
		"make[]: *** [all]",
		"see error: could not compile",
		"see BUILD FAILED",
		"Build failedly",
		"see error TS2345: no",
		"see: error TS12: no",
		"see Tests: 1 failed",
		"Tests: 0 failed",
		"Testing 1 failed",
		"see = 1 failed",
		"= 0 failed",
		"1 failed of many",
		"ERROR task failed twice",
		'see error: script "lint" exited with code 1',
		'a "b" exited with code 0',
		"we Found 1 error",
		"Found 0 errors",
		"see ✖ 1 problem (1 error)",
		"✖ 1 problem (0 errors, 1 warning)",
		"see panic: no",
		"a Segmentation fault",
		"see fatal: no",
		"errors: no",
		"a: command not found here",
		"a: not found here",
		"0 failing",
		"10 failing tests",
		"we have 10 failing",
		"see # fail 3",
		"the Command aborted",
		"Command abortedly",
	])("not %s", (line) => {
		expect(ruleOf("run", `${filler}${line}`)).toBeUndefined();
	});

	it.each([
		"0 fail",
		"0 failed",
		" 0 failing",
		"0 failures",
		"0 errors",
		"0 error",
		"# fail 0",
		"= 12 passed in 3 s =",
		"=== 12 passed, 10 skipped, 1 warning, 2 deselected, 3 xfailed in 3 s ===",
		"== 1 passed, 1 xpassed ==",
		"== 1 passed, 2 warnings ==",
		"Tests  12 passed (12)",
		"* Test: 1 passed",
		"Test Suites: 1 passed",
		"Test Files  1 passed",
		"test result: ok. 3 passed",
	])("was overtaken by %s", (line) => {
		expect(ruleOf("run", `${filler}10 failing\n${line}`)).toBeUndefined();
		expect(ruleOf("run", `${filler}${line}\n10 failing`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}10 failing\nsee ${line}`)).toBe("failed_run");
	});

	it.each([
		"0 failed now",
		"# fail 01",
		"== 0 passed ==",
		"== 1 passed, 1 other, then a long list of what was not counted at all ==",
		"== 1 passed ==.",
		"Tests 0 passed",
		"Tests: 3 skipped 1 passed",
		"test result: FAILED.",
	])("was not overtaken by %s", (line) => {
		expect(ruleOf("run", `${filler}10 failing\n${line}`)).toBe("failed_run");
	});

	it("is read in 400 characters of a line", () => {
		expect(ruleOf("run", `${filler}${"x".repeat(381)}: command not found`)).toBe("failed_run");
		expect(ruleOf("run", `${filler}${"x".repeat(382)}: command not found`)).toBeUndefined();
	});
});

describe("a traceback at the end", () => {
	const trace = (last: string) => `${filler}  Traceback (most recent call last):\n  File "a.py", line 1\n${last}`;
	it.each([
		"ValueError: no",
		"a.b_2.CustomError: no",
		"Exception",
		"KeyboardInterrupt",
		"SystemExit: 1",
		"AssertionFailure",
		"jsonschema.Invalid: x",
		"ValueError: no\n\n1\n2\n3\n4",
	])("ends with %j", (last) => {
		for (const kind of ["run", "other"] as const) expect(ruleOf(kind, trace(last))).toBe("traceback");
		for (const kind of ["read", "write", "search", "list"] as const) expect(ruleOf(kind, trace(last))).toBeUndefined();
		expect(ruleOf("other", `${filler}${last}`)).toBeUndefined();
	});

	it.each(["a ValueError", "ValueErrors", "ValueError: no\n1\n2\n3\n4\n5", "Value"])("does not end with %j", (last) => {
		expect(ruleOf("other", trace(last))).toBeUndefined();
	});

	it("begins a line of the last 6000 characters", () => {
		expect(ruleOf("other", `${filler}a Traceback (most recent call last):\nValueError: no`)).toBeUndefined();
		const far = "x".repeat(5_900);
		expect(ruleOf("other", `Traceback (most recent call last):\n${far}\nValueError: no`)).toBe("traceback");
		expect(ruleOf("other", `Traceback (most recent call last):\n${far}${far}\nValueError: no`)).toBeUndefined();
	});
});

describe("exit codes", () => {
	it.each([
		["Exit code 12\nx", 12],
		["Exit code: -12\nx", -12],
		["Exit Code 1", 1],
		["Chunk ID: ab12\nExit code 1", 1],
		["Wall time: 0.5 seconds\nProcess exited with code 12\nx", 12],
		["Process exited with code: 3", 3],
		["<returncode>12</returncode>", 12],
		["<returncode>-12</returncode>", -12],
		["<system>ERROR: Command failed with exit code: 12", 12],
		["<system>Command failed with exit code 1", 1],
		["The command a b exited with exit code: 12", 12],
		["[Command finished with status -12", -12],
		["<Process completed with code 1", 1],
		["(command failed with code 12", 12],
		["command failed with code 12\nand more of its output", 12],
		["x\ncommand failed with code 12", 12],
		["<a exit code 12>", 12],
		["[Exit 12]", 12],
		["x\n[PROCESS EXITED WITH CODE 12]", 12],
		["x\n[Command finished with exit code 12].  \n", 12],
		["x\n<the shell exit code: 12>  ", 12],
		["x\n<a exited with exit code: -12>", -12],
		["x\n<a exited code 1>", 1],
		["Exit Code: 12\n", 12],
		["x\nExit Code: 12\n  ", 12],
		["x\nExit Code: -12\nSignal: none\nProcess Group: 5\n", -12],
		["x\n[exit 12]  ", 12],
		["x\n(process exited with code 12)", 12],
		["x\n(exited with status: -12)", -12],
		["exit status 12", 12],
		["x\nexit status -12 \n", -12],
		['{"exit_code": 12}', 12],
		['{"exitCode" :-12}', -12],
		['{"returncode":1}', 1],
		['{"return_code":1}', 1],
		[`{"output":"${"x".repeat(500)}","exit_code":1}`, 1],
		["see Exit code 12", undefined],
		["Exit code 12a", undefined],
		["Exit codes 12", undefined],
		["Chunk ID: a b\nExit code 1", undefined],
		["see <returncode>1", undefined],
		["see the command a exited with code 1", undefined],
		["Commands a exited with code 1", undefined],
		["x\nsee [Command finished with exit code 1]", undefined],
		["x\n[Command finished with exit code 1] now", undefined],
		["x\nsee <a exit code 1>", undefined],
		["x\n<a exit code 1> now", undefined],
		["x\n<a>exit code 1>", undefined],
		["x\nsee Exit Code: 1", undefined],
		["x\nExit Code: 1 now", undefined],
		["x\nExit Code: 1\nnothing of it", undefined],
		["x\nsee [exit 1]", undefined],
		["x\n[exit 1] now", undefined],
		["x\nsee exit status 1", undefined],
		["x\nexit status 1 now", undefined],
		['[{"exit_code":1}]', undefined],
		['{"exit_codes":1}', undefined],
	])("%j", (text, code) => {
		expect(ruleOf("read", text)).toBe(code === undefined ? undefined : "exit_code");
		expect(outcomeOf(text).filter((fact) => fact.startsWith("exit "))).toEqual(
			code === undefined ? [] : [`exit ${code}`],
		);
	});

	it("reads that a command was successful at the start only", () => {
		expect(ruleOf("other", "<system>Command executed successfully</system>\nError: no")).toBeUndefined();
		expect(ruleOf("other", "Error: <system>Command executed successfully</system>")).toBe("error_message");
	});

	it("reads 400 characters at both ends", () => {
		const long = (length: number) => `Chunk ID: a\n${"x".repeat(length)}`;
		expect(ruleOf("read", `{${" ".repeat(384)}"exit_code":1,${" ".repeat(900)}}`)).toBe("exit_code");
		expect(ruleOf("read", `{${" ".repeat(400)}"exit_code":1,${" ".repeat(900)}}`)).toBeUndefined();
		expect(ruleOf("read", `${long(900)}\nexit status 1`)).toBe("exit_code");
		expect(ruleOf("read", `{"a":1,${" ".repeat(900)}"exit_code":1${" ".repeat(380)}}`)).toBe("exit_code");
		expect(ruleOf("read", `{"a":1,${" ".repeat(900)}"exit_code":1${" ".repeat(400)}}`)).toBeUndefined();
	});
});

describe("outcomeOf", () => {
	it.each([
		["", []],
		["fine", []],
		["Exit code 0\nfine", []],
		["Exit code 2\nValueError: no", ["exit 2", "ValueError"]],
		["a.b.KeyError", ["KeyError"]],
		["KeyboardInterrupt", ["KeyboardInterrupt"]],
		["MyException: no", ["MyException"]],
		["SystemExit: 2", ["SystemExit"]],
		["a ValueError: no", []],
		["valueError: no", []],
		["ValueError is it", []],
		["ValueError: no\n2\n3\n4\n5\n6\n7\n8", ["ValueError"]],
		["ValueError: no\n2\n3\n4\n5\n6\n7\n8\n9", []],
		["12 passed, 1 failed", ["12 passed", "1 failed"]],
		["1 failed\n2 failed", ["2 failed"]],
		["0 failed, 0 passed, 0 errors", ["0 failed", "0 errors"]],
		["10 PASSED\n3 passed", ["3 passed"]],
		["1 pass 2 fail 3 failing 4 passing 5 error", ["1 pass", "2 fail", "3 failing", "4 passing"]],
		["1 error, 1 failure, 2 failures, 3 skipped", ["1 error", "1 failure", "2 failures", "3 skipped"]],
		["1 warning, 2 warnings, 1 problem, 2 problems", ["1 warning", "2 warnings", "1 problem", "2 problems"]],
		["1 test, 2 tests, 3 matches, 1 file changed", ["1 test", "2 tests", "3 matches", "1 file changed"]],
		["12 files changed, 3 insertions, 4 deletions", ["12 files changed", "3 insertions", "4 deletions"]],
		["12 issues 3 entries", ["12 issues", "3 entries"]],
		["v1.12 passed a/12 passed x12 passed 1,12 passed 3:12 passed 2-12 passed", []],
		["12 passedly", []],
		[`12 passed${"x".repeat(2_991)}`, []],
		[`12 passed ${"x".repeat(2_990)}`, ["12 passed"]],
		[`12 passed ${"x".repeat(2_991)}`, ["2 passed"]],
	])("%j", (text, facts) => {
		expect(outcomeOf(text)).toEqual(facts);
	});
});
