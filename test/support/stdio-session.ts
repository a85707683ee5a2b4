import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import {
	LoggingMessageNotificationSchema,
	ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { atEnd } from "./at-end.ts";
import { builtCli } from "./built-cli.ts";
import { cleanEnvironment, scratchFolder } from "./scratch-folder.ts";
import { serveHere } from "./serve-here.ts";

/** What a log notification carried. */
export interface LoggedMessage {
	readonly level: string;
	readonly logger?: string | undefined;
	readonly data: { readonly message: string } & Readonly<Record<string, unknown>>;
}

/** A client of the built server over standard input and output, with all that the server sent besides. */
export interface StdioSession {
	readonly client: Client;
	/** The server's working directory. */
	readonly folder: string;
	readonly logged: LoggedMessage[];
	/** URIs of resources that the server said had changed. */
	readonly updated: string[];
	/** Messages that are no JSON-RPC, or that the protocol does not expect. */
	readonly protocolErrors: Error[];
	/** All of standard error so far. */
	stderr(): string;
	call(name: string, parameters: Record<string, unknown>): Promise<CallToolResult>;
}

export interface StdioStart {
	readonly parameters?: readonly string[];
	readonly folder?: string;
	readonly environment?: Readonly<Record<string, string>>;
	/** The built server in a process of its own: for what only a process shows. */
	readonly inProcess?: boolean;
	/** A test, unless given. */
	readonly lasts?: "test" | "file";
}

/** The client's end of a server over standard input and output. */
export async function startStdio(
	folder: string,
	{ parameters = [], environment = {}, inProcess }: StdioStart,
): Promise<{ readonly transport: Transport; stderr(): string }> {
	if (!inProcess) return serveHere(parameters, { folder, environment });
	const transport = new StdioClientTransport({
		command: process.execPath,
		args: [builtCli, ...parameters],
		cwd: folder,
		env: { ...cleanEnvironment(folder), ...environment },
		stderr: "pipe",
	});
	let stderr = "";
	transport.stderr?.on("data", (chunk: Buffer) => {
		stderr += chunk.toString("utf8");
	});
	return { transport, stderr: () => stderr };
}

/** Starts the server in a scratch folder and connects to it; both are gone after the test, or those of the file. */
export async function stdioSession(options: StdioStart = {}): Promise<StdioSession> {
	const folder = options.folder ?? (await scratchFolder());
	const { transport, stderr } = await startStdio(folder, options);
	const client = new Client({ name: "test", version: "1.0.0" });
	const session: StdioSession = {
		client,
		folder,
		logged: [],
		updated: [],
		protocolErrors: [],
		stderr,
		call: async (name, parameters) => (await client.callTool({ name, arguments: parameters })) as CallToolResult,
	};
	client.onerror = (error) => session.protocolErrors.push(error);
	client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
		session.logged.push(params as LoggedMessage);
	});
	client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
		session.updated.push(params.uri);
	});
	await client.connect(transport);
	atEnd(options.lasts ?? "test", () => client.close());
	return session;
}

/** The text of a tool's answer, which is always one block. */
export function answerText(result: CallToolResult): string {
	const [block, ...more] = result.content;
	if (block?.type !== "text" || more.length > 0) throw new Error("Expected one block of text.");
	return block.text;
}
