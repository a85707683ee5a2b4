import type { Readable, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { createLineParser, lineParserLimits } from "./create-line-parser.ts";
import { createLineReader, type Line, type OversizedLine } from "./line-reader.ts";
import { messageLine } from "./message-line.ts";

/** What a transport reads and writes. */
export interface StdioTransportOptions {
	readonly input: Readable;
	readonly output: Writable;
	/** Largest message taken, in bytes with its line break. */
	readonly largestMessage: number;
	/** Is told of a message over that, which is passed over; the connection goes on. */
	readonly onOversized: (line: OversizedLine) => void;
}

/**
 * Bytes of unread answers from which no more requests are taken in, until the client has read. One answer is at most 8
 * MB, so a client that has many requests under way and reads is never held up.
 */
export const mostUnread = 32_000_000;

/**
 * The protocol on a pair of streams, one message a line, by the rules of the SDK's own `StdioServerTransport`: a line
 * that is no message is told to `onerror` and the next one is read. Beyond that one, it reads in linear time, `send`
 * resolves once the message is out, and a client that sends without reading cannot make memory grow.
 */
export function createStdioTransport(options: StdioTransportOptions): Transport {
	const { input, output, largestMessage, onOversized } = options;
	let state: "new" | "started" | "closed" = "new";
	const sending = new Set<() => void>();
	const { parse } = createLineParser();

	const takeLine = (line: Line): void => {
		try {
			transport.onmessage?.(JSONRPCMessageSchema.parse(parse(line)));
		} catch (error) {
			transport.onerror?.(error as Error);
		}
	};
	const { longest: largestInBytes } = lineParserLimits;
	const read = createLineReader({ largest: largestMessage, largestInBytes, onLine: takeLine, onOversized });
	const tell = (error: Error): void => transport.onerror?.(error);
	const readOn = (): void => void input.resume();
	const close = async (): Promise<void> => {
		if (state === "closed") return;
		state = "closed";
		input.off("data", read);
		input.off("error", tell);
		output.off("drain", readOn);
		input.pause();
		for (const settle of sending) settle();
		transport.onclose?.();
	};

	const transport: Transport = {
		async start() {
			if (state !== "new") throw new Error("The transport on standard input and output was started before.");
			state = "started";
			input.on("error", tell);
			output.on("drain", readOn);
			// Writes to a client that has gone fail; there is nobody left to tell.
			output.once("error", () => void close());
			input.on("data", read);
		},
		send(message: JSONRPCMessage) {
			if (state === "closed") return Promise.resolve();
			return new Promise<void>((resolve) => {
				// A write that fails ends the connection by the stream's own event, so there is nothing to reject with.
				const settle = (): void => {
					sending.delete(settle);
					resolve();
				};
				output.write(messageLine(message), settle);
				sending.add(settle);
				if (output.writableLength > mostUnread) input.pause();
			});
		},
		close,
	};
	return transport;
}
