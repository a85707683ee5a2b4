import { expect, test } from "vitest";
import { start } from "./harness.ts";

test("a server that ends is not ready first, and takes calls until a balancer knows", async () => {
	const { url, close } = await start({ isStateless: true, noticeMilliseconds: 300 });
	const ready = async () => (await fetch(`${url}/readyz`)).status;
	const initialize = {
		method: "initialize",
		params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } },
	};
	const call = () =>
		fetch(`${url}/mcp`, {
			method: "POST",
			headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...initialize }),
		});
	expect([await ready(), await ready()]).toEqual([200, 200]);
	const ended = close();
	expect(await ready()).toBe(503);
	expect((await call()).status).toBe(200);
	await ended;
	await expect(call()).rejects.toThrow();
});
