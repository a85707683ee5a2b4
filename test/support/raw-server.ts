import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { atEnd } from "./at-end.ts";
import { builtCli } from "./built-cli.ts";
import { cleanEnvironment, scratchFolder } from "./scratch-folder.ts";

/** An answer as it stands on the wire. */
export interface WireAnswer {
	readonly jsonrpc: "2.0";
	readonly id?: string | number;
	readonly result?: {
		readonly isError?: boolean;
		readonly content: readonly { readonly text: string }[];
		readonly structuredContent?: Readonly<Record<string, unknown>>;
	};
	readonly error?: { readonly code: number; readonly message: string };
}

/** The built server as a bare process, for what no well-behaved client does. */
export interface RawServer {
	readonly child: ChildProcessWithoutNullStreams;
	/** Every line of standard output so far. */
	readonly lines: readonly string[];
	stderr(): string;
	/** Writes a line to standard input as it is. */
	write(line: string): void;
	/** Writes the request of a tool call. */
	call(id: number, name: string, parameters: Record<string, unknown>): void;
	/** The answer to a request; waits for it. Fails when the server ends without it. */
	answer(id: number): Promise<WireAnswer>;
	/** How the process ended; waits for it. */
	readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Starts the built server and greets it. It is gone after the test. */
export async function rawServer(): Promise<RawServer> {
	const folder = await scratchFolder();
	const child = spawn(process.execPath, [builtCli], { cwd: folder, env: cleanEnvironment(folder) });
	atEnd("test", () => child.kill("SIGKILL"));
	let stderr = "";
	child.stderr.on("data", (chunk: Buffer) => {
		stderr += chunk.toString("utf8");
	});
	// What is written to a server that has ended is lost, and the test sees so by `ended`.
	child.stdin.on("error", () => {});
	const lines: string[] = [];
	const waiting = new Map<number, (answer: WireAnswer) => void>();
	const answers = new Map<number, WireAnswer>();
	createInterface({ input: child.stdout }).on("line", (line) => {
		lines.push(line);
		const message = JSON.parse(line) as WireAnswer;
		if (typeof message.id !== "number") return;
		answers.set(message.id, message);
		waiting.get(message.id)?.(message);
	});
	const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
		child.on("close", (code, signal) => resolve({ code, signal }));
	});
	const write = (line: string) => void child.stdin.write(`${line}\n`);
	const server: RawServer = {
		child,
		lines,
		stderr: () => stderr,
		write,
		call: (id, name, parameters) => {
			const params = { name, arguments: parameters };
			write(JSON.stringify({ method: "tools/call", params, jsonrpc: "2.0", id }));
		},
		answer: (id) => {
			const gone = ended.then(() => Promise.reject(new Error(`The server ended without an answer to ${id}.`)));
			const answered = new Promise<WireAnswer>((resolve) => {
				const here = answers.get(id);
				if (here) resolve(here);
				else waiting.set(id, resolve);
			});
			return Promise.race([answered, gone]);
		},
		ended,
	};
	const greeting = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
	write(JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: greeting }));
	await server.answer(0);
	write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }));
	return server;
}
