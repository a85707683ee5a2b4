import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { expect, onTestFinished, test, vi } from "vitest";
import type { HttpOptions } from "../../../src/mcp/http/server.ts";
import { patience } from "../../support/patience.ts";
import { alice, bob, startWithTokens } from "./auth-harness.ts";
import { bearer, chat, initialize, jsonHeaders, ping, send, start } from "./harness.ts";

const startStateless = (options: Partial<HttpOptions> = {}) => start({ isStateless: true, ...options });
const post = (url: string, body: string, more = {}) =>
	send(`${url}/mcp`, { method: "POST", headers: { ...jsonHeaders, ...more }, body });

async function connect(url: string, sampling = false): Promise<Client> {
	const client = new Client({ name: "test", version: "1" }, { capabilities: sampling ? { sampling: {} } : {} });
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`)) as never);
	onTestFinished(() => client.close());
	return client;
}

test("each request is independent: no session is announced, required or kept", async () => {
	const { url } = await startStateless({ maxSessions: 1 });
	const answer = await post(url, initialize);
	expect(answer.status).toBe(200);
	expect(answer.headers).not.toHaveProperty("mcp-session-id");
	for (const more of [{}, { "Mcp-Session-Id": "whatever" }]) {
		await vi.waitFor(async () => expect((await post(url, ping, more)).status).toBe(200), patience);
	}
});

test("offers nothing that an answer cannot carry: no log, no policy updates", async () => {
	const { url, policySource } = await startStateless();
	const client = await connect(url);
	expect(client.getServerCapabilities()).toEqual({
		tools: {},
		resources: { subscribe: false, listChanged: false },
		prompts: { listChanged: false },
		completions: {},
	});
	const subscribe = JSON.stringify({
		jsonrpc: "2.0",
		id: 3,
		method: "resources/subscribe",
		params: { uri: "policy://current" },
	});
	expect((await post(url, subscribe)).text).toContain('"code":-32601');
	expect((await client.listResources()).resources.length).toBeGreaterThan(3);
	expect(policySource.listeners()).toBe(0);
});

test("requests of one client may go to different processes", async () => {
	const [one, other] = [await startStateless(), await startStateless()];
	let turn = 0;
	const transport = new StreamableHTTPClientTransport(new URL(`${one.url}/mcp`), {
		fetch(target, init) {
			turn += 1;
			const { url } = turn % 2 === 0 ? one : other;
			return fetch(String(target).replace(one.url, url), init);
		},
	});
	const client = new Client({ name: "test", version: "1" });
	await client.connect(transport as never);
	onTestFinished(() => client.close());
	expect((await client.listTools()).tools.length).toBeGreaterThan(3);
	for (let call = 0; call < 4; call += 1) {
		const answer = await client.callTool({ name: "truncate_output", arguments: { text: `short ${call}` } });
		expect(answer.structuredContent).toMatchObject({ text: `short ${call}` });
	}
	expect(turn).toBeGreaterThan(6);
});

test("asks the caller for a summary, even when the client has a model", async () => {
	const { url } = await startStateless();
	const client = await connect(url, true);
	client.setRequestHandler(CreateMessageRequestSchema, () => {
		throw new Error("Nobody can hear this.");
	});
	const answer = await client.callTool({
		name: "compact_conversation",
		arguments: { messages: chat(12), strategy: "llm-summary", force: true },
	});
	expect(answer.structuredContent).toMatchObject({ summary_request: { summary_token: expect.any(String) } });
});

test.each([
	["/mcp", "GET", 405],
	["/mcp", "DELETE", 405],
	["/sse", "GET", 404],
	["/messages?sessionId=x", "POST", 404],
])("%s answers %s with %i, since there is no stream to open", async (path, method, status) => {
	const { url } = await startStateless();
	expect((await send(url + path, { method, headers: jsonHeaders })).status).toBe(status);
});

test("tokens are required and quotas hold, as with sessions", async () => {
	const { url } = await startWithTokens({ isStateless: true, quotas: { requestsPerMinute: 2 } });
	expect((await post(url, ping)).status).toBe(401);
	const statuses: number[] = [];
	for (let request = 0; request < 3; request += 1) statuses.push((await post(url, ping, bearer(alice))).status);
	expect(statuses).toEqual([200, 200, 429]);
	expect((await post(url, ping, bearer(bob))).status).toBe(200);
});

test("running requests have the limit of sessions, and an aborted one frees its place", async () => {
	const never = { use: () => new Promise<never>(() => {}), end() {} };
	const { url } = await startStateless({ maxSessions: 1, archive: never });
	const leaving = new AbortController();
	const params = { name: "truncate_output", arguments: { text: "short" } };
	const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
	const open = { method: "POST", headers: jsonHeaders, body, signal: leaving.signal };
	expect((await fetch(`${url}/mcp`, open)).status).toBe(200);
	expect((await post(url, ping)).status).toBe(503);
	leaving.abort();
	await vi.waitFor(async () => expect((await post(url, ping)).status).toBe(200), patience);
});
