import type { RequestHandler } from "express";
import { isLoopback } from "./is-loopback.ts";
import { refuse } from "./refuse.ts";

/**
 * Makes a handler that refuses requests that a web page from elsewhere makes a browser send; pages of this machine and of
 * the server's own address pass. Programs that are no browsers send no Origin and pass.
 */
export function checkOrigin(publicUrl: URL | undefined): RequestHandler {
	const isOwn = (origin: string) => origin === publicUrl?.origin || isLoopbackOrigin(origin);
	return (request, response, next) => {
		const { origin } = request.headers;
		if (origin === undefined ? !fromOtherSite(request.headers["sec-fetch-site"]) : isOwn(origin)) return next();
		refuse(response, { status: 403, message: "Requests from web pages of other origins are refused." });
	};
}

// An image or a link on any page makes a browser send a GET without Origin; /sse would open a session for it.
function fromOtherSite(fetchSite: string | string[] | undefined): boolean {
	return fetchSite === "cross-site" || fetchSite === "same-site";
}

function isLoopbackOrigin(origin: string): boolean {
	if (!URL.canParse(origin)) return false;
	const { protocol, hostname } = new URL(origin);
	return (protocol === "http:" || protocol === "https:") && isLoopback(hostname);
}
