import type { ServerResponse } from "node:http";
import { idInUse } from "./limit-calls.ts";

/** Why a request is refused, for people and for programs. */
export interface Refusal {
	/** HTTP status. */
	readonly status: number;
	/** JSON-RPC error code; -32000 where none says more. */
	readonly code?: number;
	readonly message: string;
	/** More headers, such as Allow or Retry-After. */
	readonly headers?: Readonly<Record<string, string>>;
}

/** Answers a request with a JSON-RPC error that belongs to no call, as MCP does for errors of the transport. */
export function refuse(response: ServerResponse, { status, code = -32_000, message, headers = {} }: Refusal): void {
	const body = JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null });
	response
		.writeHead(status, { ...headers, "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) })
		.end(body);
}

/** The refusal of a request that names a session which is not, or no longer, there. */
export const unknownSession: Refusal = {
	status: 404,
	code: -32_001,
	message: "Session not found. It was closed, was idle for too long, or never was: initialize a new one.",
};

/** The refusal of a request under an id that another one has. */
export const idInUseRefusal: Refusal = { status: 400, code: -32_600, message: `[invalid_argument] ${idInUse}` };

/** The refusal of one session too many. */
export const tooManySessions: Refusal = {
	status: 503,
	message: "No more sessions here for now. Close one that is no longer used, or try again later.",
	headers: { "Retry-After": "30" },
};

/** The refusal of one session too many of one principal. */
export const tooManySessionsOfPrincipal: Refusal = {
	...tooManySessions,
	status: 429,
	message: "You have too many sessions here. Close one that is no longer used (DELETE), or try again later.",
};
