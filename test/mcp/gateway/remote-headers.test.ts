import { describe, expect, it } from "vitest";
import { readLine } from "../../../src/mcp/gateway/messages.ts";
import { bodyHeaders } from "../../../src/mcp/gateway/remote-headers.ts";

const newer = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
const inputSchema = {
	type: "object",
	properties: {
		region: { type: "string", "x-mcp-header": "Region" },
		count: { type: "integer", "x-mcp-header": "Count" },
		deep: { type: "object", properties: { flag: { type: "boolean", "x-mcp-header": "Flag" } } },
		absent: { type: "string", "x-mcp-header": "Absent" },
		odd: { type: "string", "x-mcp-header": "not a token" },
	},
};
const headersOf = (message: object) =>
	bodyHeaders(readLine(Buffer.from(JSON.stringify(message))), () => ({ name: "t", inputSchema }));

describe("the headers of a request", () => {
	it("repeat method, name and arguments in the newer revision", () => {
		const given = { region: "Zürich", count: 3, deep: { flag: false }, odd: "x" };
		const params = { ...newer, name: "t", arguments: given };
		expect(headersOf({ jsonrpc: "2.0", id: 1, method: "tools/call", params })).toEqual({
			"MCP-Protocol-Version": "2026-07-28",
			"Mcp-Method": "tools/call",
			"Mcp-Name": "t",
			"Mcp-Param-Region": "=?base64?WsO8cmljaA==?=",
			"Mcp-Param-Count": "3",
			"Mcp-Param-Flag": "false",
		});
	});

	it.each([
		["of an older revision", { id: 1, method: "tools/call", params: { name: "t" } }],
		["of a notification", { method: "notifications/cancelled", params: { ...newer, requestId: 1 } }],
	])("are none for a message %s", (_what, message) => {
		expect(headersOf({ jsonrpc: "2.0", ...message })).toEqual({});
	});
});
