import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { bytesOfTexts } from "../../bytes-of-texts.ts";
import { takeWrittenJson } from "../../written-json.ts";

/** A message as a line of JSON in UTF-8. */
export function messageLine(message: JSONRPCMessage): Buffer {
	return bytesOfTexts([...messageParts(message), "\n"]);
}

/**
 * The JSON of a message in parts, one behind the other. What of a tool's answer was written before, to see how large it
 * is, is not written again, and is a part of its own: put together, it would be copied.
 */
export function messageParts(message: JSONRPCMessage): readonly string[] {
	return spliced(message) ?? [JSON.stringify(message)];
}

function spliced(message: JSONRPCMessage): readonly string[] | undefined {
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
	const written = members
		.map(({ name, json, value }) => ({ name, json: json ?? JSON.stringify(value) }))
		.filter(({ json }) => json !== undefined)
		.flatMap(({ name, json }, index) => [`${index === 0 ? "" : ","}${JSON.stringify(name)}:`, json]);
	return [
		...beforeMember(envelope, "result"),
		...beforeMember(rest, "structuredContent"),
		"{",
		...written,
		// Of the structured content, the result and the message.
		"}}}",
	];
}

/** The JSON of an object to which one member more is to be added, up to where its value begins. */
function beforeMember(object: object, name: string): readonly string[] {
	const rest = JSON.stringify(object).slice(0, -1);
	return [rest, `${rest === "{" ? "" : ","}"${name}":`];
}
