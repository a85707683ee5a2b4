import { connect as connectSocket, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { jsonHeaders, newerRequest, openSession, send } from "../mcp/http/harness.ts";
import { patience } from "../support/patience.ts";
import { poolServer } from "./pool-server.ts";

const megabyte = 1_000_000;

/** A conversation of which nothing is masked, so that the answer is as large: more than systems take for a reader. */
const messages = Array.from({ length: 7 }, (_, index) => ({ role: "user", content: `${index} `.repeat(megabyte / 2) }));
const params = { name: "mask_conversation", arguments: { messages } };
const call = (id: number) => JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });

/** A client that sends a request and reads nothing of what comes. */
function neverReads(
	port: number,
	request: { method: string; path?: string; body?: string; session?: string; headers?: Record<string, string> },
): Socket {
	const { method, path = "/mcp", body = "", session } = request;
	const socket = connectSocket(port, "127.0.0.1");
	socket.on("error", () => {});
	const headers = {
		Host: `127.0.0.1:${port}`,
		...(request.headers ?? jsonHeaders),
		...(session === undefined ? {} : { "Mcp-Session-Id": session }),
		"Content-Length": Buffer.byteLength(body),
	};
	const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
	socket.write(`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n${body}`);
	onTestFinished(() => void socket.destroy());
	return socket;
}

/** Whether the server has hung up: only who reads on gets to see that. */
async function isHungUp(socket: Socket): Promise<boolean> {
	const isWhole = new Promise<boolean>((resolve) => {
		let text = "";
		let left: number | undefined;
		socket.on("data", (chunk: Buffer) => {
			const piece = chunk.toString("latin1");
			const [head = "", length] = /^[\s\S]*?content-length: (\d+)[\s\S]*?\r\n\r\n/i.exec(piece.slice(0, 2_000)) ?? [];
			if (length !== undefined) left = Number(length) + head.length;
			if (left !== undefined) left -= chunk.length;
			text = (text + piece).slice(-5);
			// The end of a body of known length, or of one in chunks.
			if (left === 0 || text === "0\r\n\r\n") resolve(true);
		});
		socket.on("close", () => resolve(false));
	});
	return !(await isWhole);
}

const roomy = { bytesOfOne: 100 * megabyte, bytesOfAll: 1_000 * megabyte, stallMilliseconds: 60_000 };

it.each([
	["with sessions", false],
	["in revision 2026-07-28", "newer"],
] as const)("%s, an answer that the client does not read is dropped after a while", async (_what, how) => {
	const { port, url, ends } = await poolServer(
		{ threads: 1 },
		{ isStateless: false, unreadLimits: { ...roomy, stallMilliseconds: 300 } },
	);
	const session = how === false ? { session: await openSession(url) } : {};
	const request = how === "newer" ? newerRequest("tools/call", params) : { method: "POST", body: call(1) };
	const socket = neverReads(port, { ...request, ...session });
	await expect.poll(() => ends.length, patience).toBe(1);
	await new Promise((resolve) => setTimeout(resolve, 1_500));
	expect(await isHungUp(socket)).toBe(true);
});

it("an answer that is read late arrives complete", async () => {
	const { port, ends } = await poolServer(
		{ threads: 1 },
		{ isStateless: true, unreadLimits: { ...roomy, stallMilliseconds: 20_000 } },
	);
	const socket = neverReads(port, { method: "POST", body: call(1) });
	await expect.poll(() => ends.length, patience).toBe(1);
	expect(await isHungUp(socket)).toBe(false);
	expect(ends[0]?.bytesOut).toBeGreaterThan(7 * megabyte);
});

it("unread data of all clients together is bounded, and clients that read get answers", async () => {
	const { port, url, ends } = await poolServer(
		{ threads: 1 },
		{ isStateless: true, unreadLimits: { ...roomy, bytesOfAll: 10 * megabyte } },
	);
	const sockets = Array.from({ length: 6 }, (_, id) =>
		neverReads(port, { method: "POST", path: "/mcp", body: call(id) }),
	);
	await expect.poll(() => ends.length, patience).toBe(6);
	const { status, text } = await send(`${url}/mcp`, { method: "POST", headers: jsonHeaders, body: call(7) });
	expect(status).toBe(200);
	expect(text.length).toBeGreaterThan(7 * megabyte);
	const hungUp = await Promise.all(sockets.map(isHungUp));
	// Two have not read more than systems hold for them; a third would be over the bound.
	expect(hungUp.filter(Boolean).length).toBeGreaterThanOrEqual(3);
});

it("the stream of the older transport is closed with its session when too much data is unread", async () => {
	const { port, url, ends } = await poolServer(
		{ threads: 1 },
		{ unreadLimits: { ...roomy, bytesOfOne: 12 * megabyte } },
	);
	const stream = neverReads(port, { method: "GET", path: "/sse" });
	const [first] = await new Promise<[string]>((resolve) => {
		stream.once("readable", () => resolve([String(stream.read())]));
	});
	const [path = ""] = /\/messages\?sessionId=\S+/.exec(first) ?? [];
	const post = (id: number) => send(`${url}${path}`, { method: "POST", headers: jsonHeaders, body: call(id) });
	let taken = 0;
	for (let status = 202; status === 202 && taken < 20; taken += 1) {
		({ status } = await post(taken));
		await expect.poll(() => ends.length, patience).toBeGreaterThanOrEqual(status === 202 ? taken + 1 : 0);
	}
	expect(taken).toBeGreaterThan(1);
	expect(taken).toBeLessThan(8);
	expect(await isHungUp(stream)).toBe(true);
});
