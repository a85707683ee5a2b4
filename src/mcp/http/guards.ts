import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { hostHeaderValidation } from "@modelcontextprotocol/sdk/server/middleware/hostHeaderValidation.js";
import type { RequestHandler } from "express";
import { hostInUrl, isLoopback } from "./address.ts";

/** The reason why a request is refused. */
export interface Refusal {
	/** HTTP status. */
	readonly status: number;
	/** JSON-RPC error code; -32000 if no other one is more precise. */
	readonly code?: number;
	readonly message: string;
	/** More headers, such as Allow or Retry-After. */
	readonly headers?: Readonly<Record<string, string>>;
}

/** Answers a request with a JSON-RPC error that belongs to no call, as MCP requires for errors of the transport. */
export function refuse(response: ServerResponse, { status, code = -32_000, message, headers = {} }: Refusal): void {
	const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
	response
		.writeHead(status, { ...headers, "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) })
		.end(body);
}

/**
 * Makes a handler that refuses requests for hosts other than this one. Otherwise a web page could reach the server through
 * a name that points at this machine (DNS rebinding). A server that listens on every address accepts any address as its
 * own, because rebinding needs a name.
 */
export function checkHost(own: { readonly host: string; readonly publicUrl: URL | undefined }): RequestHandler {
	const host = hostInUrl(own.host);
	const names = ["localhost", "127.0.0.1", "[::1]", host, ...(own.publicUrl ? [own.publicUrl.hostname] : [])];
	const check = hostHeaderValidation(names);
	const isEverywhere = ["0.0.0.0", "[::]"].includes(host);
	return (request, response, next) =>
		requireOneHost(request, response, () =>
			isEverywhere && isAddress(request.headers.host ?? "") ? next() : check(request, response, next),
		);
}

/** Refuses several Host headers (RFC 9112, section 3.2): Node keeps the first of them, while a proxy may use the last. */
export const requireOneHost: RequestHandler = (request, response, next) => {
	if ((request.headersDistinct.host?.length ?? 0) < 2) return next();
	refuse(response, { status: 400, message: "Expected one Host header." });
};

function isAddress(hostHeader: string): boolean {
	const address = /^\[(?<six>[^\]]+)\](?::\d+)?$|^(?<four>[\d.]+)(?::\d+)?$/.exec(hostHeader)?.groups;
	return isIP(address?.six ?? address?.four ?? "") !== 0;
}

/**
 * Makes a handler that refuses requests that a foreign web page makes a browser send. Pages of this machine and of the
 * server's own address pass. So do programs other than browsers: they send no Origin.
 */
export function checkOrigin(publicUrl: URL | undefined): RequestHandler {
	return (request, response, next) => {
		const { origin, "sec-fetch-site": site } = request.headers;
		// An image or a link on any page makes a browser send a GET without Origin; /sse would open a session for it.
		const isOwn = origin === undefined ? site !== "cross-site" && site !== "same-site" : isOwnOrigin(origin, publicUrl);
		if (isOwn) return next();
		refuse(response, { status: 403, message: "Requests from web pages of other origins are refused." });
	};
}

function isOwnOrigin(origin: string, publicUrl: URL | undefined): boolean {
	if (origin === publicUrl?.origin) return true;
	if (!URL.canParse(origin)) return false;
	const { protocol, hostname } = new URL(origin);
	return (protocol === "http:" || protocol === "https:") && isLoopback(hostname);
}

/** Refuses bodies that are not plain JSON before they are read. */
export const requireJson: RequestHandler = (request, response, next) => {
	const encoding = request.headers["content-encoding"] ?? "identity";
	if (request.is("application/json") && encoding === "identity") return next();
	refuse(response, { status: 415, message: "Expected Content-Type: application/json, without Content-Encoding." });
};

/**
 * Makes a handler that refuses every other method. Put it before a path's routes: Express would send a HEAD to the GET
 * route, which opens a stream.
 */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
	const allow = methods.join(", ");
	return (request, response, next) => {
		if (methods.includes(request.method)) return next();
		refuse(response, { status: 405, message: `Expected one of ${allow}.`, headers: { Allow: allow } });
	};
}

/** No answer is a web page: browsers must not show, frame, store or guess the type of any. */
const securityHeaders = {
	"X-Content-Type-Options": "nosniff",
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy": "no-referrer",
};

/** Sets the headers that restrict browsers. The SDK allows its streams to be stored; this overrides that. */
export const setSecurityHeaders: RequestHandler = (_request, response, next) => {
	response.set(securityHeaders);
	const writeHead: WriteHead = response.writeHead.bind(response);
	response.writeHead = (status: number, ...[headers]: unknown[]) => {
		const given = Object.entries((headers ?? {}) as OutgoingHttpHeaders);
		const noStore = given.map(([name, value]) =>
			name.toLowerCase() === "cache-control" ? [name, "no-store, no-transform"] : [name, value],
		);
		return writeHead(status, Object.fromEntries(noStore));
	};
	next();
};

type WriteHead = (status: number, headers: OutgoingHttpHeaders) => Parameters<RequestHandler>[1];
