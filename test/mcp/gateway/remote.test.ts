import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { serveRemote } from "../../../src/mcp/gateway/remote.ts";
import { patience } from "../../support/patience.ts";
import type { Json } from "./in-memory-gateway.ts";

interface Received {
	readonly request: IncomingMessage;
	readonly response: ServerResponse;
	/** Of a POST. */
	readonly message: Json;
}

/** A gateway to a server on loopback that is the test itself, and the host before it. */
async function remoteGateway(handle: (received: Received) => void) {
	const seen: string[] = [];
	const server = createServer(async (request, response) => {
		const body = await text(request);
		seen.push(`${request.method} ${request.url}`);
		handle({ request, response, message: body === "" ? {} : JSON.parse(body) });
	}).listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	const { port } = server.address() as AddressInfo;
	const [input, output] = [new PassThrough(), new PassThrough()];
	let written = "";
	output.on("data", (piece: Buffer) => {
		written += piece.toString();
	});
	const layers = [{ preset: "balanced" as const }];
	const shared = {
		policy: resolvePolicy(layers),
		layers,
		archive: undefined,
		owner: "server",
		recall: "tool" as const,
	};
	const ended = serveRemote(
		new URL(`http://127.0.0.1:${port}/mcp`),
		{ input, output },
		{ ...shared, choice: { only: [], except: [] }, recallCommand: "palimpsest recall", log: () => {}, headers: {} },
	);
	onTestFinished(async () => {
		input.end();
		await ended;
		server.close();
		server.closeAllConnections();
	});
	const lines = () =>
		written
			.split("\n")
			.slice(0, -1)
			.map((line) => JSON.parse(line));
	return {
		address: `http://127.0.0.1:${port}`,
		/** Methods and paths of all requests. */
		seen,
		lines,
		send: (message: Json) => void input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`),
		async answer(message: Json): Promise<Json> {
			input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
			await expect.poll(() => lines().some(({ id }) => id === message.id), patience).toBe(true);
			return lines().find(({ id }) => id === message.id);
		},
	};
}

const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "host", version: "1" } };
const initialize = (id = 0) => ({ id, method: "initialize", params });
const json = (response: ServerResponse, value: Json, headers = {}) =>
	response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
const initializedAs = ({ message }: Received) => ({
	jsonrpc: "2.0",
	id: message.id,
	result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } },
});
const stream = { "content-type": "text/event-stream" };
const unknownSession = { jsonrpc: "2.0", id: null, error: { code: -32_001, message: "Session not found" } };

describe("redirects without end", () => {
	it.each([
		["in a circle", (path: string) => (path === "/mcp" ? "/mcp/" : "/mcp")],
		["on and on", (path: string) => `${path}x`],
	])("%s become an error that names both addresses", async (_how, next) => {
		const { answer, seen, address } = await remoteGateway(({ request, response }) => {
			response.writeHead(308, { location: next(request.url ?? "") }).end();
		});
		const { error } = (await answer(initialize())) as { error: { message: string } };
		const places = error.message.match(/http:\S+\/mcp\S*/g) ?? [];
		expect(places).toHaveLength(2);
		expect(places[0]?.startsWith(`${address}/mcp`)).toBe(true);
		expect(seen.length).toBeLessThan(10);
	});

	it("change the address of later requests only where they are for good, and messages are taken there", async () => {
		for (const [status, then] of [
			[307, "/mcp"],
			[308, "/moved"],
		] as const) {
			let isMoved = true;
			const { answer, seen } = await remoteGateway((received) => {
				const { response, request } = received;
				if (request.method === "GET") response.writeHead(307, { location: "/docs" }).end();
				else if (isMoved && request.url === "/mcp") response.writeHead(status, { location: "/moved" }).end();
				else json(response, initializedAs(received));
			});
			expect(await answer(initialize(0))).toHaveProperty("result");
			isMoved = false;
			expect(await answer(initialize(1))).toHaveProperty("result");
			expect(seen.at(-1)).toBe(`POST ${then}`);
		}
	});

	it("do not change the address of later requests", async () => {
		let isMoved = true;
		const { answer, seen } = await remoteGateway((received) => {
			const { response, request } = received;
			if (isMoved) response.writeHead(307, { location: `${request.url}x` }).end();
			else json(response, initializedAs(received));
		});
		await answer(initialize(0));
		isMoved = false;
		expect(await answer(initialize(1))).toHaveProperty("result");
		expect(seen.at(-1)).toBe("POST /mcp");
	});
});

describe("the place for messages, of HTTP with SSE", () => {
	it.each(["http://[", "http://a b", "javascript:alert(1)", "", "http://127.0.0.1:1/x"])(
		"that cannot be used is an error: %j",
		async (place) => {
			const { answer } = await remoteGateway(({ request, response }) => {
				if (request.method === "POST") return void response.writeHead(405).end();
				response.writeHead(200, stream).write(`event: endpoint\ndata: ${place}\n\n`);
			});
			expect(await answer(initialize())).toHaveProperty("error");
		},
	);
});

describe("a session that the server has ended", () => {
	/** Forgets its sessions when `restart` is called. `inStream`: it answers in streams. */
	async function forgetful({ inStream = false, begins = (): boolean => true } = {}) {
		let sessions = 0;
		let current: string | undefined;
		const asked: string[] = [];
		const gateway = await remoteGateway((received) => {
			const { request, response, message } = received;
			const session = request.headers["mcp-session-id"];
			if (request.method !== "POST") return void response.writeHead(405).end();
			asked.push(`${message.method} ${session ?? "-"}`);
			const answer = (value: Json, headers = {}) => {
				if (!inStream) return json(response, value, headers);
				return response.writeHead(200, { ...stream, ...headers }).end(`data: ${JSON.stringify(value)}\n\n`);
			};
			if (message.method === "initialize" && session === undefined) {
				if (!begins()) return void response.writeHead(503).end();
				sessions += 1;
				current = `s-${sessions}`;
				return void answer(initializedAs(received), { "mcp-session-id": current });
			}
			if (session !== current) return void response.writeHead(404).end(JSON.stringify(unknownSession));
			if (message.id === undefined) return void response.writeHead(202).end();
			return void answer({ jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text: session }] } });
		});
		await gateway.answer(initialize());
		gateway.send({ method: "notifications/initialized" });
		const call = async (id: number) =>
			(await gateway.answer({ id, method: "tools/call", params: { name: "x" } })) as Json;
		await call(1);
		return {
			...gateway,
			call,
			asked,
			restart() {
				current = "none";
				asked.length = 0;
			},
		};
	}
	const resultOf = (session: string) => ({ result: { content: [{ type: "text", text: session }] } });

	it.each([false, true])("is begun anew, and the call is repeated once; answers in streams: %j", async (inStream) => {
		const { call, asked, restart, lines } = await forgetful({ inStream });
		restart();
		expect(await call(2)).toMatchObject(resultOf("s-2"));
		expect(await call(3)).toMatchObject(resultOf("s-2"));
		expect(asked).toEqual([
			"tools/call s-1",
			"initialize -",
			"notifications/initialized s-2",
			"tools/call s-2",
			"tools/call s-2",
		]);
		expect(lines().map(({ id }) => id)).toEqual([0, 1, 2, 3]);
	});

	it("is begun anew once for calls at the same time", async () => {
		const { call, asked, restart } = await forgetful();
		restart();
		const answers = await Promise.all([2, 3, 4].map(call));
		for (const answer of answers) expect(answer).toMatchObject(resultOf("s-2"));
		expect(asked.filter((one) => one.startsWith("initialize"))).toHaveLength(1);
	});

	it("and cannot be begun anew is an error", async () => {
		let begins = true;
		const { call, restart } = await forgetful({ begins: () => begins });
		begins = false;
		restart();
		const { error } = (await call(2)) as { error: { message: string } };
		expect(error.message).toMatch(/HTTP status 404\. Its session has ended/);
	});
});
