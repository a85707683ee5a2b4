import { setMaxListeners } from "node:events";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { CompactionSource } from "../operations/config/compaction.ts";
import { namesRevision } from "./body.ts";
import type { ServerOptions } from "./offer.ts";
import { findRequestId } from "./stdio-lines.ts";
import { createStdioTransport, NotAMessage } from "./stdio-transport.ts";

/** Returns once the server listens. When standard input ends, calls under way are finished, and the process ends. */
export async function serveStdio(
	options: ServerOptions & {
		readonly largestMessage?: number | undefined;
		readonly compaction?: CompactionSource | undefined;
	},
): Promise<void> {
	// The SDK's own 10 MiB would end the connection.
	const { largestMessage = 64 * 1024 * 1024, log, policySource, archive, compaction } = options;
	const clientGone = new AbortController();
	// Every request to the client listens to it, and Node warns of a leak from eleven listeners on.
	setMaxListeners(0, clientGone.signal);
	const logError = (message: string, error: string) =>
		log({ level: "error", message, data: { event: "protocol", error } });
	const transport = createStdioTransport({
		input: process.stdin,
		output: process.stdout,
		largestMessage,
		onOversized(line) {
			const message = `A message of ${line.bytes} bytes on standard input is over the limit of ${largestMessage}`;
			logError(message, "payload_too_large");
			// Answered, so that no client waits for it.
			const id = findRequestId(line);
			if (id === undefined) return;
			const error = { code: invalidRequest, message: `[payload_too_large] ${message}.` };
			void transport.send({ jsonrpc: "2.0", id, error });
		},
	});
	let server: { close(): Promise<void> } = transport;
	const leave = () => {
		// The client has this time to read the rest of an answer.
		setTimeout(() => process.exit(0), 1_000);
		void compaction?.close();
		void server.close().finally(() => process.stdout.write("", () => process.exit(0)));
	};
	for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, leave);
	process.stdout.on("error", leave);
	process.stdin.on("error", leave);
	process.stdin.once("end", () => {
		policySource.close();
		archive?.end();
		void compaction?.close();
		clientGone.abort(goneReason?.());
	});
	const onerror = (error: Error) => logError(describeError(error), error.name);
	/** The SDK's own error, which tells a request to the client why it ends. */
	let goneReason: (() => Error) | undefined;
	const older = async () => {
		const { createServer, connectionClosed } = await import("./server.ts");
		goneReason = connectionClosed;
		const server = createServer({ ...options, clientGone: clientGone.signal });
		server.server.onerror = onerror;
		return server;
	};
	/** Only the SDK of the era that the first message is of is loaded. */
	const serveEra = async (first: JSONRPCMessage, connection: Transport) => {
		if (namesRevision(first)) {
			const { serveConnection2026 } = await import("./server-2026.ts");
			return serveConnection2026(options, { transport: connection, older, onerror });
		}
		const opened = await older();
		await opened.connect(connection);
		return opened;
	};
	const held: JSONRPCMessage[] = [];
	const open = async (first: JSONRPCMessage): Promise<void> => {
		// The transport runs already, and an SDK starts the one that it gets.
		const connection: Transport = { start: async () => {}, send: transport.send, close: transport.close };
		server = await serveEra(first, connection);
		transport.onmessage = (message) => connection.onmessage?.(message);
		transport.onclose = () => connection.onclose?.();
		transport.onerror = (error) => connection.onerror?.(error);
		for (const message of held) connection.onmessage?.(message);
	};
	transport.onerror = onerror;
	transport.onmessage = (message) => {
		held.push(message);
		if (held.length === 1) void open(message);
	};
	await transport.start();
}

const invalidRequest = -32_600;

/** Describes an error without its own message, which may quote the input. */
function describeError(error: Error): string {
	if (error instanceof SyntaxError) return "A line on standard input is not JSON and was skipped";
	// The SDKs notice faults that `readMessage` does not, such as a progress token that is a list.
	if (error instanceof NotAMessage || error.message.startsWith("Unknown message type:"))
		return "A line on standard input is not a JSON-RPC message and was skipped";
	return "The connection on standard input and output failed";
}
