import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test } from "vitest";
import { createStreamableTransport, createUnreadLimit, type UnreadLimit } from "../../../src/mcp/http/answers.ts";
import { patience } from "../../support/patience.ts";
import { jsonHeaders, send } from "./harness.ts";

const roomy = { bytesOfOne: 10_000_000, bytesOfAll: 10_000_000, stallMilliseconds: 60_000 };

/** A server with one tool, which answers without sessions. */
async function serve(
	unread: UnreadLimit,
	speak: (tell: () => Promise<void>) => CallToolResult | Promise<CallToolResult>,
) {
	const server = createServer(async (request, response) => {
		const { transport, handle } = createStreamableTransport(unread);
		const mcp = new McpServer({ name: "test", version: "1" });
		mcp.registerTool("speak", {}, ({ sendNotification }) =>
			speak(() => sendNotification({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } })),
		);
		await mcp.connect(transport as Transport);
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk);
		await handle({ request, response, body: JSON.parse(Buffer.concat(chunks).toString()) });
	});
	await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
	onTestFinished(() => void server.close());
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
	return (id: number | string) => {
		const body = JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "speak", arguments: {} } });
		return send(url, { method: "POST", headers: jsonHeaders, body });
	};
}

test("releases an answer once it was read, with its request and its data", async () => {
	const limit = createUnreadLimit(roomy);
	let most = 0;
	const unread = {
		...limit,
		written(outlet: Parameters<typeof limit.written>[0]) {
			limit.written(outlet);
			most = Math.max(most, limit.size());
		},
	};
	const call = await serve(unread, () => ({ content: [{ type: "text", text: "x".repeat(1_000_000) }] }));
	for (let turn = 0; turn < 10; turn += 1) {
		const { status, text } = await call(1);
		expect(status).toBe(200);
		expect(text.length).toBeGreaterThan(1_000_000);
	}
	expect(most).toBeGreaterThan(0);
	// Each is dropped when it is looked at.
	await expect.poll(() => limit.bytes(), patience).toBe(0);
	expect(limit.size()).toBe(0);
});

test.each([
	["of a request with a long id", "i".repeat(5_000), 2_000_000],
	["that is short", 7, 10],
])("an answer is sent after the progress before it: one %s", async (_what, id, length) => {
	const result: CallToolResult = { content: [{ type: "text", text: "é".repeat(length) }] };
	const call = await serve(createUnreadLimit(roomy), async (tell) => {
		await tell();
		return result;
	});
	const { text } = await call(id);
	const [progress, answer = "", ...rest] = text.split("\n\n");
	expect(progress).toContain("notifications/progress");
	expect(JSON.parse(answer.replace("event: message\ndata: ", ""))).toEqual({ jsonrpc: "2.0", id, result });
	expect(rest).toEqual([""]);
});
