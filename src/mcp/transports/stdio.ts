import { setMaxListeners } from "node:events";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import type { CompactionSource } from "../../config/create-compaction-source.ts";
import { createServer, type ServerOptions } from "../create-server.ts";
import { createStdioTransport } from "./stdio/create-stdio-transport.ts";
import type { OversizedLine } from "./stdio/line-reader.ts";
import { requestIdOf } from "./stdio/request-id-of.ts";

/** Largest message taken from the client by default, in bytes. The SDK's own 10 MiB would end the connection. */
export const largestStdioMessage = 64 * 1024 * 1024;

/** Milliseconds that a client has to read the rest of an answer when a signal ends the server. */
const patience = 1_000;

/** What a server on standard input and output is made from. */
export interface StdioOptions extends ServerOptions {
	/** Largest message taken from the client, in bytes. Default 64 MiB. */
	readonly largestMessage?: number | undefined;
	/** Closed when the client goes away. */
	readonly compaction?: CompactionSource | undefined;
}

/**
 * Serves one client on standard input and output until it goes away. Returns once the server listens; answers that are
 * still being made when standard input ends are finished, then the process has nothing left to do and ends by itself.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
	const { largestMessage = largestStdioMessage, log, policySource, archive, compaction } = options;
	const clientGone = new AbortController();
	// Every question to the client listens to it; Node takes more than ten listeners for a leak.
	setMaxListeners(0, clientGone.signal);
	const server = createServer({ ...options, ownsRequests: true, clientGone: clientGone.signal });
	const transport = createStdioTransport({
		input: process.stdin,
		output: process.stdout,
		largestMessage,
		onOversized: refuse,
	});
	const tell = (message: string, error: string) => log({ level: "error", message, data: { event: "protocol", error } });

	/** A request that is too large still gets its answer, so that nobody waits for it. */
	function refuse(line: OversizedLine): void {
		const message = `A message of ${line.bytes} bytes on standard input is over the ${largestMessage} that are taken in one`;
		tell(message, "payload_too_large");
		const id = requestIdOf(line);
		if (id === undefined) return;
		const error = { code: ErrorCode.InvalidRequest, message: `[payload_too_large] ${message}.` };
		void transport.send({ jsonrpc: "2.0", id, error });
	}

	server.server.onerror = (error) => tell(wordsFor(error), error.name);
	const leave = () => {
		// An answer of which a part is out goes out whole, unless the client no longer reads.
		setTimeout(() => process.exit(0), patience);
		void compaction?.close();
		void server.close().finally(() => process.stdout.write("", () => process.exit(0)));
	};
	process.once("SIGTERM", leave);
	process.once("SIGINT", leave);
	process.once("SIGHUP", leave);
	// A client that closed its end makes every write fail; there is nobody left to tell.
	process.stdout.on("error", leave);
	process.stdin.on("error", leave);
	process.stdin.once("end", () => {
		policySource.close();
		archive?.end();
		void compaction?.close();
		clientGone.abort(new McpError(ErrorCode.ConnectionClosed, "Standard input ended"));
	});
	await server.connect(transport);
}

/** The error in words of ours; its own message may quote the input. */
function wordsFor(error: Error): string {
	if (error instanceof SyntaxError) return "A line on standard input is no JSON and was passed over";
	if (error.name.endsWith("ZodError")) return "A line on standard input is no JSON-RPC message and was passed over";
	return "The connection on standard input and output failed";
}
