import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { expect, onTestFinished, test } from "vitest";
import { createUnreadLimit } from "../../src/mcp/transports/http/limit-unread.ts";
import { expectAnswers, requestIdsOf, writeEvents } from "../../src/mcp/transports/http/write-events.ts";
import { patience } from "../support/patience.ts";
import { jsonHeaders, send } from "./http-harness.ts";

test("an answer that was read is watched no longer: what is watched keeps its request and all that came with it", async () => {
	const limit = createUnreadLimit({ bytesOfOne: 10_000_000, bytesOfAll: 10_000_000, stallMilliseconds: 60_000 });
	let most = 0;
	const unread = {
		...limit,
		written(outlet: Parameters<typeof limit.written>[0]) {
			limit.written(outlet);
			most = Math.max(most, limit.size());
		},
	};
	const server = createServer(async (request, response) => {
		const transport = new StreamableHTTPServerTransport();
		writeEvents(transport, unread);
		const mcp = new McpServer({ name: "test", version: "1" });
		mcp.registerTool("speak", {}, () => ({ content: [{ type: "text", text: "x".repeat(1_000_000) }] }));
		await mcp.connect(transport as Transport);
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk);
		const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
		expectAnswers(transport, requestIdsOf(body), response);
		await transport.handleRequest(request, response, body);
	});
	await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
	onTestFinished(() => void server.close());
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

	const call = JSON.stringify({
		jsonrpc: "2.0",
		id: 1,
		method: "tools/call",
		params: { name: "speak", arguments: {} },
	});
	for (let turn = 0; turn < 10; turn += 1) {
		const { status, text } = await send(`${url}/mcp`, { method: "POST", headers: jsonHeaders, body: call });
		expect(status).toBe(200);
		expect(text.length).toBeGreaterThan(1_000_000);
	}
	expect(most).toBeGreaterThan(0);
	// Each is dropped when it is looked at.
	await expect.poll(() => limit.bytes(), patience).toBe(0);
	expect(limit.size()).toBe(0);
});
