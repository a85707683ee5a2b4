import type { OutgoingHttpHeaders } from "node:http";
import type { RequestHandler } from "express";

/** Nothing here is a page: no browser is to show, frame, keep or guess at any of it. */
export const setSecurityHeaders: RequestHandler = (_request, response, next) => {
	response.setHeader("X-Content-Type-Options", "nosniff");
	response.setHeader("Cache-Control", "no-store");
	response.setHeader("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
	response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
	response.setHeader("Referrer-Policy", "no-referrer");
	const writeHead: WriteHead = response.writeHead.bind(response);
	response.writeHead = (status: number, ...[headers]: unknown[]) =>
		writeHead(status, keptByNobody((headers ?? {}) as OutgoingHttpHeaders));
	next();
};

type WriteHead = (status: number, headers: OutgoingHttpHeaders) => Parameters<RequestHandler>[1];

/** The SDK says of its streams that they may be kept, as long as nobody shows them without asking. */
function keptByNobody(headers: OutgoingHttpHeaders): OutgoingHttpHeaders {
	return Object.fromEntries(
		Object.entries(headers).map(([name, value]) =>
			name.toLowerCase() === "cache-control" ? [name, "no-store, no-transform"] : [name, value],
		),
	);
}
