import { PassThrough } from "node:stream";
import { ReadBuffer, serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { vi } from "vitest";
import { createProgram } from "../../src/commands/program.ts";
import { runProgram } from "../../src/commands/usage.ts";
import { builtCli } from "./built-cli.ts";
import { noteListeners } from "./process-listeners.ts";
import { cleanEnvironment } from "./scratch-folder.ts";

export interface ServedHere {
	/** The client's end. Closing it ends the server's standard input. */
	readonly transport: Transport;
	/** All that was written to standard error since it started. */
	stderr(): string;
}

interface Surroundings {
	readonly folder: string;
	readonly environment?: Readonly<Record<string, string>>;
}

/** One starts after the other. */
let last: Promise<unknown> = Promise.resolve();
/** Where this process was, and the servers that have not ended. The last one has its folder and its environment. */
const places: { readonly folder: string; readonly environment: NodeJS.ProcessEnv }[] = [];
let told = "";
let restoreStandardError = () => {};

/**
 * `palimpsest serve` on a standard input and output of its own, in this process: the commands, their options, and lines of
 * JSON as in a process, which costs a second. What a process alone shows has `stdioSession` with `inProcess`.
 */
export function serveHere(parameters: readonly string[], where: Surroundings): Promise<ServedHere> {
	const start = last.then(() => startHere(parameters, where));
	last = start.catch(() => {});
	return start;
}

async function startHere(
	parameters: readonly string[],
	{ folder, environment = {} }: Surroundings,
): Promise<ServedHere> {
	const [input, output] = [new PassThrough(), new PassThrough()];
	if (places.length === 0) {
		places.push({ folder: process.cwd(), environment: { ...process.env } });
		told = "";
		const spied = vi.spyOn(process.stderr, "write").mockImplementation((piece) => {
			told += piece.toString();
			return true;
		});
		restoreStandardError = () => spied.mockRestore();
	}
	const start = told.length;
	const place = { folder, environment: { ...cleanEnvironment(folder), ...environment } };
	places.push(place);
	goTo(place);
	const end = () => {
		input.end();
		const at = places.indexOf(place);
		if (at === -1) return;
		places.splice(at, 1);
		goTo(places.at(-1) ?? place);
		if (places.length > 1) return;
		places.length = 0;
		restoreStandardError();
	};
	const forgetListeners = noteListeners();
	const stdin = vi.spyOn(process, "stdin", "get").mockReturnValue(input as never);
	const stdout = vi.spyOn(process, "stdout", "get").mockReturnValue(output as never);
	try {
		process.exitCode = undefined;
		await runProgram(createProgram(), [process.execPath, builtCli, ...parameters]);
		if (process.exitCode) {
			const failure = new Error(`The server has not started: ${told.slice(start)}`);
			end();
			throw failure;
		}
	} finally {
		process.exitCode = undefined;
		stdin.mockRestore();
		stdout.mockRestore();
		forgetListeners();
	}
	return { transport: clientEnd({ input: output, output: input, end }), stderr: () => told.slice(start) };
}

function goTo({ folder, environment }: (typeof places)[number]): void {
	process.chdir(folder);
	for (const name of Object.keys(process.env)) if (environment[name] === undefined) delete process.env[name];
	Object.assign(process.env, environment);
}

function clientEnd(streams: { input: PassThrough; output: PassThrough; end(): void }): Transport {
	const buffer = new ReadBuffer({ maxBufferSize: 200_000_000 });
	const transport: Transport = {
		async start() {
			streams.input.on("data", (chunk: Buffer) => {
				try {
					buffer.append(chunk);
					for (let message = buffer.readMessage(); message; message = buffer.readMessage()) {
						transport.onmessage?.(message);
					}
				} catch (error) {
					transport.onerror?.(error as Error);
				}
			});
		},
		async send(message: JSONRPCMessage) {
			streams.output.write(serializeMessage(message));
		},
		async close() {
			streams.end();
			transport.onclose?.();
		},
	};
	return transport;
}
