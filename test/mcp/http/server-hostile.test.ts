import { connect as connectSocket } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { alice, startWithTokens } from "./auth-harness.ts";
import {
	bearer,
	initialize,
	jsonHeaders,
	newerRequest,
	openSession,
	ping,
	type Running,
	send,
	start,
} from "./harness.ts";

const secret = "TOPSECRET-7741";

/** Writes bytes as they are and answers with all that came back until the server hung up. */
function raw({ port }: { readonly port: number }, pieces: AsyncIterable<string> | readonly string[]): Promise<string> {
	return new Promise((resolve) => {
		const socket = connectSocket(port, "127.0.0.1");
		onTestFinished(() => void socket.destroy());
		let answer = "";
		socket.on("data", (piece) => {
			answer += piece;
		});
		socket.on("error", () => {});
		socket.on("close", () => resolve(answer));
		void (async () => {
			for await (const piece of pieces) {
				if (socket.destroyed) return;
				await new Promise((written) => socket.write(piece, written));
			}
		})();
	});
}

async function* slowly(pieces: readonly string[], milliseconds: number): AsyncGenerator<string> {
	for (const piece of pieces) {
		yield piece;
		await new Promise((resolve) => setTimeout(resolve, milliseconds));
	}
}

async function isWell({ url }: { readonly url: string }): Promise<void> {
	expect((await send(`${url}/healthz`)).status).toBe(200);
}

const patience = { headers: 300, request: 600 };
const bodyHead = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n`;

test.each([
	["headers that never end", ["GET /mcp HTTP/1.1\r\nHost: localhost\r\n", ...Array(200).fill("X-More: 1\r\n")]],
	["a body that never ends", [bodyHead, ...Array(200).fill(" ")]],
])("a client that sends %s is disconnected", async (_what, pieces) => {
	const running = await start({ patience });
	expect(await raw(running, slowly(pieces, 50))).toMatch(/^HTTP\/1\.1 408 /);
	await isWell(running);
	expect(running.policySource.listeners()).toBe(0);
});

test.each([
	["thousands of headers", Array.from({ length: 20_000 }, (_, index) => `X-${index}: 1\r\n`).join("")],
	["a header without end", `X-Long: ${"x".repeat(1_000_000)}\r\n`],
	["an endless token", `Authorization: Bearer ${"x".repeat(1_000_000)}\r\n`],
])("%s are refused", async (_what, headers) => {
	const running = await startWithTokens();
	const answer = await raw(running, ["GET /mcp HTTP/1.1\r\nHost: localhost\r\n", headers, "\r\n"]);
	expect(answer).toMatch(/^HTTP\/1\.1 431 |^$/);
	await isWell(running);
});

describe.each([
	["gzip", gzipSync],
	["deflate", deflateSync],
	["br", brotliCompressSync],
])("a bomb of %s", (encoding, compress) => {
	test("is refused before it expands", async () => {
		const running = await start();
		const bomb = compress(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"ping","x":"${"0".repeat(8_000_000)}"}`));
		expect(bomb.length).toBeLessThan(100_000);
		for (const name of [encoding, encoding.toUpperCase(), `identity, ${encoding}`]) {
			const headers = { ...jsonHeaders, "Content-Encoding": name };
			const response = await fetch(`${running.url}/mcp`, { method: "POST", headers, body: bomb });
			expect(response.status).toBe(415);
		}
		await isWell(running);
	});
});

const newer = "/mcp of revision 2026-07-28";

/** The address for messages of a session, by either transport, and its headers. */
async function messagePlace({ url }: Running, path: string) {
	if (path === newer) return { place: `${url}/mcp`, headers: newerRequest("tools/list").headers };
	if (path === "/mcp") return { place: `${url}/mcp`, headers: { "Mcp-Session-Id": await openSession(url) } };
	const stream = await fetch(`${url}/sse`);
	const told = Buffer.from((await stream.body?.getReader().read())?.value ?? []).toString();
	return { place: `${url}${/\/messages\S+/.exec(told)?.[0]}`, headers: {} };
}

describe.each(["/mcp", newer, "/messages"])("over %s", (path) => {
	async function post(running: Running, body: string) {
		const { place, headers } = await messagePlace(running, path);
		return send(place, { method: "POST", headers: { ...jsonHeaders, ...headers }, body });
	}

	// More than 256 kB is refused for its size before anybody reads it.
	test.each([
		["lists", "[".repeat(1_000_000), 413],
		["lists of less than 256 kB", "[".repeat(200_000), 400],
		["closed lists", "[".repeat(100_000) + "]".repeat(100_000), 400],
		["objects", `{"a":`.repeat(100_000), 413],
		["objects of less than 256 kB", `{"a":`.repeat(40_000), 400],
		["closed objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`, 413],
		["closed objects of less than 256 kB", `${'{"a":'.repeat(40_000)}1${"}".repeat(40_000)}`, 400],
	])("JSON of nested %s is refused", async (_what, body, status) => {
		const running = await start();
		const answer = await post(running, body);
		expect(answer.status).toBe(status);
		expect(answer.text.length).toBeLessThan(1_000);
		await isWell(running);
	});

	const keys = (count: number) => Array.from({ length: count }, (_, index) => `"k${index}":0`).join(",");
	const withParams = (method: string, params: string) =>
		`{"jsonrpc":"2.0","id":7,"method":"${method}","params":{${params}}}`;
	const call = (more: string) => withParams("tools/call", `"name":"truncate_output","arguments":{"text":"x"}${more}`);

	test.each([
		["200 000 keys in the params of a ping", withParams("ping", keys(200_000))],
		["200 000 keys next to a call's arguments", call(`,"_meta":{${keys(200_000)}}`)],
		["200 000 keys next to the params", call("").replace("{", `{${keys(200_000)},`)],
		[
			"200 000 keys in the arguments of a prompt",
			withParams("prompts/get", `"name":"x","arguments":{${keys(200_000)}}`),
		],
		["200 000 keys in a result", `{"jsonrpc":"2.0","id":7,"result":{${keys(200_000)}}}`],
		["a long string", withParams("ping", `"padding":"${"x".repeat(270_000)}"`)],
		["blanks", `${" ".repeat(270_000)}${ping}`],
		["a list", withParams("ping", `"list":[${"{},".repeat(100_000)}{}]`)],
		[
			"messages that are large together",
			`[${Array(50)
				.fill(call(`,"_meta":{"a":"${"x".repeat(6_000)}"}`))
				.join(",")}]`,
		],
		["20 000 keys, which take less than 256 kB", withParams("ping", keys(20_000))],
		[
			"5 000 keys of small arguments",
			withParams("tools/call", `"name":"truncate_output","arguments":{${keys(5_000)}}`),
		],
	])("a message with %s outside large arguments is refused", async (_what, body) => {
		const running = await start();
		const answer = await post(running, body);
		expect(answer.status).toBe(413);
		expect(JSON.parse(answer.text)).toMatchObject({
			jsonrpc: "2.0",
			error: { message: expect.stringMatching(/^Expected at most \d+ /) },
			id: null,
		});
		await isWell(running);
	});

	test.each([
		["a string of 250 kB", withParams("ping", `"padding":"${"x".repeat(250_000)}"`)],
		["1 000 keys", withParams("ping", keys(1_000))],
		[
			"a call of 1 MB",
			withParams("tools/call", `"name":"truncate_output","arguments":{"text":"${"x".repeat(1_000_000)}"}`),
		],
		[
			"a call with 100 000 values in its arguments",
			withParams(
				"tools/call",
				`"name":"mask_conversation","arguments":{"messages":[{"role":"user","content":[${"0,".repeat(100_000)}0]}]}`,
			),
		],
	])("a message with %s is accepted", async (_what, body) => {
		const answer = await post(await start(), body);
		// In the newer revision these lack what says that they are of it, which is no question of size.
		expect(answer.status).toBe(path === "/mcp" ? 200 : path === newer ? 400 : 202);
		if (path === newer) expect(answer.text).toContain("_meta");
	});

	test("a batch of 10 000 is refused, and none of it runs", async () => {
		const running = await start();
		const calls = Array.from({ length: 10_000 }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }));
		expect((await post(running, JSON.stringify(calls))).status).toBe(400);
		await isWell(running);
	});
});

describe.each(["2025-11-25", "2026-07-28"])("in revision %s, a call", (revision) => {
	async function call(running: Running, name: string, parameters: string) {
		if (revision === "2026-07-28") {
			const { method, headers, body } = newerRequest("tools/call", { name, arguments: "ARGUMENTS" }, 5);
			const request = { method, headers, body: body.replace('"ARGUMENTS"', () => parameters) };
			const { status, text } = await send(`${running.url}/mcp`, request);
			expect(status).toBe(200);
			return text;
		}
		const headers = { ...jsonHeaders, "Mcp-Session-Id": await openSession(running.url) };
		const body = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"${name}","arguments":${parameters}}}`;
		const { status, text } = await send(`${running.url}/mcp`, { method: "POST", headers, body });
		expect(status).toBe(200);
		const [, data = ""] = /^data: (\{.*\})$/m.exec(text) ?? [];
		return data;
	}

	test.each([
		["lists", "[", "]"],
		["objects", '{"a":', "}"],
	])("with a conversation nested %s is answered, and the error names the cause", async (_what, open, close) => {
		const running = await start();
		const deep = `${open.repeat(50_000)}"${secret}"${close.repeat(50_000)}`;
		const user = `{"role":"user","content":"hi"}`;
		for (const messages of [deep, `[${user},{"role":"user","content":${deep}}]`]) {
			const answer = await call(running, "mask_conversation", `{"messages":${messages},"respond_with":"report"}`);
			expect(answer).toMatch(/"isError":true|"changed":false/);
			expect(answer).not.toContain(secret);
		}
		await isWell(running);
		expect(JSON.stringify(running.logged)).not.toContain(secret);
	});

	test.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"])(
		"with the key %s changes nothing else",
		async (key) => {
			const running = await start();
			const evil = `{"${key}":{"polluted":"${secret}","role":"system"},"role":"user","content":"hi"}`;
			for (const parameters of [
				`{"messages":[${evil}],"respond_with":"report"}`,
				`{"text":"x","policy":{"${key}":{"polluted":1}}}`,
				`{"text":"x","${key}":{"polluted":1}}`,
				`{"text":"x","policy":{"mask":{"${key}":{"polluted":1}}}}`,
			]) {
				const name = parameters.includes("messages") ? "mask_conversation" : "truncate_output";
				expect(await call(running, name, parameters)).toMatch(/"id":5/);
			}
			expect(({} as Record<string, unknown>).polluted).toBeUndefined();
			expect(await call(running, "truncate_output", '{"text":"x"}')).toContain('"truncated":false');
			expect(JSON.stringify(running.logged)).not.toContain(secret);
		},
	);

	test("of a tool with such a name is refused as unknown", async () => {
		const running = await start();
		for (const name of ["__proto__", "constructor", "hasOwnProperty"]) {
			expect(await call(running, name, "{}")).toContain("Unknown tool. Known:");
		}
	});

	test("with a path is refused, wherever it points", async () => {
		const running = await start();
		for (const path of ["package.json", "/etc/passwd", "../../etc/passwd", "/proc/self/environ", "\\\\\\\\host\\\\x"]) {
			const answer = await call(running, "mask_conversation", `{"path":"${path}"}`);
			expect(answer).toContain("[path_not_allowed]");
			expect(await call(running, "mask_conversation", `{"messages":[],"output_path":"${path}"}`)).toContain("[");
		}
	});

	test("that is invalid in any way gets an error without text of it", async () => {
		const running = await start();
		const wrong = [
			["mask_conversation", `{"messages":"${secret}"}`],
			["mask_conversation", `{"messages":["${secret}"]}`],
			["truncate_output", `{"text":{"a":"${secret}"}}`],
			["recall_original", `{"ref":"${secret}"}`],
			["guard_context", `{"messages":[{"role":"${secret}"}],"context_window":-1}`],
		] as const;
		for (const [name, parameters] of wrong) {
			const answer = await call(running, name, parameters);
			expect(answer).toMatch(/"isError":true|"error":/);
			expect(answer).not.toMatch(/TOPSECRET|node_modules|\.ts:/);
		}
		expect(JSON.stringify(running.logged)).not.toContain(secret);
	});
});

test("every answer has headers that restrict browsers", async () => {
	const { url } = await startWithTokens();
	const session = {
		...bearer(alice),
		Accept: "text/event-stream",
		"Mcp-Session-Id": await openSession(url, bearer(alice)),
	};
	const { method, headers: newerHeaders, body } = newerRequest("tools/list");
	for (const [path, headers, request] of [
		["/mcp", { ...newerHeaders, ...bearer(alice) }, { method, body }],
		["/mcp", newerHeaders, { method, body }],
		["/healthz", {}],
		["/mcp", session],
		["/mcp", {}],
		["/nowhere", bearer(alice)],
		["/mcp", { Origin: "http://evil.example" }],
		["/sse", bearer(alice)],
	] as const) {
		const answer = await send(url + path, { headers, headOnly: true, ...request });
		expect(answer.headers).toMatchObject({
			"x-content-type-options": "nosniff",
			"content-security-policy": "default-src 'none'; frame-ancestors 'none'",
			"referrer-policy": "no-referrer",
			"cache-control": expect.stringMatching(/^no-store/),
			"cross-origin-resource-policy": "same-origin",
		});
		expect(answer.headers).not.toHaveProperty("x-powered-by");
		expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
	}
});

test("pipelined and truncated requests do no harm", async () => {
	const running = await start();
	const one = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${initialize.length}\r\n\r\n${initialize}`;
	const smuggled = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${one}`;
	expect(await raw(running, [smuggled])).toMatch(/^HTTP\/1\.1 400 /);
	expect(await raw(running, [`${ping}\r\n\r\n`])).toMatch(/^HTTP\/1\.1 400 /);
	await isWell(running);
	expect(running.policySource.listeners()).toBe(0);
});
