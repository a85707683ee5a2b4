import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { takeWrittenJson } from "../../written-json.ts";

/**
 * A message as a line of JSON. What of a tool's answer was written before, to see how large it is, is not written again.
 */
export function messageLine(message: JSONRPCMessage): string {
	return `${spliced(message) ?? JSON.stringify(message)}\n`;
}

function spliced(message: JSONRPCMessage): string | undefined {
	if (!("result" in message)) return undefined;
	const { result, ...envelope } = message;
	const { structuredContent, ...rest } = result;
	if (typeof structuredContent !== "object" || structuredContent === null) return undefined;
	const members = Object.entries(structuredContent).map(([name, value]) => ({
		name,
		json: takeWrittenJson(value),
		value,
	}));
	if (members.every(({ json }) => json === undefined)) return undefined;
	const written = members.flatMap(({ name, json, value }) => {
		const text = json ?? JSON.stringify(value);
		return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
	});
	return withMember(envelope, "result", withMember(rest, "structuredContent", `{${written.join(",")}}`));
}

/** An object as JSON with one member more, whose JSON is given. */
function withMember(object: object, name: string, json: string): string {
	const rest = JSON.stringify(object).slice(0, -1);
	return `${rest}${rest === "{" ? "" : ","}"${name}":${json}}`;
}
