import { setMaxListeners } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage, RequestId } from "@modelcontextprotocol/sdk/types.js";
import type { CompactionSource } from "../config/compaction.ts";
import { isJsonObject } from "../conversation/json.ts";
import { createJoinedChunks } from "../http/body.ts";
import { messageBytes } from "./answer.ts";
import { namesRevision } from "./body.ts";
import type { ServerOptions } from "./offer.ts";

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

class NotAMessage extends Error {
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

interface OversizedLine {
	readonly bytes: number;
	readonly head: string;
	readonly tail: string;
}

const lineFeed = 0x0a;
const edgeLength = 300;

/** Reads lines in linear time; the SDK's reader copies all it holds at every chunk. Keeps only the ends of a line that is too long. */
export function createLineReader(options: {
	readonly largest: number;
	readonly onLine: (line: string) => void;
	readonly onOversized: (line: OversizedLine) => void;
}): (chunk: Buffer) => void {
	const { largest, onLine, onOversized } = options;
	let chunks = createJoinedChunks();
	let skipped: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined;

	const take = (part: Buffer): void => {
		if (skipped) {
			skipped.bytes += part.length;
			skipped.tail = lastBytes(skipped.tail, part);
		} else if (chunks.length() + part.length < largest) chunks.add(part);
		else {
			const held = chunks.bytes();
			const head = Buffer.concat([held.subarray(0, edgeLength), part.subarray(0, edgeLength)]);
			skipped = { head, tail: lastBytes(held, part), bytes: held.length + part.length };
			chunks = createJoinedChunks();
		}
	};
	const endLine = (): void => {
		if (skipped) {
			const { bytes, head, tail } = skipped;
			skipped = undefined;
			onOversized({ bytes: bytes + 1, head: head.toString("utf8", 0, edgeLength), tail: tail.toString() });
			return;
		}
		const line = chunks.bytes().toString();
		chunks = createJoinedChunks();
		onLine(line);
	};

	return (chunk) => {
		let start = 0;
		for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, start)) {
			const part = chunk.subarray(start, at);
			start = at + 1;
			// A line within one chunk needs no copy.
			if (!skipped && chunks.length() === 0 && part.length < largest) onLine(part.toString());
			else {
				take(part);
				endLine();
			}
		}
		if (start < chunk.length) take(chunk.subarray(start));
	};
}

const lastBytes = (...parts: readonly Buffer[]) =>
	Buffer.concat(parts.map((part) => part.subarray(-edgeLength))).subarray(-edgeLength);

const id = String.raw`"id"\s*:\s*("[^"\\]*"|-?\d+)`;
/** A member whose value holds no escapes and no quotes, so that a pattern can pass over it. */
const word = String.raw`"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"`;

const idAtStart = new RegExp(String.raw`^\s*\{\s*(?:${word}\s*,\s*)*${id}\s*,`);
const idAtEnd = new RegExp(String.raw`[^\\]${id}\s*(?:,\s*${word}\s*)*\}\s*$`);
const response = new RegExp(String.raw`^\s*\{\s*(?:(?:${word}|${id})\s*,\s*)*"(?:result|error)"\s*:`);

/** Clients write the id before or after the large part. `undefined` for a response, which needs no answer. */
export function findRequestId({ head, tail }: Pick<OversizedLine, "head" | "tail">): RequestId | undefined {
	if (response.test(head)) return undefined;
	const found = (idAtStart.exec(head) ?? idAtEnd.exec(tail))?.[1];
	return found === undefined ? undefined : (JSON.parse(found) as RequestId);
}
