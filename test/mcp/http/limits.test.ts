import type { CallToolResult, JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, test, vi } from "vitest";
import type { Summariser } from "../../../src/operations/summariser/summariser.ts";
import type { ArchiveSource } from "../../../src/storage/archive/open.ts";
import { patience } from "../../support/patience.ts";
import { standInSummariser } from "../../support/stand-in-summariser.ts";
import { alice, bob, startWithTokens } from "./auth-harness.ts";
import {
	bearer,
	chat,
	connect,
	type Face,
	faces,
	initialize,
	jsonHeaders,
	newerRequest,
	openSession,
	send,
	start,
} from "./harness.ts";

const text = (result: unknown) => JSON.stringify((result as CallToolResult).content);
const short = { name: "truncate_output", arguments: { text: "short" } };

/** An archive that cannot be had until it is let go, so that every call waits. */
function slowArchive() {
	let waiting = 0;
	let letGo = (): void => {};
	const gate = new Promise<void>((resolve) => {
		letGo = resolve;
	});
	const archive: ArchiveSource = {
		async use() {
			waiting += 1;
			await gate;
			throw new TypeError("No archive after all.");
		},
		end() {},
	};
	return { archive, waiting: () => waiting, letGo };
}

/** Answers never, but hears when it is told to stop. */
function endlessSummariser() {
	let tell = (): void => {};
	const aborted = new Promise<void>((resolve) => {
		tell = resolve;
	});
	const endpoint: Summariser = {
		...standInSummariser(),
		summarise: ({ signal }) =>
			new Promise((_, reject) => {
				signal?.addEventListener("abort", () => {
					tell();
					reject(signal.reason);
				});
			}),
	};
	return { endpoint, aborted };
}

describe("requests a minute", () => {
	const health = (url: string, who: Record<string, string> = {}) => send(`${url}/nowhere`, { headers: who });

	test("are counted per principal, and one that uses them up does not stop another", async () => {
		const { url } = await startWithTokens({ quotas: { requestsPerMinute: 3 } });
		for (let left = 2; left >= 0; left -= 1) {
			const { status, headers } = await health(url, bearer(alice));
			expect([status, headers.ratelimit]).toEqual([404, expect.stringContaining(`remaining=${left}`)]);
		}
		const refused = await health(url, bearer(alice));
		expect(refused.status).toBe(429);
		expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
		expect(JSON.parse(refused.text)).toMatchObject({ jsonrpc: "2.0", error: { code: -32_000 }, id: null });
		expect((await health(url, bearer(bob))).status).toBe(404);
	});

	test("with wrong tokens are counted by their address, and do not use up a user's quota", async () => {
		const { url } = await startWithTokens({ quotas: { requestsPerMinute: 3 } });
		const guess = (index: number) =>
			health(url, { ...bearer(`${index}`.repeat(32)), "X-Forwarded-For": `1.2.3.${index}` });
		const statuses: number[] = [];
		for (let index = 0; index < 5; index += 1) statuses.push((await guess(index)).status);
		expect(statuses).toEqual([401, 401, 401, 429, 429]);
		expect((await health(url, bearer(alice))).status).toBe(404);
	});

	test("are counted by address without authentication, and only if configured", async () => {
		const { url } = await start({ quotas: { requestsPerMinute: 2 } });
		const statuses = [await health(url), await health(url), await health(url)].map(({ status }) => status);
		expect(statuses).toEqual([404, 404, 429]);
		const free = await start();
		expect((await health(free.url)).headers).not.toHaveProperty("ratelimit");
	});
});

describe("sessions", () => {
	test("of one principal have a limit, and leave room for others", async () => {
		const { url } = await startWithTokens({ quotas: { sessions: 2 } });
		const first = await openSession(url, bearer(alice));
		await connect(url, "HTTP+SSE", alice);
		for (const answer of [
			await send(`${url}/mcp`, { method: "POST", headers: { ...jsonHeaders, ...bearer(alice) }, body: initialize }),
			await send(`${url}/sse`, { headers: bearer(alice) }),
		]) {
			expect(answer).toMatchObject({ status: 429, headers: { "retry-after": "30" } });
		}
		expect(await openSession(url, bearer(bob))).toMatch(/-/);
		const headers = { ...bearer(alice), "Mcp-Session-Id": first };
		expect((await send(`${url}/mcp`, { method: "DELETE", headers })).status).toBe(200);
		expect(await openSession(url, bearer(alice))).toMatch(/-/);
	});

	test("are counted with the open streams of the revision without sessions", async () => {
		const { url } = await startWithTokens({ quotas: { sessions: 2 } });
		const notifications = { resourceSubscriptions: ["policy://current"] };
		const { method, headers, body } = newerRequest("subscriptions/listen", { notifications });
		const listen = (who: string) => fetch(`${url}/mcp`, { method, headers: { ...headers, ...bearer(who) }, body });
		const streams = [await listen(alice), await listen(alice)];
		const refused = await listen(alice);
		expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
		streams.push(await listen(bob));
		expect(streams.map(({ status }) => status)).toEqual([200, 200, 200]);
		await Promise.all(streams.map(({ body: stream }) => stream?.cancel()));
		await vi.waitFor(async () => expect(await openSession(url, bearer(alice))).toMatch(/-/), patience);
	});

	test("have the configured limit without tokens", async () => {
		const { url } = await start({ quotas: { sessions: 1 } });
		await openSession(url);
		const answer = await send(`${url}/mcp`, { method: "POST", headers: jsonHeaders, body: initialize });
		expect(answer).toMatchObject({ status: 429, headers: { "retry-after": "30" } });
	});
});

describe.each(faces)("calls over %s", (face: Face) => {
	test("have a limit across all of a principal's sessions, and calls over it get an error", async () => {
		const { archive, waiting, letGo } = slowArchive();
		const { url } = await startWithTokens({ archiveOf: () => archive, quotas: { concurrentCalls: 2 } });
		const [one, other, theirs] = await Promise.all([alice, alice, bob].map((who) => connect(url, face, who)));
		const held = [one?.client.callTool(short), other?.client.callTool(short)];
		await vi.waitFor(() => expect(waiting()).toBe(2), patience);
		expect(text(await one?.client.callTool(short))).toMatch(/\[rate_limit\] Expected at most 2 calls/);
		await expect(other?.client.readResource({ uri: "original://x" })).rejects.toThrow(/\[rate_limit\]/);
		// What is no call is answered all the same.
		await one?.client.ping();
		const free = theirs?.client.callTool(short);
		await vi.waitFor(() => expect(waiting()).toBe(3), patience);
		letGo();
		await Promise.all([...held, free]);
		expect(text(await one?.client.callTool(short))).toContain("[internal]");
	});

	test("that take too long are stopped and answered with an error, and the work is aborted", async () => {
		const { endpoint, aborted } = endlessSummariser();
		const compaction = { endpoint, loadStrategy: () => Promise.reject(new Error("none")) };
		const parameters = { messages: chat(12), strategy: "llm-summary", force: true };
		const call = { name: "compact_conversation", arguments: parameters };
		// Once without a limit, so that all code is loaded when time counts.
		const unlimited = await start({ compaction: { ...compaction, endpoint: standInSummariser() } });
		await (await connect(unlimited.url, face)).client.callTool(call);

		const { url, logged } = await start({ compaction, quotas: { callMilliseconds: 2_000 } });
		const { client } = await connect(url, face);
		const answer = await client.callTool(call);
		expect(answer.isError).toBe(true);
		expect(text(answer)).toMatch(/\[timeout\] The call took longer than 2 s/);
		await aborted;
		expect(logged.filter(({ level }) => level === "error")).toEqual([]);
		expect((await client.callTool(short)).structuredContent).toMatchObject({ text: "short" });
	});

	test("that a client cancels or abandons free their place", async () => {
		const { archive, waiting } = slowArchive();
		const { url, policySource, running } = await startWithTokens({
			archiveOf: () => archive,
			quotas: { concurrentCalls: 1 },
		});
		const [one, other] = await Promise.all([alice, alice].map((who) => connect(url, face, who)));
		const cancelled = new AbortController();
		const call = one?.client.callTool(short, undefined, { signal: cancelled.signal });
		await vi.waitFor(() => expect(waiting()).toBe(1), patience);
		cancelled.abort("not wanted");
		await expect(call).rejects.toThrow("not wanted");
		// Without sessions a client cancels by hanging up, which the server may notice after the next request.
		await vi.waitFor(() => expect(running()).toBe(0), patience);
		const second = other?.client.callTool(short);
		await vi.waitFor(() => expect(waiting()).toBe(2), patience);
		if (other && "terminateSession" in other.transport) await other.transport.terminateSession();
		await Promise.allSettled([other?.client.close(), second]);
		await vi.waitFor(() => expect([policySource.listeners(), running()]).toEqual([1, 0]), patience);
		const third = one?.client.callTool(short);
		await vi.waitFor(() => expect(waiting()).toBe(3), patience);
		void third?.catch(() => {});
	});
});

test("two calls under the same id at the same time are counted separately", async () => {
	const { archive, waiting, letGo } = slowArchive();
	const { url } = await startWithTokens({ archiveOf: () => archive, quotas: { concurrentCalls: 2 } });
	const session = await openSession(url, bearer(alice));
	const headers = { ...jsonHeaders, ...bearer(alice), "Mcp-Session-Id": session };
	const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/call", params: short });
	const first = send(`${url}/mcp`, { method: "POST", headers, body });
	await vi.waitFor(() => expect(waiting()).toBe(1), patience);
	const again = await send(`${url}/mcp`, { method: "POST", headers, body });
	expect(again.text).toContain("[invalid_argument]");
	// Its answer would end the call for whoever counts, and take its stream.
	const other = JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" });
	expect(await send(`${url}/mcp`, { method: "POST", headers, body: other })).toMatchObject({
		status: 400,
		text: expect.stringContaining("[invalid_argument]"),
	});
	expect((await send(`${url}/mcp`, { method: "POST", headers, body: `[${other},${body}]` })).status).toBe(400);
	expect(waiting()).toBe(1);
	letGo();
	expect((await first).text).toContain("[internal]");
	// Then the id is free.
	expect((await send(`${url}/mcp`, { method: "POST", headers, body: other })).text).toContain('"result":{}');
});

test("without sessions, calls under the same id are counted separately too", async () => {
	const { archive, waiting, letGo } = slowArchive();
	const { url } = await startWithTokens({ archiveOf: () => archive, quotas: { concurrentCalls: 1 } });
	const { method, headers, body } = newerRequest("tools/call", short, 7);
	const request = { method, headers: { ...headers, ...bearer(alice) }, body };
	const first = send(`${url}/mcp`, request);
	await vi.waitFor(() => expect(waiting()).toBe(1), patience);
	expect((await send(`${url}/mcp`, request)).text).toContain("[rate_limit]");
	letGo();
	expect((await first).text).toContain("[internal]");
	expect((await send(`${url}/mcp`, request)).text).toContain("[internal]");
});

test("over the older transport a request under a call's id does not end the call either", async () => {
	const { archive, waiting, letGo } = slowArchive();
	const { url } = await startWithTokens({ archiveOf: () => archive, quotas: { concurrentCalls: 1 } });
	const { client, transport } = await connect(url, "HTTP+SSE", alice);
	const call = client.callTool(short);
	await vi.waitFor(() => expect(waiting()).toBe(1), patience);
	const answers: unknown[] = [];
	const receive = transport.onmessage;
	transport.onmessage = (message: JSONRPCMessage) => {
		if ("error" in message) answers.push(message);
		else receive?.(message);
	};
	// The id of the call: the one before it was that of initialize.
	await transport.send({ jsonrpc: "2.0", id: 1, method: "ping" });
	await vi.waitFor(
		() => expect(answers).toMatchObject([{ id: 1, error: { message: expect.stringContaining("[invalid_argument]") } }]),
		patience,
	);
	expect(text(await client.callTool(short))).toContain("[rate_limit]");
	letGo();
	expect(text(await call)).toContain("[internal]");
});
