import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { type CallToolResult, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { atEnd } from "../support/at-end.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startStdio } from "../support/stdio-session.ts";

/** A client of the server, which runs in a folder of its own beside others. */
export interface PathSession {
	readonly client: Client;
	/** Holds the folders. */
	readonly parent: string;
	/** The server's working directory. */
	readonly working: string;
	/** A folder beside it. */
	readonly beside: string;
	/** URIs that the client offers as its roots from now on; tells the server. */
	offer(uris: readonly string[]): Promise<void>;
	/** How often the server asked for the roots. */
	asked(): number;
	call(name: string, parameters: Record<string, unknown>): Promise<CallToolResult>;
}

/** The session of tests that ask for nothing special; one for a file of tests. */
let plain: Promise<PathSession> | undefined;

/** A session in empty folders. Without options it is that of the tests before, whose folders are emptied. */
export async function pathSession(options?: SessionOptions): Promise<PathSession> {
	if (options !== undefined) return startSession(options);
	if (plain === undefined) {
		plain = startSession({ lasts: "file" });
		atEnd("file", () => {
			plain = undefined;
		});
	}
	const session = await plain;
	for (const folder of [session.working, session.beside]) {
		for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
	}
	return session;
}

interface SessionOptions {
	readonly roots?: readonly string[];
	readonly parameters?: (beside: string) => readonly string[];
	readonly lasts?: "test" | "file";
	/** The built server in a process of its own. */
	readonly inProcess?: boolean;
}

/** Starts the server, for a test or for all of a file. With `roots`, the client offers these; else it has none to offer. */
async function startSession(options: SessionOptions): Promise<PathSession> {
	const parent = await scratchFolder();
	const [working, beside] = [join(parent, "working"), join(parent, "beside")];
	await Promise.all([working, beside].map((folder) => mkdir(folder)));
	const { transport } = await startStdio(working, {
		parameters: options.parameters?.(beside) ?? [],
		...(options.inProcess && { inProcess: true }),
	});
	const capabilities = options.roots ? { roots: { listChanged: true } } : {};
	const client = new Client({ name: "test", version: "1.0.0" }, { capabilities });
	let [uris, asked] = [options.roots ?? [], 0];
	if (options.roots) {
		client.setRequestHandler(ListRootsRequestSchema, () => {
			asked += 1;
			return { roots: uris.map((uri) => ({ uri })) };
		});
	}
	await client.connect(transport);
	atEnd(options.lasts ?? "test", () => client.close());
	return {
		client,
		parent,
		working,
		beside,
		async offer(changed) {
			uris = changed;
			await client.sendRootsListChanged();
		},
		asked: () => asked,
		call: async (name, parameters) => (await client.callTool({ name, arguments: parameters })) as CallToolResult,
	};
}

export const uriOf = (folder: string): string => pathToFileURL(folder).href;

/** The text of an answer's first block. */
export function firstText(result: CallToolResult): string {
	const [block] = result.content;
	if (block?.type !== "text") throw new Error("Expected a block of text.");
	return block.text;
}
