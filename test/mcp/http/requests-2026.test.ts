import { describe, expect, test, vi } from "vitest";
import type { HttpOptions } from "../../../src/mcp/http/server.ts";
import { patience } from "../../support/patience.ts";
import { handover } from "../../support/stand-in-summariser.ts";
import { chat, connect, newerRequest, send, start } from "./harness.ts";

const listen = { notifications: { resourceSubscriptions: ["policy://current"] } };

async function openNews(url: string): Promise<Response> {
	return fetch(`${url}/mcp`, newerRequest("subscriptions/listen", listen));
}

describe("the headers of a request", () => {
	const list = newerRequest("tools/list");
	const call = newerRequest("tools/call", { name: "truncate_output", arguments: { text: "x" } });
	test.each([
		["another method", { ...list, headers: { ...list.headers, "Mcp-Method": "prompts/list" } }],
		["another name", { ...call, headers: { ...call.headers, "Mcp-Name": "mask_conversation" } }],
		["another revision", { ...list, headers: { ...list.headers, "MCP-Protocol-Version": "2025-11-25" } }],
	])("that name %s than its body are refused", async (_what, request) => {
		const { url } = await start();
		const answer = await send(`${url}/mcp`, request);
		expect(answer.status).toBe(400);
		expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32_020 } });
	});

	test("a revision that is not served is refused, and those that are are named", async () => {
		const { url } = await start();
		const body = list.body.replaceAll("2026-07-28", "2031-01-01");
		const headers = { ...list.headers, "MCP-Protocol-Version": "2031-01-01" };
		const answer = await send(`${url}/mcp`, { ...list, headers, body });
		expect(answer.status).toBe(400);
		expect(JSON.parse(answer.text)).toMatchObject({ error: { data: { supported: ["2026-07-28"] } } });
	});
});

test("a session of another revision is not needed, and does no harm", async () => {
	const { url } = await start();
	const { method, headers, body } = newerRequest("tools/list");
	const answer = await send(`${url}/mcp`, { method, headers: { ...headers, "Mcp-Session-Id": "nobody" }, body });
	expect(JSON.parse(answer.text)).toMatchObject({ result: { resultType: "complete", ttlMs: 3_600_000 } });
	expect(answer.headers).not.toHaveProperty("mcp-session-id");
});

test("a changed policy is sent to each stream of notifications, and a server closes the streams in order when it ends", async () => {
	const { url, policySource, close } = await start({ shutdownMilliseconds: 60_000 });
	const news = [await openNews(url), await openNews(url)];
	policySource.change();
	const texts = Promise.all(news.map((response) => response.text()));
	const before = performance.now();
	await close();
	expect(performance.now() - before).toBeLessThan(20_000);
	for (const text of await texts) {
		const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
		expect(events).toMatchObject([
			{ method: "notifications/subscriptions/acknowledged" },
			{ method: "notifications/resources/updated", params: { uri: "policy://current" } },
			{ result: { resultType: "complete" } },
		]);
	}
	expect(policySource.listeners()).toBe(0);
});

test("a client that leaves its stream of news frees it", async () => {
	const { url } = await start({ maxSessions: 1 });
	const news = await openNews(url);
	expect((await openNews(url)).status).toBe(503);
	await news.body?.cancel();
	await vi.waitFor(async () => expect((await openNews(url)).status).toBe(200), patience);
});

describe("a call that goes to another process in its second round", () => {
	const params = {
		name: "compact_conversation",
		arguments: { messages: chat(12), strategy: "llm-summary", force: true },
	};

	async function answerOf(options: Partial<HttpOptions>) {
		const [one, other] = [await start(options), await start(options)];
		const { method, headers, body } = newerRequest("tools/call", params);
		const ask = async (url: string, more: object) => {
			const asked = JSON.parse(body);
			Object.assign(asked.params, more);
			asked.params._meta["io.modelcontextprotocol/clientCapabilities"] = { sampling: {} };
			return JSON.parse((await send(`${url}/mcp`, { method, headers, body: JSON.stringify(asked) })).text);
		};
		const { result } = await ask(one.url, {});
		const [name = ""] = Object.keys(result.inputRequests);
		const content = { type: "text", text: handover };
		const inputResponses = { [name]: { role: "assistant", model: "m", content, stopReason: "endTurn" } };
		return ask(other.url, { inputResponses, requestState: result.requestState });
	}

	test("is answered if the processes have the same key", async () => {
		const answer = await answerOf({ isStateless: true, stateKey: "k".repeat(32) });
		expect(answer.result.structuredContent).toMatchObject({ report: { result: "summarised" } });
	});

	test("is refused otherwise", async () => {
		expect(await answerOf({ isStateless: true })).toMatchObject({ error: { code: -32_602 } });
	});
});

test("a call has its log on its own stream, from the level on that it names", async () => {
	const { url } = await start();
	const { client } = await connect(url, "2026-07-28");
	const { method, headers, body } = newerRequest("tools/call", {
		name: "truncate_output",
		arguments: { text: "x".repeat(900), max_chars: 300 },
	});
	const asked = JSON.parse(body);
	asked.params._meta["io.modelcontextprotocol/logLevel"] = "warning";
	const { text } = await send(`${url}/mcp`, { method, headers, body: JSON.stringify(asked) });
	const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data));
	expect(events).toMatchObject([
		{ method: "notifications/message", params: { level: "warning", logger: "palimpsest" } },
		{ result: { structuredContent: { truncated: true } } },
	]);
	expect((await client.listTools()).tools.length).toBeGreaterThan(3);
});
