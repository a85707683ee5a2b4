import type { Readable, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { isJsonObject } from "../engine/conversation/json.ts";
import { messageBytes } from "./answer.ts";
import { createLineReader, type OversizedLine } from "./stdio-lines.ts";

/** Above this many unread bytes, no more requests are read. Answers have at most 8 MB. */
const mostUnread = 32_000_000;

/**
 * Unlike the SDK's `StdioServerTransport`, it skips a message over `largestMessage` bytes instead of closing the
 * connection, resolves `send` once the message is written, and stops reading if the client does.
 */
export function createStdioTransport(options: {
	readonly input: Readable;
	readonly output: Writable;
	readonly largestMessage: number;
	readonly onOversized: (line: OversizedLine) => void;
}): Transport {
	const { input, output, largestMessage, onOversized } = options;
	let state: "new" | "started" | "closed" = "new";
	const sending = new Set<() => void>();

	const takeLine = (line: string): void => {
		try {
			transport.onmessage?.(readMessage(JSON.parse(line)));
		} catch (error) {
			transport.onerror?.(error as Error);
		}
	};
	const read = createLineReader({ largest: largestMessage, onLine: takeLine, onOversized });
	const tell = (error: Error): void => transport.onerror?.(error);
	const resume = (): void => void input.resume();
	const close = async (): Promise<void> => {
		if (state === "closed") return;
		state = "closed";
		input.off("data", read);
		input.off("error", tell);
		output.off("drain", resume);
		input.pause();
		for (const settle of sending) settle();
		transport.onclose?.();
	};

	const transport: Transport = {
		async start() {
			if (state !== "new") throw new Error("The transport on standard input and output was started before.");
			state = "started";
			input.on("error", tell);
			output.on("drain", resume);
			// A write to a client that is gone fails.
			output.once("error", () => void close());
			input.on("data", read);
		},
		send(message: JSONRPCMessage) {
			if (state === "closed") return Promise.resolve();
			return new Promise<void>((resolve) => {
				// A failed write ends the connection by the stream's own event, so this never rejects.
				const settle = (): void => {
					sending.delete(settle);
					resolve();
				};
				output.write(messageBytes(message, "\n"), settle);
				sending.add(settle);
				if (output.writableLength > mostUnread) input.pause();
			});
		},
		close,
	};
	return transport;
}

export class NotAMessage extends Error {
	override readonly name = "NotAMessage";
}

/** https://www.jsonrpc.org/specification, as MCP narrows it: no null ids, and nothing but objects as parameters. */
function readMessage(value: unknown): JSONRPCMessage {
	const { jsonrpc, id, method, params, result, error, ...rest } = isJsonObject(value) ? value : {};
	const hasId = typeof id === "string" || Number.isSafeInteger(id);
	const isRight =
		jsonrpc === "2.0" &&
		Object.keys(rest).length === 0 &&
		(method !== undefined
			? typeof method === "string" && (hasId || id === undefined) && (isJsonObject(params) || params === undefined)
			: (hasId && isJsonObject(result)) || ((hasId || id === undefined) && isJsonObject(error)));
	if (!isRight) throw new NotAMessage("Expected a JSON-RPC message.");
	return value as JSONRPCMessage;
}
