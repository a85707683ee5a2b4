import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { hostHeaderValidation } from "@modelcontextprotocol/sdk/server/middleware/hostHeaderValidation.js";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { hostInUrl, hostOfHeader, isFromOwnPage } from "../../operations/http/address.ts";

/** Makes an Express application that checks Host and Origin before any route, also for unknown paths. */
export function createApplication(options: {
	readonly hostCheck: RequestHandler;
	readonly publicUrl: URL | undefined;
	readonly routes: readonly RequestHandler[];
	readonly notFound: string;
	readonly log: Log;
}): Express {
	const { hostCheck, publicUrl, routes, notFound, log } = options;
	const application = express();
	application.disable("x-powered-by");
	application.disable("etag");
	application.use(setSecurityHeaders, hostCheck, checkOrigin(publicUrl), ...routes);
	application.use((_request, response) => refuse(response, { status: 404, message: `Not found. ${notFound}` }));
	application.use(answerError(log));
	return application;
}

/** A defect is logged by name and not described to clients. */
function answerError(log: Log): ErrorRequestHandler {
	// Express recognises an error handler by its four parameters.
	return (error, request, response, _next) => {
		const clientLeft = request.destroyed && !request.complete;
		const refusal = refusalOf(error);
		if (refusal.status === 500 && !clientLeft) {
			const name = error instanceof Error ? error.name : typeof error;
			log({ level: "error", message: "A request failed", data: { event: "defect", transport: "http", error: name } });
		}
		if (response.headersSent) response.destroy();
		else refuse(response, refusal);
	};
}

const refusals: Readonly<Record<string, Omit<Refusal, "message">>> = {
	payload_too_large: { status: 413 },
	rate_limit: { status: 503, headers: { "Retry-After": "1" } },
	invalid_argument: { status: 400, code: -32_600 },
	invalid_json: { status: 400, code: -32_700 },
};

function refusalOf(error: unknown): Refusal {
	const known = error instanceof PalimpsestError ? refusals[error.code] : undefined;
	if (known) return { ...known, message: (error as PalimpsestError).message };
	// Express gives a status to mistakes of the client, such as a path that cannot be decoded.
	const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
	if (status >= 400 && status < 500) return { status, message: "The request cannot be understood." };
	return { status: 500, code: -32_603, message: "The request failed because of a defect in the server." };
}

export interface Refusal {
	readonly status: number;
	readonly code?: number;
	readonly message: string;
	readonly headers?: Readonly<Record<string, string>>;
}

/** Answers with a JSON-RPC error that belongs to no call, as MCP requires for errors of the transport. */
export function refuse(response: ServerResponse, { status, code = -32_000, message, headers = {} }: Refusal): void {
	const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
	const own = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
	response.writeHead(status, { ...headers, ...own }).end(body);
}

/** Against web pages that reach the server by a name of theirs (DNS rebinding). Addresses are safe: it needs a name. */
export function checkHost(own: { readonly host: string; readonly publicUrl: URL | undefined }): RequestHandler {
	const host = hostInUrl(own.host);
	const names = ["localhost", "127.0.0.1", "[::1]", host, ...(own.publicUrl ? [own.publicUrl.hostname] : [])];
	const check = hostHeaderValidation(names);
	const isEverywhere = ["0.0.0.0", "[::]"].includes(host);
	return (request, response, next) => {
		const isOwn = isEverywhere && isAddress(request.headers.host ?? "");
		requireOneHost(request, response, () => (isOwn ? next() : check(request, response, next)));
	};
}

/**
 * Refuses several Host headers (RFC 9112, section 3.2): Node keeps the first, while a proxy may use the last. A value that is
 * not a host is read differently by each program.
 */
export const requireOneHost: RequestHandler = (request, response, next) => {
	const [host = "", another] = request.headersDistinct.host ?? [];
	if (another === undefined && (host === "" || hostOfHeader(host) !== undefined)) return next();
	if (another !== undefined) return refuse(response, { status: 400, message: "Expected one Host header." });
	refuse(response, { status: 403, message: "Expected the Host header to be a host and a port." });
};

function isAddress(hostHeader: string): boolean {
	const address = /^\[(?<six>[^\]]+)\](?::\d+)?$|^(?<four>[\d.]+)(?::\d+)?$/.exec(hostHeader)?.groups;
	return isIP(address?.six ?? address?.four ?? "") !== 0;
}

/** Refuses requests that a foreign web page makes a browser send. */
function checkOrigin(publicUrl: URL | undefined): RequestHandler {
	return (request, response, next) => {
		if (isFromOwnPage(request.headers, publicUrl)) return next();
		refuse(response, { status: 403, message: "Requests from web pages of other origins are refused." });
	};
}

export const requireJson: RequestHandler = (request, response, next) => {
	const encoding = request.headers["content-encoding"] ?? "identity";
	if (request.is("application/json") && encoding === "identity") return next();
	refuse(response, { status: 415, message: "Expected Content-Type: application/json, without Content-Encoding." });
};

/** Put it before a path's routes: Express would send a HEAD to the GET route, which opens a stream. */
export function onlyMethods(...methods: readonly string[]): RequestHandler {
	const allow = methods.join(", ");
	return (request, response, next) => {
		if (methods.includes(request.method)) return next();
		refuse(response, { status: 405, message: `Expected one of ${allow}.`, headers: { Allow: allow } });
	};
}

/** No answer is a web page: browsers must not show, frame, store or guess the type of any. */
const noStore = "no-store, no-transform";
const securityHeaders = {
	"X-Content-Type-Options": "nosniff",
	"Cache-Control": "no-store",
	"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy": "no-referrer",
};

/** The SDK allows its streams to be stored; this overrides that. */
const setSecurityHeaders: RequestHandler = (_request, response, next) => {
	response.set(securityHeaders);
	const writeHead: (status: number, headers: OutgoingHttpHeaders) => typeof response =
		response.writeHead.bind(response);
	response.writeHead = (status: number, ...[headers]: unknown[]) => {
		const given = Object.entries((headers ?? {}) as OutgoingHttpHeaders);
		const own = given.filter(([name]) => name.toLowerCase() === "cache-control").map(([name]) => [name, noStore]);
		return writeHead(status, Object.fromEntries([...given, ...own]));
	};
	next();
};
