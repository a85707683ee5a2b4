import { connect as connectSocket } from "node:net";
import { describe, expect, test } from "vitest";
import type { PolicySource } from "../../../src/operations/config/config.ts";
import {
	initialize,
	newerRequest,
	jsonHeaders as olderHeaders,
	openSession,
	ping,
	send,
	start,
	stubPolicySource,
} from "./harness.ts";

const routes = [
	{ path: "/mcp", method: "POST", headers: olderHeaders, body: initialize },
	{ path: "/mcp?2026-07-28", ...newerRequest("tools/list") },
	{ path: "/mcp", method: "GET", headers: { Accept: "text/event-stream" } },
	{ path: "/mcp", method: "DELETE", headers: {} },
	{ path: "/sse", method: "GET", headers: {} },
	{ path: "/messages?sessionId=x", method: "POST", headers: olderHeaders, body: ping },
	{ path: "/healthz", method: "GET", headers: {} },
	{ path: "/nowhere", method: "GET", headers: {} },
];

const refused: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
	["a foreign Host", { Host: "evil.example" }],
	["a foreign Host with our port", { Host: "evil.example:8765" }],
	["a Host that only looks like ours", { Host: "127.0.0.1.nip.io" }],
	["a Host with a name before it", { Host: "evil.example@localhost" }],
	["a Host with a query", { Host: "localhost?evil.example" }],
	["a Host with a backslash", { Host: "localhost\\evil.example" }],
	["a foreign Origin", { Origin: "http://evil.example" }],
	["an Origin that only looks like ours", { Origin: "http://localhost.evil.example" }],
	["an Origin of any other address", { Origin: "http://192.168.1.1" }],
	["an Origin of null", { Origin: "null" }],
	["an empty Origin", { Origin: "" }],
	["an Origin of another scheme", { Origin: "app://localhost" }],
	["another site's image or link", { "Sec-Fetch-Site": "cross-site" }],
];

const accepted: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
	["no Origin", {}],
	["Host localhost", { Host: "localhost:8765" }],
	["Host ::1", { Host: "[::1]:8765" }],
	["Origin localhost", { Origin: "http://localhost:6274" }],
	["Origin 127.0.0.1", { Origin: "http://127.0.0.1:6274" }],
	["Origin 127.9.9.9", { Origin: "https://127.9.9.9" }],
	["Origin ::1", { Origin: "http://[::1]:6274" }],
	["a loopback page of another port", { Origin: "http://localhost:6274", "Sec-Fetch-Site": "cross-site" }],
	["an address typed by hand", { "Sec-Fetch-Site": "none" }],
];

describe.each(routes)("$method $path", ({ path, method, headers, ...rest }) => {
	test.each(refused)("refuses %s", async (_name, extra) => {
		const { url, policySource } = await start();
		const answer = await send(url + path, { method, headers: { ...headers, ...extra }, ...rest });
		expect(answer.status).toBe(403);
		expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", error: { code: -32_000 }, id: null });
		expect(policySource.listeners()).toBe(0);
	});

	test.each(accepted)("accepts %s", async (_name, extra) => {
		const { url } = await start();
		const answer = await send(url + path, { method, headers: { ...headers, ...extra }, ...rest, headOnly: true });
		expect(answer.status).not.toBe(403);
	});
});

test.each([
	["of this server", "Host: localhost\r\nHost: localhost\r\n"],
	["of which the first is foreign", "Host: evil.example\r\nHost: localhost\r\n"],
	["of which the last is foreign", "Host: localhost\r\nhOST: evil.example\r\n"],
])("two Host headers %s are refused", async (_what, headers) => {
	const { port } = await start();
	for (const { path, method } of routes) {
		const socket = connectSocket(port, "127.0.0.1");
		const answer = new Promise<string>((resolve, reject) => {
			socket.once("data", (piece) => resolve(String(piece)));
			socket.once("error", reject);
		});
		socket.write(`${method} ${path} HTTP/1.1\r\n${headers}Content-Length: 0\r\n\r\n`);
		expect(await answer, `${method} ${path}`).toMatch(/^HTTP\/1\.1 400 /);
		socket.destroy();
	}
});

describe.each(["/mcp", "/mcp?2026-07-28", "/messages"])("a body for %s", (path) => {
	async function target(url: string): Promise<string> {
		// The first request loads what serves the newer revision.
		if (path === "/mcp?2026-07-28") await send(url + path, newerRequest("tools/list"));
		if (path !== "/messages") return url + path;
		const socket = connectSocket(Number(new URL(url).port), "127.0.0.1");
		socket.write("GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n");
		const stream = await new Promise<string>((resolve) => {
			let text = "";
			socket.on("data", (piece) => {
				text += piece;
				if (/sessionId=\S+/.test(text)) resolve(text);
			});
		});
		return url + (/\/messages\?sessionId=[0-9a-f-]{36}/.exec(stream)?.[0] ?? "");
	}
	const jsonHeaders = path === "/mcp?2026-07-28" ? newerRequest("tools/list").headers : olderHeaders;
	const large = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { padding: "x".repeat(3_000_000) } });

	test.each([
		["declared", large],
		["chunked", large.match(/.{1,50000}/gs) ?? []],
	])("over the limit is refused with a readable error when %s", async (_name, body) => {
		const { url } = await start({ bodyLimitBytes: 100_000 });
		const answer = await send(await target(url), { method: "POST", headers: jsonHeaders, body });
		expect(answer.status).toBe(413);
		expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", id: null });
		expect(answer.text).toContain("at most 100000 bytes");
		expect((await send(`${url}/healthz`)).status).toBe(200);
	});

	test("is counted in bytes, and accepted up to the limit", async () => {
		const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized", params: { note: "éééé" } });
		const exact = await start({ bodyLimitBytes: Buffer.byteLength(body) });
		const short = await start({ bodyLimitBytes: Buffer.byteLength(body) - 1 });
		const post = { method: "POST", headers: jsonHeaders };
		expect((await send(await target(exact.url), { ...post, body })).status).not.toBe(413);
		expect((await send(await target(exact.url), { ...post, body: [body] })).status).not.toBe(413);
		expect((await send(await target(short.url), { ...post, body })).status).toBe(413);
		expect((await send(await target(short.url), { ...post, body: [body] })).status).toBe(413);
	});

	test.each([
		["no JSON", "{"],
		["empty", ""],
		["no JSON-RPC", '{"hello":1}'],
		["a bare value", '"text of a conversation"'],
	])("that is %s is refused without being quoted", async (_name, body) => {
		const { url, policySource } = await start();
		const where = await target(url);
		const before = policySource.listeners();
		const answer = await send(where, { method: "POST", headers: jsonHeaders, body });
		expect(answer.status).toBe(400);
		// The newer SDK tells JSON that is no JSON-RPC from what is no JSON.
		const code = path === "/mcp?2026-07-28" && /^[{"]./.test(body) ? -32_600 : -32_700;
		expect(JSON.parse(answer.text)).toMatchObject({ error: { code } });
		expect(answer.text).not.toMatch(/conversation|hello|node_modules|\bat /);
		expect(policySource.listeners()).toBe(before);
	});

	test.each([
		["of another type", { "Content-Type": "text/plain" }],
		["that is compressed", { "Content-Type": "application/json", "Content-Encoding": "gzip" }],
	])("%s is refused", async (_name, headers) => {
		const { url } = await start();
		const answer = await send(await target(url), {
			method: "POST",
			headers: { ...jsonHeaders, ...headers },
			body: initialize,
		});
		expect(answer.status).toBe(415);
	});
});

test("a body over the limit is refused before it is sent", async () => {
	const { port } = await start();
	const socket = connectSocket(port, "127.0.0.1");
	const head = await new Promise<string>((resolve, reject) => {
		socket.once("data", (piece) => resolve(String(piece)));
		socket.once("error", reject);
		socket.write(
			"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 17000000\r\n\r\n",
		);
	});
	socket.destroy();
	expect(head).toMatch(/^HTTP\/1\.1 413 /);
});

test("a body that is invalid UTF-8 is refused, not changed", async () => {
	const { url } = await start();
	// Latin-1 turns the letter into one byte that UTF-8 has not.
	const body = Buffer.from(initialize.replace('"raw"', '"\u00e9"'), "latin1");
	const response = await fetch(`${url}/mcp`, { method: "POST", headers: olderHeaders, body });
	expect(response.status).toBe(400);
	expect(await response.json()).toMatchObject({ error: { code: -32_700 } });
});

test("a defect is answered without its message or stack, and logged by name", async () => {
	const broken: PolicySource = {
		...stubPolicySource(),
		current() {
			throw new RangeError("secret detail");
		},
	};
	const { url, logged } = await start({ policySource: broken });
	for (const answer of [
		await send(`${url}/mcp`, { method: "POST", headers: olderHeaders, body: initialize }),
		await send(`${url}/sse`),
		await send(`${url}/mcp`, newerRequest("tools/list")),
	]) {
		expect(answer.status).toBe(500);
		expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: "2.0", error: { code: -32_603 } });
		expect(answer.text).not.toMatch(/secret|RangeError|\.ts/);
	}
	expect(logged.map(({ data }) => data.error)).toEqual(Array(3).fill("RangeError"));
	expect(JSON.stringify(logged)).not.toContain("secret");
});

test("a path that cannot be decoded is not a defect", async () => {
	const { url, logged } = await start();
	expect((await send(`${url}/%ff`)).status).toBeLessThan(500);
	expect((await send(`${url}/mcp`, { headers: { "Mcp-Session-Id": await openSession(url) } })).status).toBe(406);
	expect(logged.filter(({ level }) => level === "error")).toEqual([]);
});
