import { spawnSync } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { httpServer } from "../e2e/http-server.ts";
import { send } from "../mcp/http/harness.ts";
import { startChatServer } from "../operations/summariser/chat-server.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { hasNginx, nginxBlock, startNginx, writeConfiguration } from "./start-nginx.ts";

describe.skipIf(!hasNginx)("nginx with the documented block", () => {
	let nginx: Awaited<ReturnType<typeof startNginx>>;
	beforeAll(async () => {
		const server = await httpServer(["--archive", "memory", "--metrics"]);
		nginx = await startNginx(server.url);
	});

	const connect = async (transport: SSEClientTransport | StreamableHTTPClientTransport) => {
		const client = new Client({ name: "test", version: "1.0.0" });
		await client.connect(transport as Transport);
		onTestFinished(() => client.close());
		return client;
	};
	const faces = [
		["Streamable HTTP", () => new StreamableHTTPClientTransport(new URL(`${nginx.url}/mcp`))],
		["HTTP+SSE", () => new SSEClientTransport(new URL(`${nginx.url}/sse`))],
	] as const;

	it.each(faces)("passes a session with large calls and answers: %s", async (_name, transport) => {
		const client = await connect(transport());
		const messages = agentConversation(1_000);
		expect(JSON.stringify(messages).length).toBeGreaterThan(2_000_000);
		const { structuredContent } = await client.callTool({ name: "mask_conversation", arguments: { messages } });
		expect(structuredContent).toMatchObject({ report: { masked_tool_results: 992 } });
		expect((await client.listTools()).tools.length).toBeGreaterThan(3);
	});

	it.each(faces)("passes progress on before the answer: %s", async (_name, transport) => {
		let answer = (): void => {};
		const model = await startChatServer((response) => {
			answer = () => response.writeHead(500).end();
		});
		const environment = {
			PALIMPSEST_LLM_URL: model.baseUrl,
			PALIMPSEST_LLM_MODEL: "a-model",
		};
		const server = await httpServer([], environment);
		const before = nginx;
		nginx = await startNginx(server.url);
		const client = await connect(transport());
		nginx = before;
		const stop = new AbortController();
		const heard = new Promise<void>((onprogress) => {
			const call = client.callTool(
				{
					name: "compact_conversation",
					arguments: { messages: agentConversation(12), strategy: "llm-summary", force: true },
				},
				undefined,
				{ onprogress: () => onprogress(), signal: stop.signal },
			);
			call.catch(() => undefined);
		});
		// The model has not answered: what is heard was not kept until the stream's end.
		await heard;
		stop.abort();
		answer();
	});

	it("writes no conversation to the disk", async () => {
		const files = await readdir(nginx.folder, { recursive: true, withFileTypes: true });
		const written = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
		expect(written.length).toBeGreaterThan(2);
		for (const file of written) expect(await readFile(file, "utf8")).not.toContain(secret);
	});

	it("refuses large requests, and shows the metrics to the operator only", async () => {
		const body = "x".repeat(17 * 1024 * 1024 + 1);
		const headers = { "Content-Type": "application/json", "Content-Length": String(body.length) };
		expect((await send(`${nginx.url}/mcp`, { method: "POST", headers })).status).toBe(413);
		expect((await send(`${nginx.url}/metrics`)).status).toBe(404);
		expect((await send(`${nginx.url}/readyz`)).status).toBe(200);
	});

	it("accepts the block unchanged, with TLS", async () => {
		const folder = await scratchFolder();
		const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
		const request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"];
		expect(spawnSync("openssl", [...request, "-keyout", key, "-out", certificate]).status).toBe(0);
		const block = (await nginxBlock())
			.replace("/etc/ssl/palimpsest.key", key)
			.replace("/etc/ssl/palimpsest.pem", certificate);
		const file = await writeConfiguration(folder, block);
		const { status, stderr } = spawnSync("nginx", ["-t", "-p", folder, "-c", file], { encoding: "utf8" });
		expect(stderr).toContain("test is successful");
		expect(status).toBe(0);
	});
});
