import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/**
 * A result that goes through the SDK in the place of a message that is written already, as JSON in UTF-8 without a line
 * break. Only our own transports may get it.
 */
export function rawResult(message: Uint8Array): CallToolResult {
	return { content: [], raw: message };
}

/** The bytes of a message that is written already; `undefined` for any other. */
export function rawMessage(message: JSONRPCMessage): Uint8Array | undefined {
	if (!("result" in message)) return undefined;
	// What a client sends is parsed from JSON, in which there are no bytes.
	return message.result.raw instanceof Uint8Array ? message.result.raw : undefined;
}
