import { isJsonObject, type JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, stringAt } from "../../formats/json-text/value.ts";
import type { ReadLine } from "./messages.ts";

/**
 * The headers that a request of revision 2026-07-28 repeats from its body; none for older revisions. Source:
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports (standard headers, `x-mcp-header`).
 */
export function bodyHeaders(
	read: ReadLine | undefined,
	toolNamed: (name: string) => JsonObject | undefined,
): Readonly<Record<string, string>> {
	const [only, another] = read?.messages ?? [];
	if (only === undefined || another !== undefined) return {};
	const { message } = only;
	if (message.kind !== "request" || !message.isNewer) return {};
	const { method, params } = message;
	const version = stringAt(objectOf(params._meta), "io.modelcontextprotocol/protocolVersion");
	const name = Object.hasOwn(nameMembers, method) && stringAt(params, nameMembers[method] as string);
	const tool = method === "tools/call" && typeof name === "string" ? toolNamed(name) : undefined;
	return {
		...(version !== undefined && { "MCP-Protocol-Version": version }),
		"Mcp-Method": method,
		...(typeof name === "string" && { "Mcp-Name": headerValue(name) }),
		...(tool && parameterHeaders(tool.inputSchema, params.arguments)),
	};
}

const nameMembers: Readonly<Record<string, string>> = {
	"tools/call": "name",
	"prompts/get": "name",
	"resources/read": "uri",
	"tasks/get": "taskId",
	"tasks/update": "taskId",
	"tasks/cancel": "taskId",
};

/** The arguments that the tool's schema asks for in headers. */
function parameterHeaders(schema: unknown, given: unknown): Record<string, string> {
	if (!isJsonObject(schema) || !isJsonObject(schema.properties) || !isJsonObject(given)) return {};
	const headers: Record<string, string> = {};
	for (const [name, property] of Object.entries(schema.properties)) {
		const value = Object.hasOwn(given, name) ? given[name] : undefined;
		const header = isJsonObject(property) ? property["x-mcp-header"] : undefined;
		if (typeof header === "string" && /^[!#$%&'*+\-.^_`|~\w]+$/.test(header) && isPrimitive(value))
			headers[`Mcp-Param-${header}`] = headerValue(String(value));
		Object.assign(headers, parameterHeaders(property, value));
	}
	return headers;
}

function isPrimitive(value: unknown): boolean {
	return typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value);
}

/** Other text than plain ASCII is written as base64. */
function headerValue(text: string): string {
	const isPlain = /^[\x20-\x7e\t]+$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
	return isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}
