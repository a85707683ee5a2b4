import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

const written = new WeakMap<object, string>();

/** Remembers the JSON of a large value that is written again when its answer is sent. The value must not change. */
export function rememberWrittenJson(value: unknown, json: string): void {
	if (typeof value === "object" && value !== null) written.set(value, json);
}

/** A message as a line of JSON in UTF-8. */
export function messageLine(message: JSONRPCMessage): Buffer {
	return bytesOfTexts([...messageParts(message), "\n"]);
}

/**
 * The JSON of a message in parts to be written one after the other. Reuses the remembered JSON of large values in a tool's
 * answer instead of writing it a second time.
 */
export function messageParts(message: JSONRPCMessage): readonly string[] {
	return reuseWritten(message) ?? [JSON.stringify(message)];
}

/** Writes texts as UTF-8 one after the other, without joining the texts first. */
export function bytesOfTexts(texts: readonly string[]): Buffer {
	const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0));
	let at = 0;
	for (const text of texts) at += bytes.write(text, at);
	return bytes;
}

function reuseWritten(message: JSONRPCMessage): readonly string[] | undefined {
	if (!("result" in message)) return undefined;
	const { result, ...envelope } = message;
	const { structuredContent, ...rest } = result;
	if (typeof structuredContent !== "object" || structuredContent === null) return undefined;
	const members = Object.entries(structuredContent).map(([name, value]) => ({ name, json: takeWritten(value), value }));
	if (members.every(({ json }) => json === undefined)) return undefined;
	const parts = members
		.map(({ name, json, value }) => ({ name, json: json ?? JSON.stringify(value) }))
		.filter(({ json }) => json !== undefined)
		.flatMap(({ name, json }, index) => [`${index === 0 ? "" : ","}${JSON.stringify(name)}:`, json]);
	return [
		...openMember(envelope, "result"),
		...openMember(rest, "structuredContent"),
		"{",
		...parts,
		// Closes the structured content, the result and the message.
		"}}}",
	];
}

/** Returns the JSON that was remembered for a value, and forgets it. */
function takeWritten(value: unknown): string | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	const json = written.get(value);
	written.delete(value);
	return json;
}

/** The JSON of an object with one more member, up to where the value of that member begins. */
function openMember(object: object, name: string): readonly string[] {
	const rest = JSON.stringify(object).slice(0, -1);
	return [rest, `${rest === "{" ? "" : ","}"${name}":`];
}
