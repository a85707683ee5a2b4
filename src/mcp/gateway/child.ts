import type { ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Log } from "../../log.ts";
import { createByteLineReader } from "../stdio-lines.ts";
import { createGateway } from "./gateway.ts";
import type { GatewayOptions } from "./gateway-state.ts";
import { createHostOutput } from "./output.ts";

/** In bytes. Larger messages pass unread. */
export const largestMessage = 64 * 1024 * 1024;

/** Bytes that a slow reader may leave unread before no more are read for it. */
const mostUnread = 32_000_000;
/** Messages that may wait for one that is being changed. */
const mostWaiting = 10_000;

/** A process that it left behind may keep the output open. */
const patienceMs = 2_000;

const lineFeed = Buffer.from("\n");

export interface HostStreams {
	readonly input: Readable;
	readonly output: Writable;
}

/** Passes messages between a host and a server that is a child process, until that ends. */
export async function serveChild(
	child: ChildProcessByStdio<Writable, Readable, null>,
	{ input, output }: HostStreams,
	options: Omit<GatewayOptions, "toHost" | "toServer"> & {
		/** The name of the server, for people. */
		readonly name: string;
	},
): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
	const { log, name } = options;
	const { stdin, stdout } = child;
	const toHost = createHostOutput((bytes) => {
		output.write(bytes);
	});
	const gateway = createGateway({
		...options,
		toHost,
		toServer(line) {
			stdin.write(line);
			stdin.write(lineFeed);
		},
	});
	const fromHost = createByteLineReader({
		largest: largestMessage,
		onLine: gateway.fromHost,
		onPart: (part) => void stdin.write(part),
		onOversized({ bytes }) {
			gateway.unreadFromHost();
			noteUnread(log, bytes);
		},
	});
	const fromServer = createByteLineReader({
		largest: largestMessage,
		onLine: gateway.fromServer,
		onPart: toHost.part,
		onOversized({ bytes }) {
			toHost.endLine();
			noteUnread(log, bytes);
		},
	});
	const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
		child.once("exit", () => setTimeout(() => stdout.destroy(), patienceMs).unref());
		child.once("close", (code, signal) => resolve({ code, signal }));
	});

	// A server that is gone ends with its exit code, and a host that is gone closes our input.
	stdin.on("error", () => {});
	stdout.on("error", () => {});
	output.on("error", () => {
		stdin.destroy();
		stdout.destroy();
	});
	input.on("data", (chunk: Buffer) => {
		stdin.cork();
		fromHost.read(chunk);
		stdin.uncork();
		if (stdin.writableLength > mostUnread) input.pause();
	});
	stdin.on("drain", () => input.resume());
	const endInput = (): void => {
		const rest = fromHost.rest();
		if (rest.length > 0) stdin.write(rest);
		stdin.end();
	};
	input.once("end", endInput).once("error", endInput);
	stdout.on("data", (chunk: Buffer) => {
		output.cork();
		fromServer.read(chunk);
		output.uncork();
		if (toHost.waiting() > mostWaiting) {
			stdout.pause();
			void toHost.settled().then(() => stdout.resume());
		} else if (output.writableLength > mostUnread) {
			stdout.pause();
			output.once("drain", () => stdout.resume());
		}
	});

	const { code, signal } = await ended;
	const rest = fromServer.rest();
	if (rest.length > 0) gateway.fromServer(rest);
	gateway.end(
		`The server ${name} ended ${signal === null ? `with exit code ${code}` : `by ${signal}`} before it answered. Start it again; its messages are on standard error.`,
	);
	await toHost.settled();
	await waitForHost(output);
	return { code, signal };
}

/** Until the host has got all, or is gone. */
export function waitForHost(output: Writable): Promise<void> {
	return new Promise((resolve) => {
		output.write("", () => resolve());
	});
}

export function noteUnread(log: Log, bytes: number): void {
	const message = `A message of ${bytes} bytes passed unread: it is over ${largestMessage} bytes`;
	log({ level: "warning", message, data: { event: "passed_unread", bytes } });
}
