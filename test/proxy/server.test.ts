import { once } from "node:events";
import { Agent, request as sendRequest } from "node:http";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { send, startProxyTo, startUpstream, until } from "./upstream.ts";

/** Writes bytes as they are, and answers with the first that come back. */
async function raw(port: number, text: string): Promise<string> {
	const socket = connect(port, "127.0.0.1");
	socket.on("error", () => {});
	socket.write(text);
	const [answer] = await once(socket, "data");
	socket.destroy();
	return String(answer);
}

function linesOf(headers: readonly string[]): string {
	return headers.map((one, index) => (index % 2 === 0 ? `${one}: ` : `${one}\r\n`)).join("");
}

describe("a request that the proxy does not edit", () => {
	it.each([
		["HEAD", "/", ""],
		["GET", "/v1/models?limit=1000", ""],
		["POST", "/v1/embeddings", '{"input": "a  text"}'],
		["DELETE", "/v1/files/file-1", ""],
		["POST", "/v1/responses", '{ "input": "only a string",\n "model": "m" }'],
		["POST", "/v1/messages?beta=true", "no JSON at all"],
		["POST", "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", '{"contents":[]}'],
	])("reaches the upstream unedited: %s %s", async (method, path, body) => {
		const upstream = await startUpstream((_, response) => response.writeHead(201, { "X-Kept": "Yes" }).end("answer"));
		const proxy = await startProxyTo(upstream.url);
		const headers = { "X-Odd-Case": "1", Authorization: "Bearer key", "Content-Length": String(body.length) };
		const got = await send(proxy.url, { method, path, headers, body });
		expect(got.status).toBe(201);
		expect(got.rawHeaders).toContain("X-Kept");
		expect(got.body.toString()).toBe(method === "HEAD" ? "" : "answer");
		const [received] = upstream.received;
		expect(received).toMatchObject({ method, path });
		expect(received?.body.toString()).toBe(body);
		expect(received?.rawHeaders).toEqual(expect.arrayContaining(["X-Odd-Case", "Authorization"]));
		expect(received?.headers.host).toBe(new URL(upstream.url).host);
	});

	it("loses its hop-by-hop headers and those that Connection names, and keeps repeated ones", async () => {
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, [
				"Connection",
				"X-Answer-Hop",
				"X-Answer-Hop",
				"1",
				"Set-Cookie",
				"a",
				"Set-Cookie",
				"b",
			]);
			response.end();
		});
		const proxy = await startProxyTo(upstream.url);
		const { host } = new URL(proxy.url);
		const hops = ["Connection", "X-Hop", "X-Hop", "1", "TE", "trailers", "Proxy-Authorization", "secret"];
		const headers = ["Host", host, ...hops, "X-Twice", "a", "X-Twice", "b"];
		const got = await send(proxy.url, { path: "/v1/models", headers });
		expect(upstream.received[0]?.headers).not.toHaveProperty("x-hop");
		expect(upstream.received[0]?.headers).not.toHaveProperty("te");
		expect(upstream.received[0]?.headers).not.toHaveProperty("proxy-authorization");
		expect(upstream.received[0]?.headers["x-twice"]).toBe("a, b");
		expect(got.headers).not.toHaveProperty("x-answer-hop");
		expect(got.headers["set-cookie"]).toEqual(["a", "b"]);
	});

	it("uses the connection of the one before to its upstream again", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		for (let time = 0; time < 5; time += 1) {
			await send(proxy.url, { method: "POST", path: "/v1/messages", body: "{}" });
		}
		expect(upstream.received).toHaveLength(5);
		expect(upstream.connections()).toBe(1);
	});

	it("is sent once more when the upstream closes a connection just as it is used again", async () => {
		const upstream = await startUpstream((received, response) => {
			const isSecond = upstream.received.length === 2;
			if (isSecond) response.socket?.resetAndDestroy();
			else response.end(received.path);
		});
		const proxy = await startProxyTo(upstream.url);
		const request = { method: "POST", path: "/v1/messages", body: "{}" };
		for (let time = 0; time < 2; time += 1) expect((await send(proxy.url, request)).status).toBe(200);
		expect(upstream.received).toHaveLength(3);
	});

	it.each([
		["GET", 200, 3],
		["POST", 502, 2],
	])(
		"of the method %s gets %i if the upstream left bytes on the connection that belong to no answer",
		async (method, status, count) => {
			const upstream = await startUpstream((received, response) => {
				if (upstream.received.length === 2) response.socket?.end("left over\r\n\r\n");
				else response.end(received.path);
			});
			const proxy = await startProxyTo(upstream.url);
			const body = method === "POST" ? { body: "{}" } : {};
			expect((await send(proxy.url, { method: "GET", path: "/v1/models" })).status).toBe(200);
			expect((await send(proxy.url, { method, path: "/v1/models", ...body })).status).toBe(status);
			expect(upstream.received).toHaveLength(count);
		},
	);

	it("without content is sent once more after a reset, and a body that streams is not", async () => {
		const upstream = await startUpstream((received, response) => {
			if (upstream.received.length % 2 === 0) response.socket?.resetAndDestroy();
			else response.end(received.path);
		});
		const proxy = await startProxyTo(upstream.url);
		const models = { method: "GET", path: "/v1/models" };
		for (let time = 0; time < 2; time += 1) expect((await send(proxy.url, models)).status).toBe(200);
		expect(upstream.received).toHaveLength(3);
		expect((await send(proxy.url, { method: "POST", path: "/v1/files", body: "{}" })).status).toBe(502);
		expect(upstream.received.map(({ path }) => path)).toEqual([...Array(3).fill("/v1/models"), "/v1/files"]);
	});

	it("gets a redirect passed back, not followed", async () => {
		const upstream = await startUpstream((_, response) => response.writeHead(307, { Location: "/elsewhere" }).end());
		const proxy = await startProxyTo(upstream.url);
		const got = await send(proxy.url, { path: "/v1/models" });
		expect([got.status, got.headers.location]).toEqual([307, "/elsewhere"]);
		expect(upstream.received).toHaveLength(1);
	});

	it("is sent after the path of its upstream, with the version once", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url, { upstreams: { openai: `${upstream.url}/gateway/v1` } });
		await send(proxy.url, { path: "/v1/models" });
		await send(proxy.url, { path: "/models" });
		expect(upstream.received.map(({ path }) => path)).toEqual(["/gateway/v1/models", "/gateway/v1/models"]);
	});
});

describe("an answer", () => {
	it("arrives piece by piece as the upstream sends it", async () => {
		const pieces: (() => void)[] = [];
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, { "Content-Type": "text/event-stream" });
			response.flushHeaders();
			for (const piece of ["data: 1\n\n", "data: 2\n\n"]) pieces.push(() => response.write(piece));
			pieces.push(() => response.end());
		});
		const proxy = await startProxyTo(upstream.url);
		const request = sendRequest(`${proxy.url}/v1/messages`, { method: "POST" });
		request.end("{}");
		const [response] = await once(request, "response");
		expect(response.headers["content-type"]).toBe("text/event-stream");
		let text = "";
		response.on("data", (piece: Buffer) => {
			text += piece;
		});
		pieces.shift()?.();
		await until(() => text === "data: 1\n\n");
		pieces.shift()?.();
		await until(() => text === "data: 1\n\ndata: 2\n\n");
		pieces.shift()?.();
		await once(response, "end");
	});

	it("is cancelled at the upstream when the client leaves", async () => {
		const upstream = await startUpstream((_, response) => void response.write("data: 1\n\n"));
		const proxy = await startProxyTo(upstream.url);
		const request = sendRequest(`${proxy.url}/v1/messages`, { method: "POST" });
		request.on("error", () => {});
		request.end("{}");
		await once(request, "response");
		request.destroy();
		await until(() => upstream.left.length === 1);
	});

	it("is cancelled before its head arrives when the client leaves", async () => {
		const upstream = await startUpstream(() => {});
		const proxy = await startProxyTo(upstream.url);
		const request = sendRequest(`${proxy.url}/v1/messages`, { method: "POST" });
		request.on("error", () => {});
		request.end("{}");
		await until(() => upstream.received.length === 1);
		request.destroy();
		await until(() => upstream.left.length === 1);
	});

	it("that breaks off at the upstream breaks off at the client", async () => {
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, { "Content-Length": "100" });
			response.write("half");
			setTimeout(() => response.destroy(), 20);
		});
		const proxy = await startProxyTo(upstream.url);
		await expect(send(proxy.url, { method: "POST", path: "/v1/messages", body: "{}" })).rejects.toThrow("aborted");
		await expect(send(proxy.url, { path: "/v1/models" })).rejects.toThrow("aborted");
	});
});

describe("the end of the proxy", () => {
	/** A proxy that passes on the first of two pieces of an answer, and what sends the second. */
	async function startStreaming() {
		let end = (): void => {};
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, { "Content-Type": "text/event-stream" });
			response.write("data: 1\n\n");
			end = () => void response.end("data: 2\n\n");
		});
		const proxy = await startProxyTo(upstream.url);
		const request = sendRequest(`${proxy.url}/v1/messages`, { method: "POST", agent: new Agent({ keepAlive: true }) });
		request.end("{}");
		const [response] = await once(request, "response");
		let text = "";
		response.on("data", (piece: Buffer) => {
			text += piece;
		});
		await until(() => text !== "");
		response.on("error", () => {});
		const ended = new Promise<string>((resolve) => {
			response.on("close", () => resolve(response.complete ? text : "broken"));
		});
		return { upstream, proxy, ended, end: () => end() };
	}

	it("lets an answer end that is under way, and takes no more requests", async () => {
		const { upstream, proxy, ended, end } = await startStreaming();
		const socket = connect(proxy.port, "127.0.0.1");
		await once(socket, "connect");
		socket.on("error", () => {});
		// It has begun a request, so it is no idle connection.
		socket.write("POST /v1/messages HTTP/1.1\r\n");
		await send(proxy.url, { path: "/palimpsest/healthz" });
		const closed = proxy.close({ answersMs: 60_000 });
		expect((await send(proxy.url, { path: "/v1/models" })).status).toBe(503);
		const ready = await send(proxy.url, { path: "/readyz" });
		expect([ready.status, JSON.parse(ready.body.toString())]).toEqual([
			503,
			{ status: "not_ready", reason: "shutting_down" },
		]);
		socket.write("Host: localhost\r\nContent-Length: 2\r\n\r\n{}");
		const [refusal] = await once(socket, "data");
		expect(String(refusal)).toMatch(/^HTTP\/1\.1 503 [\s\S]*palimpsest proxy: It is ending/);
		end();
		await closed;
		expect(await ended).toBe("data: 1\n\ndata: 2\n\n");
		expect(upstream.received).toHaveLength(1);
	});

	it("takes requests for a moment more where a balancer asks whether they can come", async () => {
		const { upstream, proxy, end } = await startStreaming();
		end();
		for (const _ of [1, 2]) expect((await send(proxy.url, { path: "/palimpsest/readyz" })).status).toBe(200);
		const closed = proxy.close({ answersMs: 60_000, noticeMs: 200 });
		expect((await send(proxy.url, { path: "/readyz" })).status).toBe(503);
		const late = send(proxy.url, { path: "/v1/models" });
		await until(() => upstream.received.length === 2);
		end();
		expect((await late).status).toBe(200);
		await closed;
		await expect(send(proxy.url, { path: "/readyz" })).rejects.toThrow();
	});

	it.each([undefined, { answersMs: 1 }])(
		"breaks off an answer that goes on after the time given: %j",
		async (given) => {
			const { proxy, ended } = await startStreaming();
			await proxy.close(given);
			expect(await ended).toBe("broken");
		},
	);
});

describe("the proxy", () => {
	it("answers a WebSocket with 426", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		const socket = connect(proxy.port, "127.0.0.1");
		const { host } = new URL(proxy.url);
		socket.write(`GET /v1/responses HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
		const [head] = await once(socket, "data");
		expect(String(head)).toMatch(/^HTTP\/1\.1 426 /);
		expect(upstream.received).toEqual([]);
	});

	it.each([
		["a foreign Host", ["Host", "evil.example"], 403],
		["two Hosts", ["Host", "127.0.0.1", "Host", "localhost"], 400],
		["a foreign Origin", ["Host", "127.0.0.1", "Origin", "https://evil.example"], 403],
		["an Origin of null", ["Host", "127.0.0.1", "Origin", "null"], 403],
		["another site's image", ["Host", "127.0.0.1", "Sec-Fetch-Site", "cross-site"], 403],
		["a Host with a name before it", ["Host", "evil.example@localhost"], 403],
		["a Host with a query", ["Host", "localhost?x"], 403],
		["a Host with a fragment", ["Host", "localhost#x"], 403],
		["a Host with a backslash", ["Host", "localhost\\x"], 403],
		["a Host with a path", ["Host", "localhost/x"], 403],
		["a Host with a tab", ["Host", "loc\talhost"], 403],
		["a Host in percent-encoding", ["Host", "%6cocalhost"], 403],
		["Connection: content-length", ["Host", "127.0.0.1", "Connection", "Content-Length"], 400],
		["Connection: close, transfer-encoding", ["Host", "127.0.0.1", "Connection", "close, Transfer-Encoding"], 400],
		["two transfer encodings", ["Host", "127.0.0.1", "Transfer-Encoding", "gzip, chunked"], 501],
	])("refuses %s", async (_, headers, status) => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		for (const path of ["/v1/models", "/palimpsest/status"]) {
			expect(
				/^HTTP\/1\.1 (\d+)/.exec(await raw(proxy.port, `GET ${path} HTTP/1.1\r\n${linesOf(headers)}\r\n`))?.[1],
			).toBe(`${status}`);
		}
		expect(upstream.received).toEqual([]);
	});

	it("closes a connection with endless headers, and waits for a body", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url, { headersMilliseconds: 40 });
		const slow = sendRequest(`${proxy.url}/v1/messages`, { method: "POST", headers: { "Content-Length": "2" } });
		slow.write("{");
		const endless = `GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-More: 1\r\n`;
		expect(await raw(proxy.port, endless)).toMatch(/^HTTP\/1\.1 408 /);
		slow.end("}");
		const [response] = await once(slow, "response");
		expect(response.statusCode).toBe(200);
		response.resume();
	});

	it.each([
		...["GET", "HEAD", "DELETE", "OPTIONS"].map((method) => [method, "content-length"] as const),
		...["GET", "HEAD", "DELETE", "OPTIONS"].map((method) => [method, "transfer-encoding"] as const),
	])("sends the body of a %s framed by %s on as a body", async (method, framing) => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		const body = "POST /v1/second HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
		const framed =
			framing === "content-length"
				? `Content-Length: ${body.length}\r\n\r\n${body}`
				: `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
		expect(await raw(proxy.port, `${method} /v1/files/x HTTP/1.1\r\nHost: localhost\r\n${framed}`)).toMatch(
			/^HTTP\/1\.1 200 /,
		);
		await send(proxy.url, { path: "/v1/models" });
		expect(upstream.received.map(({ path, body: got }) => [path, got.toString()])).toEqual([
			["/v1/files/x", body],
			["/v1/models", ""],
		]);
	});

	it("ends a request at the upstream if its answer came before the end of its body, and reads on for the client", async () => {
		const upstream = createServer();
		const ended = new Promise<void>((resolve) => {
			upstream.on("connection", (socket) => {
				socket.once("data", () => socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"));
				socket.on("error", () => {}).on("close", () => resolve());
			});
		});
		await once(upstream.listen(0, "127.0.0.1"), "listening");
		const proxy = await startProxyTo(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
		const request = sendRequest(`${proxy.url}/v1/files`, { method: "POST" });
		request.write("x".repeat(100_000));
		const [response] = await once(request, "response");
		expect(response.statusCode).toBe(413);
		response.resume();
		await ended;
		request.end("x".repeat(1_000_000));
		await once(request, "close");
		upstream.close();
	});

	it("reads a body in pieces of a byte like any other", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		const body = `{"messages":[{"role":"user","content":"${"x".repeat(10_000)}"}]}`;
		for (const path of ["/v1/messages", "/v1/files"]) {
			const pieces = body.replace(/./g, (letter) => `1\r\n${letter}\r\n`);
			const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n`;
			expect(await raw(proxy.port, `${head}${pieces}0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
			expect(upstream.received.at(-1)?.body.toString()).toBe(body);
		}
	});

	it.each([
		["text/html", "sandbox"],
		["image/svg+xml", "sandbox"],
		["multipart/x-mixed-replace; boundary=x", "sandbox"],
		["application/json, text/html", "sandbox"],
		[["application/json", "text/html"], "sandbox"],
		[undefined, "sandbox"],
		["application/json; charset=utf-8", undefined],
		["application/problem+json", undefined],
		["text/event-stream", undefined],
	])("gives an answer of the type %j another origin than its own pages: %s", async (type, policy) => {
		const upstream = await startUpstream((_, response) => {
			if (type !== undefined) response.setHeader("Content-Type", type);
			response.end("<script>fetch('/palimpsest/status')</script>");
		});
		const proxy = await startProxyTo(upstream.url);
		const { headers } = await send(proxy.url, { path: "/v1/files/file-1/content" });
		expect(headers["content-security-policy"]).toBe(policy);
	});

	it("takes its upstreams from no request: an absolute target is refused, and an API without one is not found", async () => {
		const upstream = await startUpstream();
		const other = await startUpstream();
		const proxy = await startProxyTo(upstream.url, { upstreams: { anthropic: upstream.url } });
		expect((await send(proxy.url, { path: `${other.url}/v1/models` })).status).toBe(400);
		const body = '{"messages":[]}';
		expect((await send(proxy.url, { method: "POST", path: "/v1/chat/completions", body })).status).toBe(404);
		expect([...upstream.received, ...other.received]).toEqual([]);
	});

	it.each([
		["200 O\u0001K", 200, "{}"],
		["099 OK", 502, /HPE_INVALID_STATUS/],
	])("passes on an answer that begins with %j, or says why it cannot", async (head, status, body) => {
		const upstream = await startUpstream((_, { socket }) =>
			socket?.end(`HTTP/1.1 ${head}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`),
		);
		const proxy = await startProxyTo(upstream.url);
		const got = await send(proxy.url, { path: "/v1/models" });
		expect(got.status).toBe(status);
		expect(got.body.toString()).toMatch(body);
	});

	it("answers 502 and says why when the upstream is away", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		await upstream.close();
		const got = await send(proxy.url, { method: "POST", path: "/v1/messages", body: "{}" });
		expect(got.status).toBe(502);
		expect(got.body.toString()).toContain("ECONNREFUSED");
	});

	it.each([
		["no upstream", {}],
		["a file", { openai: "file:///etc/passwd" }],
		["a password", { openai: "https://me:secret@api.example" }],
		["a password without a user", { openai: "https://:secret@api.example" }],
		["a user", { openai: "https://me@api.example" }],
		["a query", { openai: "https://api.example/v1?key=1" }],
	])("refuses %s as its upstreams", async (_, upstreams) => {
		await expect(startProxyTo("", { upstreams })).rejects.toMatchObject({ code: "invalid_argument" });
	});
});
