import { isJsonObject } from "../../engine/conversation/json.ts";
import { SummariserError, type SummariserErrorCode } from "../../errors.ts";
import {
	answerOf,
	type ChatOutcome,
	type ChatRequest,
	createPatientSummariser,
	type Patience,
	requireFinished,
} from "./ask.ts";
import type { Summariser, SummaryAnswer } from "./summariser.ts";

/** The parameters of `sampling/createMessage` of MCP. The prompt is complete: the client adds no context of its own. */
export interface SamplingRequest {
	messages: { role: "user" | "assistant"; content: { type: "text"; text: string } }[];
	maxTokens: number;
	includeContext: "none";
}

/** The signal aborts when no caller waits. The time, in ms, is for transports with their own limit. */
interface SamplingCall {
	readonly signal: AbortSignal;
	readonly timeoutMs: number;
}

/** Only `src/mcp` speaks the protocol, so the caller passes the function that sends a request. */
export interface SamplingOptions extends Patience {
	/** Returns the client's result as received; rejects with its JSON-RPC error, whose `code` is a number. */
	readonly createMessage: (request: SamplingRequest, call: SamplingCall) => Promise<unknown>;
}

const location = "The client's model";

/** Only a time-out is retried (docs/compaction.md#retries): the client may have asked a person. */
export function createSamplingSummariser(options: SamplingOptions): Summariser {
	// Five minutes: clients first show the request to a person, who reads it.
	const { createMessage, timeoutMs = 300_000 } = options;
	const ask = async ({ messages, maxTokens, signal }: ChatRequest): Promise<ChatOutcome> => {
		const request: SamplingRequest = {
			messages: messages.map(({ role, content }) => ({ role, content: { type: "text", text: content } })),
			maxTokens,
			includeContext: "none",
		};
		try {
			const result = await untilAborted(createMessage(request, { signal, timeoutMs }), signal);
			return { kind: "answer", answer: readSampled(result) };
		} catch (error) {
			return { kind: "failure", error: samplingError(error) };
		}
	};
	const isRetried = ({ code }: SummariserError) => code === "timeout";
	const model = { location, goodStatus: undefined, ask, isRetried, close: () => undefined };
	return createPatientSummariser({ ...options, name: "sampling", model, timeoutMs });
}

/** Rejects when the signal is aborted, since a client may ignore that. */
function untilAborted<Value>(outcome: Promise<Value>, signal: AbortSignal): Promise<Value> {
	return new Promise((resolve, reject) => {
		const abort = () => reject(signal.reason);
		if (signal.aborted) abort();
		signal.addEventListener("abort", abort, { once: true });
		outcome.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
	});
}

/** Error numbers: -1 of MCP for a refusal, those of JSON-RPC 2.0, and those of the MCP SDK. */
const knownErrors: Readonly<Record<number, readonly [SummariserErrorCode, string]>> = {
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

/** Uses only the JSON-RPC number, since the client's message may contain the conversation. */
function samplingError(error: unknown): SummariserError {
	if (error instanceof SummariserError) return error;
	const number = isJsonObject(error) && Number.isSafeInteger(error.code) ? (error.code as number) : undefined;
	const [code, said] = knownErrors[number ?? 0] ?? ["unknown", "The request failed"];
	const shown = number === undefined ? "" : ` (JSON-RPC error ${number})`;
	return new SummariserError(code, `${location}: ${said}${shown}.`);
}

const longest = 4 * 1024 * 1024;

/** One block of content or, since revision 2025-11-25 of the protocol, a list. Throws SummariserError `unknown`. */
function readSampled(result: unknown): SummaryAnswer {
	if (!isJsonObject(result)) throw unusable("something that is not a message");
	const { content, stopReason } = result;
	requireFinished(stopReason, unusable);
	const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
	const text = blocks.map(textOf).join("");
	if (text.length > longest) throw unusable(`more than ${longest} characters`);
	return answerOf(text, stopReason === "maxTokens" ? "length" : stopReason === "endTurn" ? "stop" : "other", unusable);
}

function textOf(block: unknown): string {
	if (!isJsonObject(block)) throw unusable("content that cannot be read");
	if (block.type === "tool_use" || block.type === "tool_result") throw unusable("a tool call");
	if (block.type !== "text" || typeof block.text !== "string") throw unusable("content other than text");
	return block.text;
}

function unusable(what: string): SummariserError {
	return new SummariserError("unknown", `The client's model answers with ${what}, not with a summary.`);
}
