import type { ServerResponse } from "node:http";
import type { UpstreamName } from "./routes.ts";

interface Refusal {
	readonly status: keyof typeof names;
	readonly message: string;
	/** Whose clients read it. */
	readonly upstream: UpstreamName;
	/** Whether the same request can succeed without a change by people, such as after a reset connection. */
	readonly mayRetry?: boolean;
}

/**
 * Answers a request in place of its upstream, in the shape of the errors of that API. The SDKs of Anthropic and OpenAI and
 * Claude Code obey `x-should-retry`; without it they ask again after any status from 500, Claude Code for minutes.
 */
export function refuse(response: ServerResponse, refusal: Refusal): void {
	const { status, message, upstream, mayRetry = false } = refusal;
	if (!mayRetry) response.setHeader("x-should-retry", "false");
	else if (status === 429) response.setHeader("Retry-After", "1");
	if (upstream === "bedrock") response.setHeader("x-amzn-errortype", names[status].bedrock);
	answer(response, status, errorOf(upstream, { status, message: `palimpsest proxy: ${message}` }));
}

/** Sends a value as the JSON of an answer. */
export function answer(response: ServerResponse, status: number, value: unknown): void {
	const body = JSON.stringify(value);
	response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
	response.end(body);
}

function errorOf(upstream: UpstreamName, { status, message }: Pick<Refusal, "status" | "message">): unknown {
	const { anthropic, gemini, openai } = names[status];
	if (upstream === "bedrock") return { message };
	if (upstream === "gemini") return { error: { code: status, message, status: gemini } };
	if (upstream === "openai") return { error: { message, type: openai, param: null, code: "palimpsest_proxy" } };
	return { type: "error", error: { type: anthropic, message } };
}

/** The type of an error with each status, by the documentation of each API. */
const names = {
	400: of("invalid_request_error", "INVALID_ARGUMENT", "ValidationException"),
	401: of("authentication_error", "UNAUTHENTICATED", "UnrecognizedClientException"),
	403: of("permission_error", "PERMISSION_DENIED", "AccessDeniedException"),
	404: of("not_found_error", "NOT_FOUND", "ResourceNotFoundException"),
	413: of("request_too_large", "INVALID_ARGUMENT", "ValidationException"),
	429: of("rate_limit_error", "RESOURCE_EXHAUSTED", "ThrottlingException"),
	501: of("api_error", "UNIMPLEMENTED", "ServiceUnavailableException"),
	502: of("api_error", "UNAVAILABLE", "ServiceUnavailableException"),
	503: of("api_error", "UNAVAILABLE", "ServiceUnavailableException"),
} as const;

function of(anthropic: string, gemini: string, bedrock: string) {
	const openai =
		{ api_error: "server_error", rate_limit_error: "rate_limit_error" }[anthropic] ?? "invalid_request_error";
	return { anthropic, gemini, bedrock, openai };
}
