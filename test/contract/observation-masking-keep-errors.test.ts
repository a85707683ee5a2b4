import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn } from "../support/script.ts";

const filler = outputOf("log");

async function isKept(content: string, keepErrors?: boolean): Promise<boolean> {
	const conversation = openaiMessages(toolTurn("call_1", content), toolTurn("call_2", "ok"));
	const mask = { window_turns: 1, ...(keepErrors === undefined ? {} : { keep_errors: keepErrors }) };
	const outcome = await maskConversation({ conversation, policy: policyOf({ mask }) });
	const kept = resultContents(outcome.conversation)[0] === content;
	expect(outcome.report.kept.error).toBe(kept ? 1 : 0);
	return kept;
}

describe("Errors stay (docs/strategies.md#errors-stay)", () => {
	it.each([
		["text that starts with `Traceback`", `Traceback (most recent call last):\n${filler}`],
		["text contains `Traceback`", `${filler} then a Traceback ${filler}`],
		["text contains `Exception`", `${filler} NullPointerException ${filler}`],
		["a line starting with `Error`, the first", `Error: no such file\n${filler}`],
		["a line starting with `Error`, a later one", `${filler}\nError: no such file\n${filler}`],
		['`"error"`', `${filler} {"error": 1} ${filler}`],
		["`timeout`, any case", `${filler} request TimeOut ${filler}`],
		["`connect_error`, any case", `${filler} CONNECT_ERROR ${filler}`],
		["`connection refused`, any case", `${filler} Connection Refused ${filler}`],
		["a JSON object with the key `error`", JSON.stringify({ error: "no", detail: filler })],
		[
			"an object whose key `error` is written with an escape",
			`{"\\u0065rror": "no", "detail": ${JSON.stringify(filler)}}`,
		],
		['an object with `status == "error"`', `{"status": "\\u0065rror", "detail": ${JSON.stringify(filler)}}`],
		["JSON after white space", ` \n\t{"status": "\\u0065rror", "detail": ${JSON.stringify(filler)}}`],
	])("keeps: %s", async (_, content) => {
		expect(await isKept(content)).toBe(true);
	});

	it.each([
		["plain output", filler],
		["`Error` in the middle of a line", `${filler} an Error here ${filler}`],
		["`error` without quotes", `${filler} 0 error found ${filler}`],
		["traceback in small letters", `${filler} traceback ${filler}`],
		["exception in small letters", `${filler} exception ${filler}`],
		["a status that is not an error", JSON.stringify({ status: "ok", detail: filler })],
		["an error deeper inside", `{"result": {"status": "\\u0065rror"}, "detail": ${JSON.stringify(filler)}}`],
		["a list of objects with errors", `[{"status": "\\u0065rror", "detail": ${JSON.stringify(filler)}}]`],
	])("masks: %s", async (_, content) => {
		expect(await isKept(content)).toBe(false);
	});

	it("judges broken JSON by its words", async () => {
		expect(await isKept(`{"status": "\\u0065rror", ${filler}`)).toBe(false);
		expect(await isKept(`{"status": "timeout", ${filler}`)).toBe(true);
	});

	it("keep_errors is true by default", () => {
		expect(policyOf().mask.keep_errors).toBe(true);
	});

	it("keep_errors = false masks errors too", async () => {
		expect(await isKept(`Traceback\n${filler}`, false)).toBe(false);
	});
});
