import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { createKeys } from "../../src/proxy/keys.ts";
import { startProxy } from "../../src/proxy/server.ts";
import { policyOf } from "../support/policy-of.ts";

export type ProxyOptions = Parameters<typeof startProxy>[0];

export interface Received {
	readonly method: string;
	readonly path: string;
	readonly rawHeaders: readonly string[];
	readonly headers: IncomingMessage["headers"];
	readonly body: Buffer;
}

type Answer = (received: Received, response: ServerResponse) => void;

/** A provider on loopback that logs every request. It is gone after the test. */
export async function startUpstream(answer: Answer = (_, response) => response.end("{}")) {
	const received: Received[] = [];
	const left: string[] = [];
	let connections = 0;
	const server = createServer((request, response) => {
		const pieces: Buffer[] = [];
		response.on("close", () => response.writableFinished || left.push(request.url ?? ""));
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.on("error", () => {});
		request.on("end", () => {
			const { method = "", url = "", rawHeaders, headers } = request;
			const one = { method, path: url, rawHeaders, headers, body: Buffer.concat(pieces) };
			received.push(one);
			answer(one, response);
		});
	});
	server.on("connection", () => {
		connections += 1;
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const close = () => {
		server.closeAllConnections();
		return new Promise<void>((resolve) => server.close(() => resolve()));
	};
	onTestFinished(() => close());
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	return { url, received, left, connections: () => connections, close };
}

/** Of every proxy of the tests. */
export const keys = createKeys();

/** A proxy in front of it with the policy `balanced`. It is gone after the test. */
export async function startProxyTo(url: string, options: Partial<ProxyOptions> = {}) {
	const policy = policyOf({ preset: "balanced" });
	const proxy = await startProxy({
		port: 0,
		upstreams: { anthropic: url, openai: url, gemini: url },
		policy,
		keys,
		// No test depends on the speed of the machine.
		engine: { worked: () => 0 },
		...options,
	});
	let isClosed = false;
	const close: typeof proxy.close = async (given) => {
		if (!isClosed) await proxy.close(given);
		isClosed = true;
	};
	onTestFinished(() => close());
	return { ...proxy, close, url: `http://127.0.0.1:${proxy.port}` };
}

export interface Sent {
	readonly method?: string;
	readonly path: string;
	readonly headers?: Readonly<Record<string, string>> | readonly string[];
	readonly body?: string | Buffer;
}

export interface Got {
	readonly status: number;
	readonly headers: IncomingMessage["headers"];
	readonly rawHeaders: readonly string[];
	readonly body: Buffer;
}

/** Sends one request as plainly as Node allows. */
export function send(base: string, { method = "GET", path, headers = {}, body }: Sent): Promise<Got> {
	return new Promise((resolve, reject) => {
		const { hostname, port } = new URL(base);
		const request = sendRequest({ hostname, port, method, path, headers: headers as Record<string, string> });
		request.on("error", reject);
		request.on("response", (response) => {
			const pieces: Buffer[] = [];
			response.on("data", (piece: Buffer) => pieces.push(piece));
			response.on("error", reject);
			response.on("end", () => {
				const { statusCode: status = 0, headers: got, rawHeaders } = response;
				resolve({ status, headers: got, rawHeaders, body: Buffer.concat(pieces) });
			});
		});
		request.end(body);
	});
}

/** Asks for a page of the proxy's own, with its key. */
export function sendOwn(
	base: string,
	sent: { readonly path: string; readonly headers?: Readonly<Record<string, string>> },
) {
	return send(base, { ...sent, headers: { Authorization: `Bearer ${keys.page}`, ...sent.headers } });
}

export async function until(holds: () => boolean, milliseconds = 5_000): Promise<void> {
	const end = Date.now() + milliseconds;
	while (!holds()) {
		if (Date.now() > end) throw new Error("It did not come about in time.");
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}
