import { SummariserError, type SummariserErrorCode } from "../errors.ts";

/** An error by its number: the protocol's own for a refusal, those of JSON-RPC 2.0, and those of the MCP SDK. */
const known: Readonly<Record<number, readonly [SummariserErrorCode, string]>> = {
	[-1]: [
		"unknown",
		"The user, or the client for them, declined to answer. Compact with a summary of your own, or ask the user",
	],
	[-32000]: ["server_error", "The connection to the client closed before the answer came"],
	[-32001]: ["timeout", "It did not answer in time. Try again, or allow more time"],
	[-32601]: [
		"model_not_found",
		"The client offers no model to its servers (sampling). Compact with a summary of your own",
	],
	[-32602]: ["unknown", "The client does not accept the request"],
	[-32603]: ["server_error", "The client failed to get an answer from it. Try again later"],
};

/**
 * The typed error of a sampling request that failed. It is told by the number of the JSON-RPC error alone: what a client
 * writes beside it may hold the conversation.
 */
export function samplingError(location: string, error: unknown): SummariserError {
	if (error instanceof SummariserError) return error;
	const number = codeOf(error);
	const [code, said] = (number === undefined ? undefined : known[number]) ?? ["unknown", "The request failed"];
	const shown = number === undefined ? "" : ` (JSON-RPC error ${number})`;
	return new SummariserError(code, `${location}: ${said}${shown}.`);
}

function codeOf(error: unknown): number | undefined {
	if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
	return Number.isSafeInteger(error.code) ? (error.code as number) : undefined;
}
