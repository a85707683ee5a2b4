import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ErrorCode } from "@modelcontextprotocol/sdk/types.js";
import { createServer, type ServerOptions } from "../create-server.ts";
import { type OversizedLine, wholeLines } from "./whole-lines.ts";

/** Largest message taken from the client, in bytes. The SDK's own default of 10 MiB would end the connection. */
export const largestStdioMessage = 64 * 1024 * 1024;

/**
 * Serves one client on standard input and output until it goes away. Returns once the server listens; answers that are
 * still being made when standard input ends are finished, then the process has nothing left to do and ends by itself.
 */
export async function serveStdio(options: ServerOptions): Promise<void> {
	const server = createServer(options);
	const lines = wholeLines({ largest: largestStdioMessage, onOversized: refuse });
	const transport = new StdioServerTransport(lines, process.stdout, { maxBufferSize: largestStdioMessage });
	const tell = (message: string, error: string) =>
		options.log({ level: "error", message, data: { event: "protocol", error } });

	/** A request that is too large still gets its answer, so that nobody waits for it. */
	function refuse(line: OversizedLine): void {
		const message = `A message of ${line.bytes} bytes on standard input is over the ${largestStdioMessage} that are taken in one`;
		tell(message, "payload_too_large");
		const id = requestIdOf(line);
		if (id === undefined) return;
		const error = { code: ErrorCode.InvalidRequest, message: `[payload_too_large] ${message}.` };
		void transport.send({ jsonrpc: "2.0", id, error });
	}

	server.server.onerror = (error) => tell(wordsFor(error), error.name);
	const leave = () => {
		void server.close().finally(() => process.exit(0));
	};
	process.once("SIGTERM", leave);
	process.once("SIGINT", leave);
	process.once("SIGHUP", leave);
	// A client that closed its end makes every write fail; there is nobody left to tell.
	process.stdout.on("error", leave);
	process.stdin.on("error", leave);
	process.stdin.once("end", options.policySource.close);
	await server.connect(transport);
	process.stdin.pipe(lines);
}

/** The error in words of ours; its own message may quote the input. */
function wordsFor(error: Error): string {
	if (error instanceof SyntaxError) return "A line on standard input is no JSON and was passed over";
	if (error.name.endsWith("ZodError")) return "A line on standard input is no JSON-RPC message and was passed over";
	return "The connection on standard input and output failed";
}

/** The id of a request of which only both ends are known: it stands first or last in what clients write. */
function requestIdOf({ head, tail }: OversizedLine): string | number | undefined {
	const atStart = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("(?:[^"\\])*"|\d+)\s*,/.exec(head);
	const atEnd = /[^\\]"id"\s*:\s*("(?:[^"\\])*"|\d+)\s*\}\s*$/.exec(tail);
	const id = (atStart ?? atEnd)?.[1];
	return id === undefined ? undefined : JSON.parse(id);
}
