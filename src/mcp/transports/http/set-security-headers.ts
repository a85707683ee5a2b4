import type { RequestHandler } from "express";

/** Nothing here is a page: no browser is to show, frame, keep or guess at any of it. */
export const setSecurityHeaders: RequestHandler = (_request, response, next) => {
	response.setHeader("X-Content-Type-Options", "nosniff");
	response.setHeader("Cache-Control", "no-store");
	response.setHeader("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
	response.setHeader("Cross-Origin-Resource-Policy", "same-origin");
	response.setHeader("Referrer-Policy", "no-referrer");
	next();
};
