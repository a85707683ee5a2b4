import { checkArgument, checkOptions, type OptionKinds } from "../policy/check-options.ts";
import { numberKind, optionKinds, wholeNumberKind } from "../policy/option-kinds.ts";
import { createPatientSummariser, type Patience } from "./ask-patiently.ts";
import { endpointName } from "./endpoint-name.ts";
import { createChatClient, type LoadOpenAi } from "./openai-client.ts";
import type { RetryPolicy } from "./retry-delay.ts";
import type { Summariser } from "./summariser.ts";

/** A chat-completions endpoint (OpenAI, Albert, Mistral, Ollama, vLLM, llama.cpp, …) and how patiently it is asked. */
export interface OpenAiCompatibleOptions extends Patience {
	/** Such as `https://api.openai.com/v1`. */
	readonly baseUrl: string;
	readonly model: string;
	/** In no error, no progress and no answer. Absent: none is sent. */
	readonly apiKey?: string | undefined;
	/** Brings the module `openai`; by default it is imported. */
	readonly load?: LoadOpenAi | undefined;
}

/** Two minutes: a model that writes 20 tokens a second needs 100 s for a hand-over of 2 000. */
const defaultTimeoutMs = 120_000;
const largestBody = 4 * 1024 * 1024;

const { anything, clock, function: callback, object, string } = optionKinds;
const endpointKinds: OptionKinds<OpenAiCompatibleOptions> = {
	// Have errors of their own.
	baseUrl: anything,
	model: anything,
	apiKey: string,
	load: callback,
	timeoutMs: numberKind(1, "ms"),
	heartbeatMs: numberKind(1, "ms"),
	retry: object,
	clock,
	random: callback,
};
const retryKinds: OptionKinds<RetryPolicy> = {
	maxRetries: wholeNumberKind(0),
	baseDelayMs: numberKind(0, "ms"),
	jitter: numberKind(0),
	longestRetryAfterMs: numberKind(0, "ms"),
};

/**
 * Asks a model by its chat-completions endpoint (seed 4, tasks 2, 5 and 6). One client, made at the first call, serves
 * all calls.
 *
 * @throws PalimpsestError `invalid_argument` for a base URL that is none, and for any other option that is none.
 */
export function createOpenAiCompatible(options: OpenAiCompatibleOptions): Summariser {
	checkOptions<OpenAiCompatibleOptions>(options, "createOpenAiCompatible", endpointKinds);
	if (options.retry !== undefined) checkOptions<RetryPolicy>(options.retry, "createOpenAiCompatible.retry", retryKinds);
	checkArgument(options.model, "the option `model` of `createOpenAiCompatible`", string);
	const { timeoutMs = defaultTimeoutMs, load = () => import("openai") } = options;
	const model = createChatClient({ ...options, timeoutMs, largestBody, load });
	return createPatientSummariser({ ...options, name: endpointName(options.model), model, timeoutMs });
}
