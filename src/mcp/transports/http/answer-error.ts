import type { ErrorRequestHandler } from "express";
import { PalimpsestError } from "../../../errors.ts";
import type { Log } from "../../../pipeline/log-event.ts";
import { type Refusal, refuse } from "./refuse.ts";

/** Makes the last handler: it answers what a route threw. A defect is logged by name and described to nobody. */
export function answerError(log: Log): ErrorRequestHandler {
	// Express tells an error handler by its four parameters.
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

function refusalOf(error: unknown): Refusal {
	if (error instanceof PalimpsestError) {
		if (error.code === "payload_too_large") return { status: 413, message: error.message };
		if (error.code === "rate_limit") return { status: 503, message: error.message, headers: { "Retry-After": "1" } };
		if (error.code === "invalid_argument") return { status: 400, code: -32_600, message: error.message };
		if (error.code === "invalid_json") return { status: 400, code: -32_700, message: error.message };
	}
	// Express marks what the client did wrong, such as a path that cannot be decoded.
	const status = error instanceof Error && "status" in error ? Number(error.status) : 500;
	if (status >= 400 && status < 500) return { status, message: "The request cannot be understood." };
	return { status: 500, code: -32_603, message: "The request failed by a defect of the server." };
}
