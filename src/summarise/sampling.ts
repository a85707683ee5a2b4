import { createPatientSummariser, type Patience } from "./ask-patiently.ts";
import type { ChatModel, ChatOutcome, ChatRequest } from "./chat-model.ts";
import { samplingError } from "./classify-rpc-error.ts";
import { readSampled } from "./read-sampled.ts";
import type { Summariser } from "./summariser.ts";

/** A message as `sampling/createMessage` of the Model Context Protocol takes it. */
export interface SamplingMessage {
	role: "user" | "assistant";
	content: { type: "text"; text: string };
}

/** The parameters of `sampling/createMessage`. */
export interface SamplingRequest {
	messages: SamplingMessage[];
	/** Most tokens of the answer. */
	maxTokens: number;
	/** Nothing of the client's own context is wanted: the prompt says all. */
	includeContext: "none";
}

/** How one request is sent to the client. */
export interface SamplingCall {
	/** Aborted when the answer is no longer waited for; the client is then to be told so. */
	readonly signal: AbortSignal;
	/** Longest time for the answer, in ms; to be given to a transport that has a shorter limit of its own. */
	readonly timeoutMs: number;
}

/** What sampling needs. */
export interface SamplingOptions extends Patience {
	/**
	 * Sends the request and gives the client's result, unread; rejects with its JSON-RPC error, whose `code` is a number.
	 * Injected, since the protocol is spoken elsewhere.
	 */
	readonly createMessage: (request: SamplingRequest, call: SamplingCall) => Promise<unknown>;
}

/** Five minutes: clients show the request to a person first, who reads it. */
const defaultTimeoutMs = 300_000;
const location = "The client's model";

/**
 * Asks the model of the MCP client (`sampling/createMessage`). A time-out is retried with the same waits as an endpoint's
 * (seed 4, task 2); nothing else is, since a client that failed may have asked a person, who is not to be asked again.
 */
export function createSamplingSummariser(options: SamplingOptions): Summariser {
	const { createMessage, timeoutMs = defaultTimeoutMs } = options;
	const send = async ({ messages, maxTokens, signal }: ChatRequest): Promise<unknown> => {
		const request: SamplingRequest = {
			messages: messages.map(({ role, content }) => ({ role, content: { type: "text", text: content } })),
			maxTokens,
			includeContext: "none",
		};
		return untilAborted(createMessage(request, { signal, timeoutMs }), signal);
	};

	const ask = async (request: ChatRequest): Promise<ChatOutcome> => {
		try {
			return { kind: "answer", answer: readSampled(await send(request)) };
		} catch (error) {
			return { kind: "failure", error: samplingError(location, error), retryAfter: undefined };
		}
	};

	const model: ChatModel = {
		location,
		goodStatus: undefined,
		ask,
		isRetried: ({ code }) => code === "timeout",
		// What is under way is ended by its signal.
		close: () => undefined,
	};
	return createPatientSummariser({ ...options, name: "sampling", model, timeoutMs });
}

/** What comes first: the outcome, or the end of waiting, since a client need not heed that nobody waits any longer. */
function untilAborted<Value>(outcome: Promise<Value>, signal: AbortSignal): Promise<Value> {
	return new Promise((resolve, reject) => {
		const abort = () => reject(signal.reason);
		if (signal.aborted) abort();
		signal.addEventListener("abort", abort, { once: true });
		outcome.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
	});
}
