import { isIP } from "node:net";
import { hostHeaderValidation } from "@modelcontextprotocol/sdk/server/middleware/hostHeaderValidation.js";
import type { RequestHandler } from "express";
import { hostInUrl } from "./host-in-url.ts";
import { refuse } from "./refuse.ts";

/**
 * Makes a handler that refuses requests for other hosts than this one: a name that somebody points here must not make
 * a web page of theirs one of ours (DNS rebinding). A server that listens on every address takes any address as its
 * own, since rebinding needs a name.
 */
export function checkHost({
	host,
	publicUrl,
}: {
	readonly host: string;
	readonly publicUrl: URL | undefined;
}): RequestHandler {
	const names = ["localhost", "127.0.0.1", "[::1]", hostInUrl(host), ...(publicUrl ? [publicUrl.hostname] : [])];
	const check = hostHeaderValidation(names);
	const isEverywhere = ["0.0.0.0", "[::]"].includes(hostInUrl(host));
	return (request, response, next) =>
		requireOneHost(request, response, () =>
			isEverywhere && isAddress(request.headers.host ?? "") ? next() : check(request, response, next),
		);
}

/**
 * Refuses a request with several Host headers (RFC 9112, section 3.2): Node keeps the first of them, while a proxy may go by
 * the last.
 */
export const requireOneHost: RequestHandler = (request, response, next) => {
	// Names and values in turns.
	const hosts = request.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host");
	if (hosts.length < 2) return next();
	refuse(response, { status: 400, message: "Expected one Host header." });
};

function isAddress(hostHeader: string): boolean {
	const address = /^\[(?<six>[^\]]+)\](?::\d+)?$|^(?<four>[\d.]+)(?::\d+)?$/.exec(hostHeader)?.groups;
	return isIP(address?.six ?? address?.four ?? "") !== 0;
}
