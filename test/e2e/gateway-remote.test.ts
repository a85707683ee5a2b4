import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { modes, newerClient } from "../support/client-2026.ts";
import { patience } from "../support/patience.ts";
import { runCli } from "../support/run-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { httpServer } from "./http-server.ts";

/** How a host starts the built gateway in front of an address. */
async function gatewayTo(
	url: string,
	options: readonly string[] = [],
	environment: Readonly<Record<string, string>> = {},
) {
	const folder = await scratchFolder();
	return {
		command: process.execPath,
		args: [builtCli, "gateway", ...options, url],
		cwd: folder,
		env: { ...cleanEnvironment(folder), PALIMPSEST_ARCHIVE: "files", ...environment },
		stderr: "pipe" as const,
	};
}

async function connected(url: string, options?: readonly string[], environment?: Readonly<Record<string, string>>) {
	const transport = new StdioClientTransport(await gatewayTo(url, options, environment));
	const client = new Client({ name: "test", version: "1.0.0" });
	let stderr = "";
	transport.stderr?.on("data", (chunk: Buffer) => {
		stderr += chunk.toString();
	});
	onTestFinished(() => client.close());
	return { client, connect: () => client.connect(transport), stderr: () => stderr };
}

const long = Array.from({ length: 3_000 }, (_, at) => `line ${at + 1}: some words`).join("\n");

describe("a server over HTTP", () => {
	it.each(modes)("is reached by a client in mode %j, and its large results are cut", async (mode) => {
		const { url } = await httpServer();
		const client = newerClient(mode);
		const { StdioClientTransport: Transport } = await import("@modelcontextprotocol/client/stdio");
		await client.connect(new Transport(await gatewayTo(`${url}/mcp`, ["--max-tokens", "500"])));
		onTestFinished(() => client.close());
		// The server has its own tool of this name where it archives.
		expect((await client.listTools()).tools.map(({ name }) => name)).toContain("recall_original");
		const { contents } = await client.readResource({ uri: "policy://schema" });
		const cut = (contents[0] as { text: string }).text;
		const [, ref] = /ref=([a-z0-9]{12})/.exec(cut) ?? [];
		const read = (await client.callTool({ name: "recall_original", arguments: { ref, head: 1 } })) as {
			content: { text: string }[];
		};
		expect(read.content[0]?.text).toMatch(/^\[Original result of "resources\/read", kept /);
		expect(await client.listPrompts()).toHaveProperty("prompts");
	});

	it("is reached over HTTP with SSE", async () => {
		const { url } = await httpServer();
		const { client, connect } = await connected(`${url}/sse`);
		await connect();
		const given = { text: long, max_chars: 300 };
		const { structuredContent } = await client.callTool({ name: "truncate_output", arguments: given });
		expect(structuredContent).toMatchObject({ truncated: true });
	});

	it("gives the host the reason of a refusal, and the way to give a token", async () => {
		const seen: (string | undefined)[] = [];
		const challenge = 'Bearer resource_metadata="https://example.org/.well-known/oauth-protected-resource"';
		const address = await standIn((request, response) => {
			seen.push(request.headers.authorization);
			response.writeHead(401, { "www-authenticate": challenge }).end("no");
		});
		const { connect } = await connected(address, ["--header", "Authorization=MY_TOKEN"], { MY_TOKEN: "Bearer secret" });
		await expect(connect()).rejects.toMatchObject({
			message: expect.stringMatching(/HTTP status 401\. Give its token: --header Authorization=VARIABLE/),
			data: { http_status: 401, www_authenticate: challenge },
		});
		expect(seen).toContain("Bearer secret");
	});

	it.each([
		[
			"by a redirect",
			(other: string, response: ServerResponse) => void response.writeHead(307, { location: other }).end(),
		],
		[
			"as the place for messages",
			(other: string, response: ServerResponse, method: string) => {
				if (method === "POST") return void response.writeHead(405).end();
				response.writeHead(200, { "content-type": "text/event-stream" });
				response.write(`event: endpoint\ndata: ${other}\n\n`);
			},
		],
	] as const)("that names another server %s sends nothing there", async (_how, name) => {
		const seen: unknown[] = [];
		const other = await standIn((request, response) => {
			seen.push(request.headers);
			response.writeHead(200).end();
		});
		const address = await standIn((request, response) => name(other, response, request.method ?? ""));
		const { connect } = await connected(address, ["--header", "Authorization=MY_TOKEN"], { MY_TOKEN: "Bearer secret" });
		await expect(connect()).rejects.toThrow(/answered with HTTP status (?:307|405)\./);
		expect(seen).toEqual([]);
	});

	it("is left when a signal ends the gateway", async () => {
		const address = await standIn((_request, response) => void response.writeHead(404).end());
		const { command, args, cwd, env } = await gatewayTo(address);
		const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
		const ended = once(child, "close");
		child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
		await once(child.stdout, "data");
		child.kill("SIGTERM");
		expect(await ended).toEqual([0, null]);
	});

	it.each([
		["https://", "expected the URL of a server"],
		["http://me:pa55word@127.0.0.1/mcp", "expected a URL without a user and a password"],
	])("is refused as %s", async (address, reason) => {
		const { code, lines } = await runCli(["gateway", address], { folder: await scratchFolder() });
		expect([code, lines[0]]).toEqual([2, expect.stringContaining(reason)]);
		expect(lines.join()).not.toContain("pa55");
	});

	it("that is not there answers with an error", async () => {
		const { connect } = await connected("http://127.0.0.1:1/mcp");
		await expect(connect()).rejects.toThrow("The server at http://127.0.0.1:1 cannot be reached (ECONNREFUSED).");
	});

	it("continues a broken stream where it ended, in its session, at its new address", async () => {
		const deleted: unknown[] = [];
		const resumed: unknown[] = [];
		const address = await standIn(async (request, response) => {
			if (request.url === "/mcp") return void response.writeHead(307, { location: "/mcp/" }).end();
			const { "mcp-session-id": session, "last-event-id": last, "mcp-protocol-version": revision } = request.headers;
			if (request.method === "DELETE") {
				deleted.push(session);
				return void response.writeHead(200).end();
			}
			if (request.method === "GET") {
				if (last === undefined) return void response.writeHead(405).end();
				resumed.push([session, last, revision]);
				response.writeHead(200, { "content-type": "text/event-stream" });
				const result = { content: [{ type: "text", text: "whole" }] };
				return void response.end(`id: 2\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result })}\n\n`);
			}
			const message = JSON.parse(await text(request));
			if (message.method === "initialize") {
				const { protocolVersion } = message.params;
				const result = { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } };
				response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s-1" });
				return void response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result }, null, 2));
			}
			if (message.id === undefined) return void response.writeHead(202).end();
			response.writeHead(200, { "content-type": "text/event-stream" });
			response.write("retry: 1\nid: 1\ndata:\n\n");
			setTimeout(() => response.destroy(), 50);
		});
		const { client, connect } = await connected(address);
		await connect();
		const { content } = await client.callTool({ name: "x" });
		expect(content).toEqual([{ type: "text", text: "whole" }]);
		expect(resumed).toEqual([["s-1", "1", "2025-11-25"]]);
		await client.close();
		await expect.poll(() => deleted, patience).toEqual(["s-1"]);
	});
});

/** A server on loopback that is gone after the test; its address ends in /mcp. */
async function standIn(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
	const server = createServer(handle).listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	onTestFinished(() => {
		server.close();
		server.closeAllConnections();
	});
	return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}
