import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import { PalimpsestError } from "../../errors.ts";
import type { Log } from "../../operations/edit-record.ts";
import type { Address } from "./address.ts";
import { checkOrigin, type Refusal, refuse, setSecurityHeaders } from "./guards.ts";

/**
 * Makes an Express application. Host and Origin are checked before any route, also for unknown paths: otherwise a web page
 * could reach the server through a name that points at this machine (DNS rebinding).
 */
export function createApplication(options: {
	/** The check of the Host header. */
	readonly hostCheck: RequestHandler;
	/** The address under which clients reach the server, if it differs from its own. */
	readonly publicUrl: URL | undefined;
	/** The routes, and other handlers, in their order. */
	readonly routes: readonly RequestHandler[];
	/** The answer for paths that no route serves. */
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

/** Makes the handler of errors that routes threw. A defect is logged by name and described to nobody. */
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
	return { status: 500, code: -32_603, message: "The request failed by a defect of the server." };
}

/**
 * Starts to listen and returns the port, also where the requested one is 0.
 *
 * @throws PalimpsestError `invalid_argument` if the address is not available.
 */
export async function listen(server: Server, { host, port }: Address): Promise<number> {
	server.listen(port, host);
	try {
		await once(server, "listening");
	} catch (cause) {
		const code = cause instanceof Error && "code" in cause ? String(cause.code) : "unknown error";
		const reasons: Readonly<Record<string, string>> = {
			EADDRINUSE: `Port ${port} of ${host} is in use. End the program that holds it, or choose another port; 0 takes a free one.`,
			EACCES: `Port ${port} needs rights that this process has not. Choose one from 1024 on.`,
		};
		const other = `Cannot listen on port ${port} of ${host} (${code}). Choose another address, such as 127.0.0.1.`;
		throw new PalimpsestError("invalid_argument", reasons[code] ?? other, { cause });
	}
	return (server.address() as AddressInfo).port;
}
