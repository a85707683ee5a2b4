import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { version } from "../../version.ts";
import { createByteLineReader, findId, findRequestId, type OversizedLine } from "../stdio-lines.ts";
import { type HostStreams, largestMessage, noteUnread, waitForHost } from "./child.ts";
import { createGateway } from "./gateway.ts";
import { errorLine, type GatewayOptions } from "./gateway-state.ts";
import { createHttpLink } from "./http-link.ts";
import { createManyServers, type ManyServers, type ServerOfMany } from "./many-servers.ts";
import { createHostOutput } from "./output.ts";
import { createSender } from "./remote-send.ts";

/** A server of a host's configuration. */
export type ServerEntry = { readonly name: string } & (
	| {
			readonly kind: "command";
			readonly command: string;
			readonly args: readonly string[];
			readonly env: Readonly<Record<string, string>>;
			readonly folder: string | undefined;
	  }
	| { readonly kind: "remote"; readonly url: URL; readonly headers: Readonly<Record<string, string>> }
);

interface Link extends ServerOfMany {
	/** Ends the server. */
	readonly end: () => Promise<void>;
}

/** For a server to end by itself. */
const goodbyeMs = 2_000;
const invalidRequest = -32_600;
const lineFeed = Buffer.from("\n");

/** Passes messages between a host and several servers, until the host ends its input or `signal` is given. */
export async function serveMany(
	entries: readonly ServerEntry[],
	{ input, output }: HostStreams,
	{
		signal,
		spawned,
		owners,
		...options
	}: Omit<GatewayOptions, "toHost" | "toServer" | "ownerOf" | "owners"> & {
		/** The names under which originals are archived, by the names of the servers. */
		readonly owners: ReadonlyMap<string, string>;
		readonly signal: AbortSignal;
		/** The command as the platform starts it. */
		readonly spawned: (words: readonly string[]) => {
			readonly program: string;
			readonly words: readonly string[];
			readonly shell: boolean;
		};
	},
): Promise<void> {
	const { log } = options;
	const toHost = createHostOutput((bytes) => {
		output.write(bytes);
	});
	const links = entries.map((entry): Link => {
		const parts = { hub: () => hub, log };
		return entry.kind === "command" ? startChild(entry, { ...parts, spawned }) : reachRemote(entry, parts);
	});
	const gateway = createGateway({
		...{
			...options,
			toHost,
			toServer: (line, read) => hub.fromHost(line, read),
			owners: [options.owner, ...owners.values()],
		},
		ownerOf: (tool) => owners.get(hub.serverOf(tool) ?? "") ?? options.owner,
	});
	const hub: ManyServers = createManyServers({ servers: links, toHost: gateway.fromServer, version });
	const ended = new Promise<void>((resolve) => {
		signal.addEventListener("abort", () => resolve());
		for (const event of ["end", "error", "close"]) input.once(event, () => resolve());
		output.once("error", () => resolve());
	});
	const refuseLarge = (line: OversizedLine): void => {
		const id = findRequestId(line);
		const message = `A message of ${line.bytes} bytes is over the ${largestMessage} that pass to several servers.`;
		if (id !== undefined) toHost.line(errorLine(id, { code: invalidRequest, message }));
	};
	const reader = createByteLineReader({ largest: largestMessage, onLine: gateway.fromHost, onOversized: refuseLarge });
	input.on("data", reader.read);
	await ended;
	await Promise.all(links.map((link) => link.end()));
	gateway.end("The gateway has ended.");
	await toHost.settled();
	await waitForHost(output);
}

interface Parts {
	readonly hub: () => ManyServers;
	readonly log: GatewayOptions["log"];
}

function startChild(
	{ name, command, args, env, folder }: ServerEntry & { kind: "command" },
	{ hub, log, spawned }: Parts & Pick<Parameters<typeof serveMany>[2], "spawned">,
): Link {
	const { program, words, shell } = spawned([command, ...args]);
	const child: ChildProcessByStdio<Writable, Readable, null> = spawn(program, words, {
		...{ stdio: ["pipe", "pipe", "inherit"], windowsHide: true, shell, cwd: folder, env: { ...process.env, ...env } },
	});
	const gone = new Promise<void>((resolve) => {
		const end = (how: string): void => {
			hub().ended(
				name,
				`The server ${name} ${how}. Start the gateway again; messages of the server are on standard error.`,
			);
			resolve();
		};
		child.once("error", ({ message }) => end(`cannot be started (${(message.match(/E[A-Z]+/) ?? ["unknown"])[0]})`));
		child.once("close", (code, signal) =>
			end(`has ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}`),
		);
	});
	child.stdin.on("error", () => {});
	child.stdout.on("error", () => {});
	const reader = createByteLineReader({
		largest: largestMessage,
		onLine: (line) => hub().fromServer(name, line),
		onOversized(line) {
			noteUnread(log, line.bytes);
			const id = findId(line);
			const message = `The server ${name} answered with ${line.bytes} bytes, over the ${largestMessage} that pass.`;
			if (id !== undefined) hub().fromServer(name, errorLine(id, { code: invalidRequest, message }));
		},
	});
	child.stdout.on("data", reader.read);
	return {
		name,
		send(line) {
			child.stdin.write(line);
			child.stdin.write(lineFeed);
		},
		async end() {
			child.stdin.end();
			await Promise.race([gone, delay(goodbyeMs, undefined, { ref: false })]);
			if (child.exitCode === null && child.signalCode === null) child.kill();
		},
	};
}

function reachRemote({ name, url, headers }: ServerEntry & { kind: "remote" }, { hub, log }: Parts): Link {
	const link = createHttpLink(url, headers);
	const gone = new AbortController();
	const gateway = {
		toolNamed: () => undefined,
		isOpen: (id: string | number) => hub().isOpen(name, id),
		refuse: (id: string | number, error: { readonly message: string }) =>
			hub().fromServer(name, errorLine(id, { code: -32_000, ...error })),
	};
	const onMessage = (line: Buffer): void => hub().fromServer(name, line);
	const sender = createSender({ url, link, gateway, log, gone, onMessage });
	return {
		name,
		send: (line, read) => sender.send(line, read),
		async end() {
			await sender.end();
			gone.abort();
			link.close();
		},
	};
}
