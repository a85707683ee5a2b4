import { request as httpRequest } from "node:http";
import { connect as connectSocket } from "node:net";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { ArchiveSource } from "../../../src/storage/archive/open.ts";
import { patience } from "../../support/patience.ts";
import {
	chat,
	connect,
	faces,
	initialize,
	jsonHeaders,
	openSession,
	ping,
	type Running,
	type StubPolicySource,
	send,
	start,
	stubPolicySource,
} from "./harness.ts";

function post(url: string, session: string, body = ping) {
	return send(`${url}/mcp`, { method: "POST", headers: { ...jsonHeaders, "Mcp-Session-Id": session }, body });
}

/** Opens a stream and answers with what ends it. */
// `fetch` ends the stream of a response that nobody holds any more, as soon as it is collected.
const responses: Response[] = [];

async function openStream(url: string, session: string): Promise<AbortController> {
	const controller = new AbortController();
	const headers = { Accept: "text/event-stream", "Mcp-Session-Id": session };
	const response = await fetch(`${url}/mcp`, { headers, signal: controller.signal });
	responses.push(response);
	expect(response.status).toBe(200);
	return controller;
}

async function released({ policySource }: Running): Promise<void> {
	await vi.waitFor(() => expect(policySource.listeners()).toBe(0), patience);
}

afterEach(() => void vi.useRealTimers());

/** From now on, time passes for the server where the test says so, and while the test waits. */
function stopTime(): void {
	vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
}

test("an idle session is closed and stops listening to the policy", async () => {
	stopTime();
	const running = await start({ idleMilliseconds: 1_000 });
	const session = await openSession(running.url);
	vi.advanceTimersByTime(999);
	expect(running.policySource.listeners()).toBe(1);
	await released(running);
	const answer = await post(running.url, session);
	expect(answer.status).toBe(404);
	expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32_001 } });
});

test("a request extends an idle session", async () => {
	stopTime();
	const running = await start({ idleMilliseconds: 1_000 });
	const session = await openSession(running.url);
	for (let request = 0; request < 3; request += 1) {
		vi.advanceTimersByTime(900);
		expect((await post(running.url, session)).status).toBe(200);
	}
	await released(running);
});

test("an open stream keeps a session alive until it ends", async () => {
	stopTime();
	const running = await start({ idleMilliseconds: 1_000 });
	const session = await openSession(running.url);
	const stream = await openStream(running.url, session);
	for (let request = 0; request < 2; request += 1) {
		expect((await post(running.url, session)).status).toBe(200);
		vi.advanceTimersByTime(5_000);
	}
	expect(running.policySource.listeners()).toBe(1);
	stream.abort();
	await released(running);
});

test("an HTTP+SSE session lasts exactly as long as its stream, even when silent", async () => {
	stopTime();
	const running = await start({ idleMilliseconds: 1_000 });
	const { client } = await connect(running.url, "HTTP+SSE");
	vi.advanceTimersByTime(5_000);
	await client.ping();
	await client.close();
	await released(running);
});

test("the longest idle time is not mistaken for the shortest", async () => {
	const { url } = await start({ idleMilliseconds: Number.POSITIVE_INFINITY });
	const session = await openSession(url);
	await new Promise((resolve) => setTimeout(resolve, 50));
	expect((await post(url, session)).status).toBe(200);
});

test("no event has an id: a client that lost its stream calls again, and no client gets the answer of another call", async () => {
	let letGo = (): void => {};
	let begun = 0;
	const gate = new Promise<void>((resolve) => {
		letGo = resolve;
	});
	const archive: ArchiveSource = {
		async use(work) {
			begun += 1;
			await gate;
			return work(undefined as never);
		},
		end() {},
	};
	const running = await start({ archive });
	const [session, other] = [await openSession(running.url), await openSession(running.url)];
	const call = (id: number) => {
		const params = { name: "truncate_output", arguments: { text: `text ${id}` } };
		return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
	};
	const headers = { ...jsonHeaders, "Mcp-Session-Id": session };
	const broken = new AbortController();
	const lost = fetch(`${running.url}/mcp`, { method: "POST", headers, body: call(1), signal: broken.signal });
	await vi.waitFor(() => expect(begun).toBe(1), patience);
	broken.abort();
	await expect(lost.then((response) => response.text())).rejects.toThrow();
	const again = post(running.url, session, call(2));
	const others = post(running.url, other, call(3));
	await vi.waitFor(() => expect(begun).toBe(3), patience);
	letGo();
	for (const [answer, id] of [
		[await again, 2],
		[await others, 3],
	] as const) {
		expect(answer.status).toBe(200);
		expect(answer.text).not.toMatch(/^id:/m);
		const data = [...answer.text.matchAll(/^data: (.+)$/gm)].map(([, json = ""]) => JSON.parse(json) as object);
		expect(data).toMatchObject([{ id, result: { structuredContent: { text: `text ${id}` } } }]);
	}
	// A client that asks to resume gets a stream without a past.
	const resume = { Accept: "text/event-stream", "Mcp-Session-Id": session, "Last-Event-ID": "1" };
	const stream = await fetch(`${running.url}/mcp`, { headers: resume });
	expect(stream.status).toBe(200);
	const silence = new Promise((resolve) => setTimeout(resolve, 50, "nothing"));
	expect(await Promise.race([stream.body?.getReader().read(), silence])).toBe("nothing");
	expect(running.logged.filter(({ level }) => level === "error")).toEqual([]);
});

test("DELETE ends a session and its streams", async () => {
	const running = await start();
	const session = await openSession(running.url);
	await openStream(running.url, session);
	const headers = { "Mcp-Session-Id": session };
	expect((await send(`${running.url}/mcp`, { method: "DELETE", headers })).status).toBe(200);
	expect(running.policySource.listeners()).toBe(0);
	expect((await post(running.url, session)).status).toBe(404);
	expect((await send(`${running.url}/mcp`, { method: "DELETE", headers })).status).toBe(404);
});

test("a client of the SDK ends its session", async () => {
	const running = await start();
	const { transport } = await connect(running.url, "Streamable HTTP");
	if ("terminateSession" in transport) await transport.terminateSession();
	await released(running);
});

test("unknown sessions get 404", async () => {
	const { url } = await start();
	const headers = { ...jsonHeaders, "Mcp-Session-Id": "1d1cbb0c-55f6-4d5c-9fd8-0f8b2f3a2a10" };
	for (const method of ["POST", "GET", "DELETE"]) {
		const body = method === "POST" ? ping : undefined;
		const answer = await send(`${url}/mcp`, { method, headers, ...(body && { body }) });
		expect(answer.status, method).toBe(404);
	}
	for (const query of ["?sessionId=nobody", "", "?sessionId=a&sessionId=b"]) {
		const answer = await send(`${url}/messages${query}`, { method: "POST", headers: jsonHeaders, body: ping });
		expect(answer.status, query).toBe(404);
		expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32_001 } });
	}
});

test("a session of one transport is unknown to the other", async () => {
	const { url, port } = await start();
	const streamable = await openSession(url);
	const messages = `${url}/messages?sessionId=${streamable}`;
	expect((await send(messages, { method: "POST", headers: jsonHeaders, body: ping })).status).toBe(404);

	const socket = connectSocket(port, "127.0.0.1");
	onTestFinished(() => void socket.destroy());
	socket.write("GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n");
	const sse = await new Promise<string>((resolve) => {
		socket.on("data", (piece) => {
			const id = /sessionId=(\S+)/.exec(String(piece))?.[1];
			if (id) resolve(id);
		});
	});
	expect((await post(url, sse)).status).toBe(404);
});

test("a request without a session is refused and leaves no trace", async () => {
	const running = await start();
	for (const method of ["GET", "DELETE"]) expect((await send(`${running.url}/mcp`, { method })).status).toBe(400);
	const noInitialize = await send(`${running.url}/mcp`, { method: "POST", headers: jsonHeaders, body: ping });
	expect(noInitialize.status).toBe(400);
	const badAccept = { ...jsonHeaders, Accept: "text/html" };
	expect((await send(`${running.url}/mcp`, { method: "POST", headers: badAccept, body: initialize })).status).toBe(406);
	await released(running);
});

test("a session over the limit is asked to come back later", async () => {
	const { url } = await start({ maxSessions: 3 });
	const sessions = [await openSession(url), await openSession(url)];
	const sse = await connect(url, "HTTP+SSE");
	for (const answer of [
		await send(`${url}/mcp`, { method: "POST", headers: jsonHeaders, body: initialize }),
		await send(`${url}/sse`),
	]) {
		expect(answer.status).toBe(503);
		expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
		expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null });
	}
	expect((await post(url, String(sessions[0]))).status).toBe(200);
	await sse.client.close();
	await vi.waitFor(async () => expect(await openSession(url)).toMatch(/-/), patience);
});

/** Begins a POST and answers with what sends the rest of it. */
async function beginPost({ port }: Running): Promise<() => Promise<number>> {
	const request = httpRequest({
		port,
		host: "127.0.0.1",
		path: "/mcp",
		method: "POST",
		headers: jsonHeaders,
		agent: false,
	});
	const status = new Promise<number>((resolve, reject) => {
		request.on("response", (response) => {
			response.resume();
			resolve(response.statusCode ?? 0);
		});
		request.on("error", reject);
	});
	await new Promise((resolve) => request.write(initialize.slice(0, 10), resolve));
	return () => {
		request.end(initialize.slice(10));
		return status;
	};
}

test("the limit holds for many sessions at once", async () => {
	const running = await start({ maxSessions: 4 });
	const posts = await Promise.all(Array.from({ length: 20 }, () => beginPost(running)));
	// All are let in as far as their bodies while there is still room for each.
	await send(`${running.url}/healthz`);
	const statuses = await Promise.all(posts.map((finish) => finish()));
	expect(statuses.filter((status) => status === 200)).toHaveLength(4);
	expect(statuses.filter((status) => status === 503)).toHaveLength(16);
	expect(running.policySource.listeners()).toBe(4);
});

test("no session opens while the server closes", async () => {
	const running = await start();
	const finish = await beginPost(running);
	await send(`${running.url}/healthz`);
	const closed = running.close();
	expect(await finish()).toBe(503);
	await closed;
	expect(running.policySource.listeners()).toBe(0);
});

test.each(faces)("a client that disconnects during a call does no harm: %s", async (face) => {
	const policySource = stubPolicySource();
	let leave = async (): Promise<void> => {};
	let asked = 0;
	const leftDuringCall: StubPolicySource = {
		...policySource,
		// Every call asks for the layers first: the client leaves while its call is being answered.
		layers() {
			asked += 1;
			void leave();
			return [];
		},
	};
	const running = await start({ idleMilliseconds: 1_000, policySource: leftDuringCall });
	const { client } = await connect(running.url, face);
	leave = () => client.close();
	const call = client.callTool({ name: "guard_context", arguments: { messages: chat(500), context_window: 20_000 } });
	await expect(call).rejects.toThrow(/closed/);
	expect(asked).toBe(1);
	// Without sessions the server itself listens, for all streams of news.
	const left = face === "2026-07-28" ? 1 : 0;
	await vi.waitFor(() => expect([policySource.listeners(), running.running()]).toEqual([left, 0]), patience);

	leave = async () => {};
	const next = await connect(running.url, face);
	const answer = await next.client.callTool({ name: "truncate_output", arguments: { text: "short" } });
	expect(answer.structuredContent).toMatchObject({ text: "short" });
	expect(running.logged.filter(({ level }) => level === "error")).toEqual([]);
});

test("a client that disconnects during its body does no harm", async () => {
	const running = await start();
	for (const length of ["Content-Length: 5000", "Transfer-Encoding: chunked"]) {
		const socket = connectSocket(running.port, "127.0.0.1");
		const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${length}\r\n\r\n5\r\n{"jso`;
		await new Promise((resolve) => socket.write(head, resolve));
		await new Promise((resolve) => setTimeout(resolve, 20));
		socket.destroy();
	}
	expect(await openSession(running.url)).toMatch(/-/);
	expect(running.policySource.listeners()).toBe(1);
	expect(running.logged.filter(({ level }) => level === "error")).toEqual([]);
});

test("closing ends open streams, sessions and idle connections, and closing twice is harmless", async () => {
	const running = await start();
	await connect(running.url, "Streamable HTTP");
	await connect(running.url, "HTTP+SSE");
	await openStream(running.url, await openSession(running.url));
	await fetch(`${running.url}/healthz`).then((response) => response.text());
	expect(running.policySource.listeners()).toBe(3);
	await Promise.all([running.close(), running.close()]);
	expect(running.policySource.listeners()).toBe(0);
	await expect(fetch(`${running.url}/healthz`)).rejects.toThrow();
});

test("closing does not wait for a client that never ends its request", async () => {
	const running = await start();
	const socket = connectSocket(running.port, "127.0.0.1");
	socket.on("error", () => {});
	const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{";
	await new Promise((resolve) => socket.write(head, resolve));
	await new Promise((resolve) => setTimeout(resolve, 50));
	await running.close();
	expect(running.policySource.listeners()).toBe(0);
});

test.each(faces)("a call that is not done when the server ends is answered by an error: %s", async (face) => {
	let begun = (): void => {};
	const isBegun = new Promise<void>((resolve) => {
		begun = resolve;
	});
	const use = () => {
		begun();
		return new Promise<never>(() => {});
	};
	const running = await start({ archive: { use } as unknown as ArchiveSource, shutdownMilliseconds: 2_000 });
	const { client } = await connect(running.url, face);
	const call = client.callTool({ name: "recall_original", arguments: { ref: "aaaaaaaaaaaa" } });
	await isBegun;
	const closed = running.close();
	const ready = await fetch(`${running.url}/readyz`);
	expect([ready.status, await ready.json()]).toEqual([503, { status: "not_ready", reason: "shutting_down" }]);
	const opened = await send(`${running.url}/mcp`, { method: "POST", headers: jsonHeaders, body: initialize });
	expect(opened.status).toBe(503);
	await expect(client.callTool({ name: "truncate_output", arguments: { text: "short" } })).rejects.toThrow();
	expect(await call).toMatchObject({ isError: true, content: [{ text: expect.stringContaining("shutting down") }] });
	await closed;
	await expect(fetch(`${running.url}/readyz`)).rejects.toThrow();
});
