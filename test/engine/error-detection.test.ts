import { describe, expect, it } from "vitest";
import { detectError } from "../../src/engine/error-detection.ts";

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

	it("tries the rules in the seed's order", () => {
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

	it("broken JSON is judged by its words", () => {
		expect(detectError('{"status": "timeout"')).toBe("timeout");
	});
});
