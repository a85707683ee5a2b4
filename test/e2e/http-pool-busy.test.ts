import { request as httpRequest } from "node:http";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult, Progress } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { faces, jsonHeaders, openSession, send } from "../mcp/http/harness.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { isWhole } from "../support/breadth.ts";
import { patience } from "../support/patience.ts";
import { endless, type PoolServer, poolServer } from "./pool-server.ts";

/** Enough for a thread. */
const some = { messages: agentConversation(60), respond_with: "report" };
const noLimit = { timeout: 600_000 };

const masking = { name: "mask_conversation", arguments: some };

/** Waits until so many calls run and wait. */
const until = (pool: PoolServer["pool"], running: number, queued: number) =>
	expect.poll(() => pool.stats(), { interval: 2, ...patience }).toMatchObject({ running, queued });

describe.each(faces)("%s", (face) => {
	// The pool refuses before it knows the transport.
	it.runIf(isWhole || face === faces[0])(
		"refuses a call over the limit as busy with a retry time, and answers the others",
		async () => {
			const { connect, pool, ends } = await poolServer({ threads: 1, maxQueue: 1 });
			const { client } = await connect(face);
			const stop = new AbortController();
			const first = client.callTool(endless, undefined, { ...noLimit, signal: stop.signal });
			await until(pool, 1, 0);
			const second = client.callTool(masking, undefined, noLimit);
			await until(pool, 1, 1);
			const refused = (await client.callTool(masking)) as CallToolResult;
			expect(refused.isError).toBe(true);
			expect(refused.content[0]).toMatchObject({
				text: expect.stringMatching(/^\[rate_limit\] .*Call again in \d+ s\.$/),
			});
			expect(refused._meta?.["palimpsest/retry_after_ms"]).toBeGreaterThanOrEqual(100);
			// What is small needs no thread.
			const small = { name: "truncate_output", arguments: { text: "short" } };
			expect((await client.callTool(small)).isError).toBeFalsy();
			expect(pool.stats()).toEqual({ running: 1, queued: 1, capacity: 1 });
			stop.abort("no longer wanted");
			await expect(first).rejects.toThrow("no longer wanted");
			expect((await second).isError).toBeFalsy();
			expect(ends.map(({ outcome }) => outcome)).toEqual(["busy", "ok", "cancelled", "ok"]);
			expect((await client.callTool(masking)).isError).toBeFalsy();
		},
	);

	it("a cancelled call frees its thread, or its place in the queue", async () => {
		const { connect, pool, ends, logged } = await poolServer({ threads: 1, maxQueue: 1 });
		const { client } = await connect(face);
		const [one, two] = [new AbortController(), new AbortController()];
		const running = client.callTool(endless, undefined, { ...noLimit, signal: one.signal });
		await until(pool, 1, 0);
		const waiting = client.callTool(endless, undefined, { ...noLimit, signal: two.signal });
		await until(pool, 1, 1);
		two.abort("no longer wanted");
		await expect(waiting).rejects.toThrow("no longer wanted");
		await until(pool, 1, 0);
		one.abort("no longer wanted");
		await expect(running).rejects.toThrow("no longer wanted");
		await until(pool, 0, 0);
		// Each was stopped, and not finished, before the next one has its turn.
		expect(ends.map(({ outcome, code }) => [outcome, code])).toEqual([
			["cancelled", undefined],
			["cancelled", undefined],
		]);
		expect((await client.callTool(masking)).isError).toBeFalsy();
		expect(logged.filter(({ level }) => level === "error")).toEqual([]);
	});

	it("a client that disconnects frees its thread", async () => {
		const { connect, pool, ends } = await poolServer({ threads: 1 });
		const { client, transport } = await connect(face);
		const call = client.callTool(endless, undefined, noLimit);
		await until(pool, 1, 0);
		if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
		await client.close();
		await expect(call).rejects.toThrow("closed");
		await until(pool, 0, 0);
		expect(ends).toMatchObject([{ outcome: "cancelled" }]);
	});

	it("a call over one second reports progress and waiting", async () => {
		const { connect, pool } = await poolServer({ threads: 1 });
		const { client } = await connect(face);
		const [told, waited]: [Progress[], Progress[]] = [[], []];
		const end = new AbortController();
		const signal = end.signal;
		const running = client.callTool(endless, undefined, { ...noLimit, signal, onprogress: (one) => told.push(one) });
		await until(pool, 1, 0);
		const waiting = client.callTool(endless, undefined, { ...noLimit, signal, onprogress: (one) => waited.push(one) });
		const both = Promise.allSettled([running, waiting]);
		await expect.poll(() => Math.min(told.length, waited.length), patience).toBeGreaterThan(0);
		end.abort();
		await both;
		expect(told[0]).toMatchObject({ message: "working" });
		expect(waited[0]).toMatchObject({ message: "waiting for its turn" });
		for (const one of [...told, ...waited]) {
			// Timers count in whole milliseconds, so that one may come a part of one early.
			expect(one.progress).toBeGreaterThan(0.99);
			expect(one.total).toBeUndefined();
		}
	});
});

/** Sends a call by hand and answers with what hangs up on it. */
function sendCall(url: string, headers: Readonly<Record<string, string>> = {}): () => void {
	const request = httpRequest(`${url}/mcp`, { method: "POST", headers: { ...jsonHeaders, ...headers }, agent: false });
	request.on("error", () => {});
	request.end(JSON.stringify({ jsonrpc: "2.0", id: 5, method: "tools/call", params: endless }));
	return () => request.destroy();
}

it("without sessions, a disconnect stops the work", async () => {
	const { url, pool, ends } = await poolServer({ threads: 1 }, { isStateless: true });
	const hangUp = sendCall(url);
	await until(pool, 1, 0);
	hangUp();
	await until(pool, 0, 0);
	expect(ends).toMatchObject([{ outcome: "cancelled" }]);
});

it("with sessions, a broken connection stops the work unless the client returns in time", async () => {
	const { url, pool, ends } = await poolServer({ threads: 1 }, { goneMilliseconds: 50 });
	const hangUp = sendCall(url, { "mcp-session-id": await openSession(url) });
	await until(pool, 1, 0);
	hangUp();
	await until(pool, 0, 0);
	expect(ends).toMatchObject([{ outcome: "cancelled" }]);
});

it("with sessions, the stream of a cancelled call ends", async () => {
	const { url, pool } = await poolServer({ threads: 1 });
	const headers = { ...jsonHeaders, "mcp-session-id": await openSession(url) };
	const body = JSON.stringify({ jsonrpc: "2.0", id: 5, method: "tools/call", params: endless });
	const answered = send(`${url}/mcp`, { method: "POST", headers, body });
	await until(pool, 1, 0);
	const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } };
	await send(`${url}/mcp`, { method: "POST", headers, body: JSON.stringify(cancel) });
	expect((await answered).text).toContain('"message":"The request was cancelled."');
	await until(pool, 0, 0);
});

const job = { tool: "mask_conversation", offered: ["mask_conversation"], layers: [], policyFile: null };
const bytes = () => new TextEncoder().encode(JSON.stringify(some));
const runIn = (pool: PoolServer["pool"], principal: string, { isAdmitted = false, onBegin = () => {} } = {}) =>
	pool.run(
		{ ...job, arguments: bytes(), allowedPaths: [], models: {}, answers: [] },
		{ principal, caller: principal, signal: new AbortController().signal, isAdmitted, onBegin },
	);

it("callers take turns: many waiting calls of one caller do not delay a single call of another", async () => {
	const { pool } = await poolServer({ threads: 1 });
	const order: string[] = [];
	const callers = ["greedy", "greedy", "greedy", "greedy", "other", "third", "other"];
	await Promise.all(callers.map((caller) => runIn(pool, caller, { onBegin: () => order.push(caller) })));
	expect(order).toEqual(["greedy", "greedy", "other", "third", "greedy", "other", "greedy"]);
	expect(pool.stats()).toEqual({ running: 0, queued: 0, capacity: 1 });
});

it("calls of any size wait when no other waits, and past the limit of bytes only those that were admitted before", async () => {
	const { pool } = await poolServer({ threads: 1, maxQueueBytes: bytes().length - 1 });
	const calls = [runIn(pool, "a"), runIn(pool, "a"), runIn(pool, "a"), runIn(pool, "b", { isAdmitted: true })];
	const settled = await Promise.allSettled(calls);
	expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
	await expect(calls[2]).rejects.toMatchObject({ code: "rate_limit" });
});
