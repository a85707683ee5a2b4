import { describe, expect, it } from "vitest";
import { detectError, structuralError } from "../../../src/engine/masking/errors.ts";
import { findErrors } from "../../../src/engine/masking/judge-results.ts";
import { type CallTarget, otherTarget, type TargetKind } from "../../../src/engine/masking/targets.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";
import { bash, type Called, called, edit, read } from "./called.ts";

describe("detectError", () => {
	it.each([
		["traceback", "x Traceback y"],
		["exception", "java.lang.RuntimeException: no"],
		["error_line", "first\nError: second"],
		["error_line", "Error"],
		["error_line", "first\r\nErrors: 3"],
		["error_key_text", 'x "error" y'],
		["timeout", "a TIMEOUT b"],
		["timeout", "setTimeout(run, 5)"],
		["connect_error", "Connect_Error"],
		["connection_refused", "Connection refused"],
		["json_error_key", '{"\\u0065rror": null}'],
		["json_error_key", '\n {"a": 1, "\\u0065rror": ""}'],
		["json_error_status", '{"status": "\\u0065rror"}'],
	])("finds %s in %j", (rule, text) => {
		expect(detectError(text)).toBe(rule);
	});

	it.each([
		"",
		"all well",
		"an error",
		"an Error in a line",
		" Error after a space",
		"traceback exception",
		"connection was refused",
		"{broken",
		'{"status": "\\u0065rror"',
		'{"status": {"status": "\\u0065rror"}}',
		'{"status": "ok"}',
		'[{"\\u0065rror": 1}]',
		'["\\u0065rror"]',
		'{"__proto__": {"\\u0065rror": 1}}',
		"[broken",
		"null",
	])("finds nothing in %j", (text) => {
		expect(detectError(text)).toBeUndefined();
	});

	it("tries the rules in the order of docs/strategies.md#errors-stay", () => {
		const words = ["connection refused", "connect_error", "timeout", '"error"', "\nError", "Exception", "Traceback"];
		const found = words.map((_, index) => detectError(words.slice(0, index + 1).join(" ")));
		expect(found).toEqual([
			"connection_refused",
			"connect_error",
			"timeout",
			"error_key_text",
			"error_line",
			"exception",
			"traceback",
		]);
	});

	it("judges broken JSON by its words", () => {
		expect(detectError('{"status": "timeout"')).toBe("timeout");
	});
});

const of = (kind: TargetKind): CallTarget => ({ ...otherTarget, kind });

const structuralResult = (text: string, isError?: boolean) => ({ texts: [{ path: [], text }], isError });
const errorInText = (text: string, target: CallTarget) => structuralError({ result: structuralResult(text), target });

const filler = "a line of output that says nothing\n".repeat(60);

const source = `${filler}if (timeout) throw new Error("connection refused"); // Exception, Traceback\n${filler}`;

describe("structuralError trusts exit codes first", () => {
	it.each([
		["Claude Code", "Exit code 1\nFAIL"],
		["Codex", "Chunk ID: 6a63a5\nWall time: 0.4366 seconds\nProcess exited with code 2\nOutput:\nfine"],
		["Codex's patches", "Exit code: 1\nWall time: 0 seconds\nOutput:\n"],
		["mini-SWE-agent", "<returncode>1</returncode>\n<output>fine</output>"],
		["Kimi CLI", "<system>Command failed with exit code: 1.</system>"],
		["pi", `${filler}\n\nCommand exited with code 128`],
		["OpenHands", "fine\n[Current working directory: /a]\n[Command finished with exit code 1]"],
		["Zed", 'Command "npm test" failed with exit code 1.\n\nfine'],
		["Copilot CLI", "fine\n<shellId: 6 completed with exit code 1>"],
		["Gemini CLI", "Output: fine\nError: (none)\nExit Code: 1\nSignal: (none)\nProcess Group PGID: 5"],
		["brackets", "fine\n[exit: 1]"],
		["words", "fine\nexit status 3"],
		["JSON", '{"output":"fine","metadata":{"exit_code":1,"duration_seconds":0.1}}'],
	])("%s", (_, text) => {
		expect(errorInText(text, of("run"))).toBe("exit_code");
		expect(
			errorInText(text.replace(/(code|status|exit|exit_code)(":|:|>)? ?(?:128|[123])\b/i, "$1$2 0"), of("run")),
		).not.toBe("exit_code");
	});

	it("reports no error for success, even with words of failure", () => {
		const words = "Error: it failed\nnpm ERR! code 1\nTraceback (most recent call last):\nValueError: x";
		expect(errorInText(`${words}\n\nCommand exited with code 0`, of("run"))).toBeUndefined();
		expect(errorInText(`<returncode>0</returncode>\n<output>\n${words}</output>`, of("run"))).toBeUndefined();
	});

	it("reads no code from the middle of an output", () => {
		expect(errorInText(`${filler}Exit code 1\n${filler}`, of("run"))).toBeUndefined();
		expect(errorInText('{ "docs": "Process exited with code 1" }', of("read"))).toBeUndefined();
	});
});

describe("structuralError judges the rest by the kind of call", () => {
	it.each<[TargetKind, string, string]>([
		["read", "error_tag", "<tool_use_error>File does not exist.</tool_use_error>"],
		["read", "error_message", "EISDIR: illegal operation on a directory, read"],
		["read", "error_message", "ENOENT: no such file or directory, access '/a'"],
		["read", "error_message", "Path does not exist"],
		["read", "error_message", "File content (34278 tokens) exceeds maximum allowed tokens (25000)."],
		["write", "error_message", "Failed to edit, 0 occurrences found for old_string in a.ts."],
		["write", "error_message", `Error: File 'a.py' already exists.\n${filler}`],
		["write", "error_message", "The tool use was rejected (eg. the new_string was NOT written)."],
		["search", "error_message", "grep: src/agent.ts: No such file or directory"],
		["list", "error_message", "Unknown tool name: 'list_files'. Available tools: 'get_file'"],
		["run", "error_message", "zsh:1: command not found: rg"],
		["run", "error_message", "fatal: path 'a' does not exist in 'main'"],
		["run", "error_message", "[Operation Cancelled] Reason: User denied execution."],
		["run", "traceback", `${filler}Traceback (most recent call last):\n  File "a.py", line 1\nValueError: no`],
		["run", "failed_run", `${filler}npm error Lifecycle script \`check\` failed with error:\nWaiting for the debugger`],
		["run", "failed_run", `${filler}FAIL\tpkg/a\t0.3s\nFAIL`],
		["run", "failed_run", `${filler}src/a.ts(3,5): error TS2345: no`],
		["run", "failed_run", `${filler}=== 1 failed, 364 passed, 70 xfailed in 15.50s ===`],
		["run", "failed_run", `${filler}Ran 1 test in 0.001s\n\nFAILED (failures=1)\nDestroying test database`],
		["run", "failed_run", `${filler}error: script "lint" exited with code 1`],
		["run", "failed_run", `${filler}\u001b[31m Tests  2 failed\u001b[0m | 3 passed`],
		["run", "failed_run", "1187 pass\n 0 fail\nsrc/a.ts(5,3): error TS18046: 'x' is of type 'unknown'."],
		["other", "json_error", '{"error":"GitHub API error 403"}'],
		["other", "json_error", '{"message":"Not Found","status":"404"}'],
		["other", "json_error", 'Wall time: 2.7 seconds\nOutput:\n{"isError":true,"content":[]}'],
		["other", "error_message", "Error: Payment amount does not add up, total price is 375, but paid 299"],
		["other", "error_message", "MCP error -32603: no such method"],
		["other", "error_message", "1 validation error:\n```json\n[]\n```"],
	])("%s: %s in %j", (kind, rule, text) => {
		expect(errorInText(text, of(kind))).toBe(rule);
	});

	it.each<[TargetKind, string]>([
		["read", source],
		["read", 'throw new Error("File not found");'],
		["read", '{"error": "a message", "status": 500}'],
		["read", `${filler}Traceback (most recent call last):\nValueError: no`],
		["search", 'src/a.ts:5: throw new Error("user not found")'],
		["search", "No matches found"],
		["list", "error.ts\ntimeout.ts"],
		["write", "The file /a/errors.ts has been updated successfully."],
		["run", source],
		["run", `error: shown by a test\n${filler} 1187 pass\n 0 fail\n 2546 expect() calls`],
		["run", `${filler}=== 364 passed, 3 warnings in 2.10s ===`],
		["run", ""],
		["other", '{"status":"available","price":404}'],
		["other", '{"error":null,"ok":true}'],
		["other", "{broken"],
	])("%s: nothing in %j", (kind, text) => {
		expect(errorInText(text, of(kind))).toBeUndefined();
	});

	it("looks beyond Claude Code's additions to an output", () => {
		const reminder = "\n\n<system-reminder>\nError: no. FAIL\n</system-reminder>\n";
		expect(errorInText(`${filler}FAIL${reminder}`, of("run"))).toBe("failed_run");
		expect(errorInText(`${filler}fine${reminder}`, of("run"))).toBeUndefined();
	});
});

describe("structuralError", () => {
	it("trusts the format's flag, then an exit code, then the text", () => {
		expect(structuralError({ result: structuralResult("fine", true), target: otherTarget })).toBe("flag");
		expect(structuralError({ result: structuralResult("Error: no", false), target: otherTarget })).toBeUndefined();
		expect(structuralError({ result: structuralResult("Exit code 1", false), target: otherTarget })).toBe("exit_code");
		expect(structuralError({ result: structuralResult("Error: no"), target: otherTarget })).toBe("error_message");
		expect(structuralError({ result: { texts: [], isError: undefined }, target: otherTarget })).toBeUndefined();
	});
});

/** For each call its rule and the later call that settled it; `undefined` for what is no error. */
const errorsOf = (...all: Called[]) =>
	findErrors(transcriptOf(...called(...all))).map(
		(one) => one && [one.rule, one.resolvedFrom === undefined ? undefined : (one.resolvedFrom - 1) / 2],
	);

const failed = (one: Called): Called => ({ ...one, text: "Exit code 1\nno" });

describe("findErrors", () => {
	it("finds an error settled by the same call", () => {
		expect(errorsOf(failed(bash("ls /x y")), bash("pwd"), bash("ls /x y"), bash("ls /x y"))).toEqual([
			["exit_code", 2],
			undefined,
			undefined,
			undefined,
		]);
	});

	it("finds one settled by the same command with other arguments, in the same folder", () => {
		expect(errorsOf(failed(bash("npm test -- a")), bash("npm run lint"), bash("npm test"))[0]).toEqual([
			"exit_code",
			2,
		]);
		expect(errorsOf(failed(bash("cd /a && npm test")), bash("cd /b && npm test"))[0]).toEqual(["exit_code", undefined]);
		expect(errorsOf(failed(bash("python -c 'a'")), bash("python -c 'b'"))[0]).toEqual(["exit_code", undefined]);
	});

	it("finds one settled by an edit or a read of the same file", () => {
		const refused = { ...edit("/a"), isError: true };
		expect(errorsOf(refused, refused, read("/a"), edit("/b"), edit("/a", "done"))).toEqual([
			["flag", 4],
			["flag", 4],
			undefined,
			undefined,
			undefined,
		]);
		expect(errorsOf({ ...read("/a"), text: "File not found" }, read("/b"), read("./a"))[0]).toEqual([
			"error_message",
			undefined,
		]);
	});

	it("finds one settled by a later write or read of the same file with other arguments", () => {
		const refused = { ...edit("/a"), isError: true };
		const other = { name: "write", given: { path: "/a", content: "new" }, text: "Done." };
		expect(errorsOf(refused, other)[0]).toEqual(["flag", 1]);
		expect(errorsOf(refused, { ...other, given: { path: "/b", content: "new" } })[0]).toEqual(["flag", undefined]);
		expect(errorsOf({ ...read("/a"), isError: true }, read("/a", "one line", [1, 1]))[0]).toEqual(["flag", 1]);
		expect(errorsOf({ ...bash("cp"), isError: true }, { ...bash("mv"), name: "shell" })[0]).toEqual([
			"flag",
			undefined,
		]);
	});

	it("does not settle by another failure, nor by earlier results", () => {
		expect(errorsOf(bash("npm test"), failed(bash("npm test")), failed(bash("npm test")))).toEqual([
			undefined,
			["exit_code", undefined],
			["exit_code", undefined],
		]);
	});

	it("finds the error of an orphan, which nothing settles", () => {
		const orphan = messageOf({ role: "tool", results: [resultOf("gone", "Error: no such user")] });
		expect(findErrors(transcriptOf(orphan, orphan))).toEqual([
			{ rule: "error_message", resolvedFrom: undefined },
			{ rule: "error_message", resolvedFrom: undefined },
		]);
	});

	it("does not settle an error by a result that is a placeholder: that call may have failed too", () => {
		const tried = [failed(bash("npm test")), bash("npm test", "[masked]"), bash("npm test")];
		const settledBy = (...all: Called[]) =>
			findErrors(transcriptOf(...called(...all)), new Set([1])).map((one) => one?.resolvedFrom);
		expect(settledBy(...tried)).toEqual([5, undefined, undefined]);
		expect(settledBy(...tried.slice(0, 2))).toEqual([undefined, undefined]);
	});
});
