import { describe, expect, it } from "vitest";
import { findRequestId } from "../../src/mcp/stdio-lines.ts";

/** The ends of a message as they are told of one that is too long. */
function endsOf(message: object | string) {
	const line = typeof message === "string" ? message : JSON.stringify(message);
	return { head: line.slice(0, 300), tail: line.slice(-300) };
}

const text = "lorem ipsum ".repeat(100);
const params = { name: "truncate_output", arguments: { text } };
const call = { method: "tools/call", params };

describe("the id of a request with only its ends in memory", () => {
	it.each([
		["last, as the SDK for TypeScript writes it", { ...call, jsonrpc: "2.0", id: 7 }, 7],
		["second, as that for Python does", { jsonrpc: "2.0", id: "a-1", ...call }, "a-1"],
		["first", { id: 7, jsonrpc: "2.0", ...call }, 7],
		["after the method", { jsonrpc: "2.0", method: "tools/call", id: -7, params }, -7],
		["after the parameters", { method: "tools/call", params, id: 0, jsonrpc: "2.0" }, 0],
		["with white space around", `{ "jsonrpc" : "2.0" , "id" : 7 , "params" : "${text}" }\r`, 7],
	])("is found: %s", (_where, message, id) => {
		expect(findRequestId(endsOf(message))).toBe(id);
	});

	it.each([
		["a notification", { jsonrpc: "2.0", ...call }],
		["an id among the parameters", { jsonrpc: "2.0", method: "x", params: { text, id: 7 } }],
		["an id inside a text", { jsonrpc: "2.0", method: "x", params: `${text},"id":7` }],
		["a result", { jsonrpc: "2.0", id: 7, result: { text } }],
		["a result as the SDK for TypeScript writes it", { result: { text }, jsonrpc: "2.0", id: 7 }],
		["an error", { id: 7, error: { text }, jsonrpc: "2.0" }],
		["a value that is not a message", `${text}\\"id":7}`],
	])("is not taken from %s", (_what, message) => {
		expect(findRequestId(endsOf(message))).toBeUndefined();
	});
});
