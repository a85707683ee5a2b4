import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { send, startProxyTo, startUpstream } from "./upstream.ts";

const asked = [
	["anthropic", "/v1/messages"],
	["openai", "/v1/chat/completions"],
	["openai", "/v1/responses"],
	["gemini", "/v1beta/models/gemini-4-pro:streamGenerateContent?alt=sse"],
	["bedrock", "/model/anthropic.claude-opus-5-5/converse"],
	["vertex", "/v1/projects/p/locations/global/publishers/anthropic/models/claude-opus-5-5:rawPredict"],
] as const;

const messageIn = (body: Buffer): string => {
	const value = JSON.parse(body.toString());
	return value.error?.message ?? value.message;
};

describe("an answer of the proxy itself", () => {
	it.each(asked)("has the shape of errors of %s: %s", async (upstream, path) => {
		// No DNS server knows a name in `invalid` (RFC 6761).
		const proxy = await startProxyTo("", { upstreams: { [upstream]: "http://nobody.invalid" } });
		const { status, headers, body } = await send(proxy.url, { method: "POST", path, body: '{"messages":[]}' });
		expect([status, headers["content-type"]]).toEqual([502, "application/json"]);
		const value = JSON.parse(body.toString());
		const message = expect.stringMatching(
			/^palimpsest proxy: The upstream of \w+ cannot be reached \((?:ENOTFOUND|EAI_AGAIN)\)/,
		);
		expect(value).toEqual(
			{
				anthropic: { type: "error", error: { type: "api_error", message } },
				vertex: { type: "error", error: { type: "api_error", message } },
				openai: { error: { message, type: "server_error", param: null, code: "palimpsest_proxy" } },
				gemini: { error: { code: 502, message, status: "UNAVAILABLE" } },
				bedrock: { message },
			}[upstream],
		);
	});

	it("says that no retry helps where the certificate of the upstream is not trusted, and where it speaks no TLS", async () => {
		const plain = await startUpstream();
		const proxy = await startProxyTo(plain.url.replace("http:", "https:"));
		const { status, headers } = await send(proxy.url, { method: "POST", path: "/v1/messages", body: "{}" });
		expect([status, headers["x-should-retry"]]).toEqual([502, "false"]);
	});

	it.each([
		["a path without an upstream", { path: "/v1/chat/completions" }, 404],
		["a foreign Host", { path: "/v1/messages", headers: { Host: "evil.example" } }, 403],
		[
			"a transfer encoding that it does not read",
			{ path: "/v1/messages", headers: { "Transfer-Encoding": "gzip, chunked" } },
			501,
		],
	])("says so for %s", async (_, request, status) => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo("", { upstreams: { anthropic: upstream.url } });
		const got = await send(proxy.url, { method: "POST", ...request });
		expect([got.status, got.headers["x-should-retry"]]).toEqual([status, "false"]);
		expect(messageIn(got.body)).toMatch(/^palimpsest proxy: /);
	});

	it("says so for a defect of the proxy", async () => {
		const upstream = await startUpstream();
		let isBroken = false;
		const upstreams = {
			get anthropic() {
				if (isBroken) throw new TypeError("a defect");
				return upstream.url;
			},
		};
		const proxy = await startProxyTo("", { upstreams });
		isBroken = true;
		const got = await send(proxy.url, { method: "POST", path: "/v1/messages", body: '{"messages":[]}' });
		expect([got.status, got.headers["x-should-retry"]]).toEqual([502, "false"]);
		expect(messageIn(got.body)).toMatch(/defect/);
	});

	it("lets a client ask again after a refused or a reset connection", async () => {
		const upstream = await startUpstream((_, response) => void response.socket?.resetAndDestroy());
		const proxy = await startProxyTo(upstream.url);
		const request = { method: "POST", path: "/v1/messages", body: "{}" };
		for (const code of ["ECONNRESET", "ECONNREFUSED"]) {
			const { status, headers, body } = await send(proxy.url, request);
			expect([status, headers["x-should-retry"]]).toEqual([502, undefined]);
			expect(messageIn(body)).toContain(code);
			await upstream.close();
		}
	});
});

describe("a POST whose connection is reset", () => {
	/** Answers the first request, then writes the start of an answer to each and resets its connection. */
	async function startBreaking(start: string) {
		let requests = 0;
		const server = createServer((request, response) => {
			requests += 1;
			request.resume();
			if (requests === 1) return void response.end("{}");
			const { socket } = response;
			socket?.write(start, () => setImmediate(() => socket.resetAndDestroy()));
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		onTestFinished(() => {
			server.closeAllConnections();
			return new Promise<void>((resolve) => server.close(() => resolve()));
		});
		return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
	}

	it.each(["HTTP/1.1 200 OK\r\nContent-Type: text/event-st", "HTTP/1.1 100 Continue\r\n\r\n"])(
		"is not sent again once its answer has begun: %j",
		async (start) => {
			const upstream = await startBreaking(start);
			const proxy = await startProxyTo(upstream.url);
			const request = { method: "POST", path: "/v1/messages", body: "{}" };
			expect((await send(proxy.url, request)).status).toBe(200);
			expect((await send(proxy.url, request)).status).toBe(502);
			expect(upstream.requests()).toBe(2);
		},
	);
});
