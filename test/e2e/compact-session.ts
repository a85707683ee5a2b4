import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { Protocol, type RequestOptions } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
	type CallToolResult,
	CreateMessageRequestSchema,
	LoggingMessageNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { atEnd } from "../support/at-end.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startStdio } from "../support/stdio-session.ts";

/** What a client's model makes of a request. */
export type Sampler = (request: SamplingParameters, signal: AbortSignal) => unknown;

export interface SamplingParameters {
	readonly messages: readonly { readonly role: string; readonly content: { readonly text: string } }[];
	readonly maxTokens: number;
	readonly [other: string]: unknown;
}

/** A client of a built server, with all that came from it. */
export interface CompactSession {
	readonly client: Client;
	/** Requests for the client's own model. */
	readonly sampled: SamplingParameters[];
	/** Lets the client's model answer so from now on. */
	answer(sampler: Sampler): void;
	/** Every message of the server but requests for the client's model, as JSON. */
	readonly received: string[];
	readonly logged: { readonly level: string; readonly data: unknown }[];
	call(name: string, parameters: object, options?: RequestOptions): Promise<CallToolResult>;
}

/** Connects a client, which offers a model of its own where it is told so. */
export async function connectClient(
	transport: Transport,
	{ sampling = false }: { readonly sampling?: boolean } = {},
): Promise<CompactSession> {
	const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: sampling ? { sampling: {} } : {} });
	let sampler: Sampler = () => summaryOf("a summary");
	const session: CompactSession = {
		client,
		sampled: [],
		answer: (next) => {
			sampler = next;
		},
		received: [],
		logged: [],
		call: async (name, parameters, options) =>
			(await client.callTool({ name, arguments: { ...parameters } }, undefined, options)) as CallToolResult,
	};
	if (sampling) {
		// Not the client's own method, which would check what the handler answers: some clients send anything.
		Protocol.prototype.setRequestHandler.call(client, CreateMessageRequestSchema, async ({ params }, { signal }) => {
			session.sampled.push(params as never);
			return (await sampler(params as never, signal)) as never;
		});
	}
	client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void session.logged.push(params));
	await client.connect(transport);
	const { onmessage } = transport;
	transport.onmessage = (message, extra) => {
		if (!("method" in message && message.method === "sampling/createMessage")) {
			session.received.push(JSON.stringify(message));
		}
		onmessage?.(message, extra);
	};
	// From now on the client checks every answer against the tool's schema.
	await client.listTools();
	session.received.length = 0;
	return session;
}

/** How a server is started for the tests of a file. */
export interface ServerStart {
	readonly sampling?: boolean;
	/** The built server in a process of its own. */
	readonly inProcess?: boolean;
	readonly parameters?: readonly string[];
	readonly environment?: Readonly<Record<string, string>>;
	/** Files that are there when it starts, by name. */
	readonly files?: Readonly<Record<string, string>>;
}

export interface StdioCompactSession extends CompactSession {
	/** The server's working directory. */
	readonly folder: string;
	/** All of standard error so far. */
	stderr(): string;
}

/** Starts a server over standard input and output. It is gone after the tests of the file. */
export async function compactSession(start: ServerStart = {}): Promise<StdioCompactSession> {
	const folder = await scratchFolder();
	for (const [name, text] of Object.entries(start.files ?? {})) await writeFile(join(folder, name), text);
	const { transport, stderr } = await startStdio(folder, start);
	const session = await connectClient(transport, start);
	atEnd("file", () => session.client.close());
	return { ...session, folder, stderr };
}

/** A message of a client's model. */
export function summaryOf(text: string, stopReason = "endTurn"): object {
	return { role: "assistant", model: "some-model", stopReason, content: { type: "text", text } };
}

/** The text of an answer's first block. */
export function firstText({ content: [block] }: CallToolResult): string {
	if (block?.type !== "text") throw new Error("Expected a block of text.");
	return block.text;
}

/** What a tool answers with; fails with the error where it is one. */
export function contentOf(result: CallToolResult) {
	if (result.isError) throw new Error(firstText(result));
	return result.structuredContent as {
		readonly messages: Message[];
		readonly edits: [];
		readonly report: Readonly<Record<string, unknown>>;
		readonly output_path?: string;
		readonly summary_request?: SummaryRequestAnswer;
	};
}

export interface Message {
	readonly role: string;
	readonly content: string;
}

export interface SummaryRequestAnswer {
	readonly summary_token: string;
	readonly prompt: string;
	readonly max_summary_tokens: number;
	readonly messages: { readonly first: number; readonly last: number; readonly count: number; readonly tokens: number };
	readonly next_call: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> };
}
