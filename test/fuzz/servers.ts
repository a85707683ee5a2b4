import { once } from "node:events";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import { serveHttp } from "../../src/mcp/http/server.ts";
import { createServer } from "../../src/mcp/server.ts";
import { createStdioTransport } from "../../src/mcp/stdio-transport.ts";
import type { PolicySource } from "../../src/operations/config/config.ts";
import { startProxy } from "../../src/proxy/server.ts";
import { createArchiveSource } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { drawDocument } from "./documents.ts";
import { drawChanges, drawTextChanges, oddTexts, oddValues } from "./mutations.ts";
import { require, requireSame } from "./oracles.ts";
import { between, chance, listOf, pick, type Random, type Target } from "./target.ts";

const policySource: PolicySource = {
	current: () => policyOf(),
	layers: () => [],
	file: () => null,
	found: () => null,
	onChange: () => () => {},
	close() {},
};
const log = () => {};
const archive = createArchiveSource({ location: { where: "memory", namespace: "default" }, policy: () => policyOf() });

/** Tools with arguments that they take. */
const calls: Readonly<Record<string, (random: Random, document: unknown) => Record<string, unknown>>> = {
	mask_conversation: (random, messages) => ({ messages, policy: { mask: { window_turns: between(random, 0, 2) } } }),
	guard_context: (random, messages) => ({ messages, context_window: between(random, 1, 4_000), reserve_tokens: 0 }),
	compact_conversation: (_, messages) => ({ messages, force: true, strategy: "tool-result-hiding" }),
	truncate_output: (random, document) => ({ text: JSON.stringify(document), max_chars: between(random, 0, 500) }),
	recall_original: (random) => ({ ref: pick(random, ["7dhy1x8k", ...oddTexts]), grep: pick(random, oddTexts) }),
	wat: () => ({}),
};
const methods = [
	"tools/list",
	"resources/list",
	"prompts/list",
	"resources/templates/list",
	"logging/setLevel",
	"ping",
	"wat",
];

const initialize = {
	jsonrpc: "2.0",
	id: "begin",
	method: "initialize",
	params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "fuzz", version: "1" } },
};

/** A JSON-RPC message, most often one that a client may send, and whether neither it nor its document is spoiled. */
function drawMessage(random: Random, id: number): { readonly message: unknown; readonly isWellFormed: boolean } {
	const { document, isWellFormed } = drawDocument(random);
	const name = pick(random, Object.keys(calls));
	const messages = Array.isArray(document) ? document : [];
	const call = { name, arguments: calls[name]?.(random, messages) };
	const message = chance(random, 0.8)
		? { jsonrpc: "2.0", id, method: "tools/call", params: call }
		: { jsonrpc: "2.0", id, method: pick(random, methods), params: {} };
	const isSpoiled = chance(random, 0.5);
	if (isSpoiled) drawChanges(random, message, 2);
	return { message, isWellFormed: isWellFormed && !isSpoiled };
}

interface StdioCase {
	readonly lines: readonly { readonly line: string; readonly isWellFormed: boolean }[];
	/** Bytes in each piece of the input. */
	readonly piece: number;
}

/** Lines on standard input: after any of them the server answers. */
export const stdioLines: Target = {
	name: "stdio-lines",
	draw: (random): StdioCase => ({
		lines: listOf(random, [1, 4], (random) => random).map((draw, index) => {
			const { message, isWellFormed } = drawMessage(draw, index + 1);
			const line = JSON.stringify(message);
			if (!chance(draw, 0.2)) return { line, isWellFormed };
			const pieces = ["{", "}", '"id":', "\n", "\r", "\u0000", "[["];
			return { line: drawTextChanges(draw, line, pieces), isWellFormed: false };
		}),
		piece: pick(random, [1, 7, 100, 100_000]) + between(random, 0, 50),
	}),
	async check({ lines, piece }: StdioCase) {
		const [input, answers] = [new PassThrough(), new Map<unknown, Answer[]>()];
		let [text, isEnd] = ["", () => {}];
		const ended = new Promise<void>((resolve) => {
			isEnd = resolve;
		});
		const output = new Writable({
			write(chunk: Buffer, _encoding, done) {
				text += chunk.toString("utf8");
				const whole = text.split("\n");
				text = whole.pop() ?? "";
				for (const line of whole) {
					const answer = JSON.parse(line) as Answer;
					if (answer.id === undefined) continue;
					answers.set(answer.id, [...(answers.get(answer.id) ?? []), answer]);
					if (answer.id === "end") isEnd();
				}
				done();
			},
		});
		const server = createServer({ policySource, log, archive });
		await server.connect(createStdioTransport({ input, output, largestMessage: 1_000_000, onOversized: () => {} }));
		const end = { jsonrpc: "2.0", id: "end", method: "ping" };
		const all = [JSON.stringify(initialize), ...lines.map(({ line }) => line), JSON.stringify(end)];
		const bytes = Buffer.from(`${all.join("\n")}\n`);
		for (let start = 0; start < bytes.length; start += piece) input.write(bytes.subarray(start, start + piece));
		await ended;
		// Calls may be answered after the last line.
		const asked = idsOf(all.join("\n").split("\n"));
		const until = performance.now() + longestAnswerMs;
		while (asked.some((id) => !answers.has(id)) && performance.now() < until) await new Promise(setImmediate);
		await server.close();
		requireSame(
			asked.filter((id) => !answers.has(id)),
			[],
			"every request is answered",
		);
		const answered = [...answers.values()].flat();
		requireSame(answers.get("end")?.length, 1, "a ping is answered once");
		const ofWellFormed = new Set(idsOf(lines.flatMap(({ line, isWellFormed }) => (isWellFormed ? line : []))));
		const defect = answered.find(({ id, result }) => {
			const [, code] = /^\[(\w+)\]/.exec(result?.content?.[0]?.text ?? "") ?? [];
			return (
				code === "internal" || (code === "broken_promise" && ofWellFormed.has(id) && answers.get(id)?.length === 1)
			);
		});
		requireSame(defect?.result?.content?.[0]?.text, undefined, "no answer tells of a defect");
		return answered.some(({ result }) => result?.structuredContent !== undefined) ? "done" : "refused";
	},
};

const longestAnswerMs = 4_000;

interface Answer {
	readonly id?: unknown;
	readonly result?: { readonly content?: readonly { readonly text?: string }[]; readonly structuredContent?: unknown };
}

/** The ids of lines that are requests beyond doubt, and that no other line has. */
function idsOf(lines: readonly string[]): unknown[] {
	const ids = lines.flatMap((line): unknown[] => {
		try {
			const { jsonrpc, id, method, params = {}, ...others } = JSON.parse(line) as Record<string, unknown>;
			const isPlain = typeof params === "object" && params !== null && !Array.isArray(params) && !("_meta" in params);
			const isRequest = jsonrpc === "2.0" && Number.isSafeInteger(id) && typeof method === "string" && isPlain;
			return isRequest && Object.keys(others).length === 0 && !method.startsWith("notifications/") ? [id] : [];
		} catch {
			return [];
		}
	});
	return ids.filter((id) => ids.indexOf(id) === ids.lastIndexOf(id));
}

/** Something that listens, and is started with the first case. */
interface Listening {
	readonly port: number;
	readonly close: () => Promise<unknown>;
}

function lazily(start: () => Promise<Listening>) {
	let started: Promise<Listening> | undefined;
	return {
		port: async () => {
			started ??= start();
			return (await started).port;
		},
		close: async () => (await started)?.close(),
	};
}

interface RequestCase {
	readonly pieces: readonly string[];
	/** Of the upstream behind the proxy. */
	readonly answer: string;
}

const paths = [
	...["/mcp", "/sse", "/healthz", "/readyz", "/metrics", "/messages", "/v1/messages", "/v1/chat/completions"],
	...["/v1/responses", "/v1beta/models/gemini-2.5-pro:generateContent", "/v1/models", "/", "*", "//x", "/%00"],
];
const httpMethods = ["POST", "POST", "GET", "DELETE", "PUT", "HEAD", "OPTIONS", "WAT"];
const headerLines = [
	"Content-Type: application/json",
	"Accept: application/json, text/event-stream",
	"Mcp-Session-Id: x",
	"Mcp-Protocol-Version: 2025-11-25",
	"Authorization: Bearer x",
	"Content-Encoding: gzip",
	"Transfer-Encoding: chunked",
	"Expect: 100-continue",
	"Host: example.com",
	"Origin: https://example.com",
	"Upgrade: websocket",
	"Connection: keep-alive",
	"X-Odd: \u0001",
	"Content-Length: 5",
];

/** A request, most often one to the place that takes the body. */
function drawRequest(
	random: Random,
	likely: { readonly path: string; readonly body: (random: Random) => unknown },
): string {
	const isLikely = chance(random, 0.6);
	const [method, path] = isLikely ? ["POST", likely.path] : [pick(random, httpMethods), pick(random, paths)];
	const body = isLikely || chance(random, 0.5) ? JSON.stringify(likely.body(random)) : pick(random, oddTexts);
	const length = `Content-Length: ${Buffer.byteLength(body) + (chance(random, 0.1) ? between(random, -3, 3) : 0)}`;
	const more = chance(random, 0.6) ? [] : listOf(random, [1, 2], () => pick(random, headerLines));
	const headers = ["Host: 127.0.0.1", length, "Connection: close", ...headerLines.slice(0, 2), ...more];
	const text = `${method} ${path} HTTP/1.1\r\n${headers.join("\r\n")}\r\n\r\n${body}`;
	return chance(random, 0.15)
		? drawTextChanges(random, text, ["\r\n", "\r\n\r\n", "HTTP/9.9", "\u0000", ":", " "])
		: text;
}

function bodyOf(random: Random): unknown {
	const { document } = drawDocument(random);
	return Array.isArray(document) ? { model: "m", messages: document } : document;
}

function drawAnswer(random: Random): string {
	const body = pick(random, [
		'{"usage":{"input_tokens":1}}',
		"data: {}\n\n",
		...oddTexts,
		JSON.stringify(pick(random, oddValues)) ?? "",
	]);
	const text = `HTTP/1.1 ${pick(random, [200, 200, 200, 204, 400, 529, 999])} OK\r\nContent-Type: ${pick(random, ["application/json", "text/event-stream", "x"])}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`;
	return chance(random, 0.3)
		? drawTextChanges(random, text, ["\r\n", "\r\n\r\n", "Transfer-Encoding: chunked\r\n", "\u0000", "0\r\n\r\n"])
		: text;
}

const drawExchange =
	(likely: Parameters<typeof drawRequest>[1]) =>
	(random: Random): RequestCase => {
		const text = drawRequest(random, likely);
		const at = between(random, 0, text.length);
		return { pieces: chance(random, 0.3) ? [text.slice(0, at), text.slice(at)] : [text], answer: drawAnswer(random) };
	};

/** Sends bytes, and reads what comes until the other side hangs up or has nothing more to say. */
async function exchange(port: number, pieces: readonly string[], quietMs: number): Promise<string> {
	const socket: Socket = connect(port, "127.0.0.1");
	const closed = once(socket, "close").catch(() => undefined);
	let answer = "";
	socket.on("error", () => {});
	socket.on("data", (piece: Buffer) => {
		answer += piece.toString("latin1");
		// A stream of events stays open.
		if (/^content-type: text\/event-stream/im.test(answer)) socket.setTimeout(20);
	});
	socket.setTimeout(quietMs, () => socket.destroy());
	for (const piece of pieces) {
		socket.write(piece);
		if (pieces.length > 1) await new Promise(setImmediate);
	}
	// Not ended: a client that ends its side has left, and gets no answer.
	await closed;
	return answer;
}

async function requireAlive(port: number, path: string): Promise<void> {
	const answer = await exchange(port, [`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`], 5_000);
	require(/^HTTP\/1\.1 200 /.test(answer), `the server still answers, not with ${answer.slice(0, 40)}`);
}

const quota = 1e9;
const http = lazily(() =>
	serveHttp({
		address: { host: "127.0.0.1", port: 0 },
		policySource,
		log,
		archive,
		isStateless: true,
		quotas: { requestsPerMinute: quota },
	}).then(({ url, close }) => ({ port: Number(new URL(url).port), close })),
);

/** Requests over HTTP: whatever comes, the server answers as HTTP, without a failure of its own, and goes on. */
export const httpRequests: Target = {
	name: "http-requests",
	draw: drawExchange({ path: "/mcp", body: (random) => drawMessage(random, 1).message }),
	async check({ pieces }: RequestCase) {
		const port = await http.port();
		const answer = await exchange(port, pieces, 100);
		require(answer === "" ||
			/^HTTP\/1\.1 [1-5]\d\d /.test(answer), `the answer is one of HTTP, not ${answer.slice(0, 40)}`);
		require(!/^HTTP\/1\.1 5\d\d /.test(answer), `it is no failure of the server: ${answer.slice(0, 40)}`);
		await requireAlive(port, "/healthz");
		return /^HTTP\/1\.1 2/.test(answer) ? "done" : "refused";
	},
	close: http.close,
};

let upstreamSays = "";
const proxy = lazily(async () => {
	const upstream: Server = createTcpServer((socket) => {
		socket.on("error", () => {});
		socket.once("data", () => socket.end(Buffer.from(upstreamSays, "utf8")));
		socket.setTimeout(1_000, () => socket.destroy());
	});
	upstream.listen(0, "127.0.0.1");
	await once(upstream, "listening");
	const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
	const policy = policyOf({ preset: "balanced" });
	const { port, close } = await startProxy({
		port: 0,
		upstreams: { anthropic: url, openai: url, gemini: url },
		policy,
	});
	return { port, close: () => Promise.all([close(), new Promise((resolve) => upstream.close(resolve))]) };
});

/** Requests through the proxy to an upstream that answers anything: the proxy passes it on or says so, and goes on. */
export const proxyExchanges: Target = {
	name: "proxy-exchanges",
	draw: drawExchange({ path: "/v1/messages", body: bodyOf }),
	async check({ pieces, answer: says }: RequestCase) {
		const port = await proxy.port();
		upstreamSays = says;
		const answer = await exchange(port, pieces, 100);
		require(answer === "" ||
			/^HTTP\/1\.1 \d\d\d /.test(answer), `the answer is one of HTTP, not ${answer.slice(0, 40)}`);
		require(!answer.includes("because of a defect"), "the proxy has no defect");
		upstreamSays = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
		await requireAlive(port, "/v1/models");
		return /^HTTP\/1\.1 2/.test(answer) ? "done" : "refused";
	},
	close: proxy.close,
};
