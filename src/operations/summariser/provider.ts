import { providerCompaction } from "../../engine/compaction/provider-block.ts";
import { SummariserError } from "../../errors.ts";
import { version } from "../../version.ts";
import { type ChatModel, createPatientSummariser } from "./ask.ts";
import { connectionError, connectTo, errorFieldsOf, type OpenAiCompatibleOptions, statusError } from "./endpoint.ts";
import type { Summariser } from "./summariser.ts";

/** 529: the API is overloaded, or `compaction_unavailable`. */
const retried = new Set<number | undefined>([429, 500, 502, 503, 504, 529, 408, undefined]);

/**
 * Sends requests for a block of the provider to `/messages` at the base URL. The prompt of a request is its body as JSON, and the
 * text of the answer is that of the API as JSON.
 */
export function createProviderEndpoint(options: OpenAiCompatibleOptions): Summariser {
	const { baseUrl, apiKey, timeoutMs = 120_000 } = options;
	const { origin, pathname, search } = new URL(baseUrl);
	const location = `${origin}${pathname.replace(/\/+$/, "")}`;
	const connection = connectTo(new URL(`${location}/messages${search}`), [
		...["Accept", "application/json", "Content-Type", "application/json"],
		...["User-Agent", `palimpsest-mcp/${version}`],
		...["anthropic-version", "2023-06-01", "anthropic-beta", providerCompaction.beta],
		...(apiKey ? ["x-api-key", apiKey] : []),
	]);
	const model: ChatModel = {
		location,
		goodStatus: 200,
		async ask({ messages: [body], signal }) {
			try {
				const { status, retryAfter, answered } = await connection.post(body?.content ?? "", signal);
				if (status !== 200)
					return { kind: "failure", error: statusError(location, status, errorFieldsOf(answered)), retryAfter };
				if (answered !== undefined)
					return { kind: "answer", answer: { text: JSON.stringify(answered), finishReason: "stop" } };
				throw new SummariserError("unknown", `${location}: Its answer is not JSON.`, 200);
			} catch (error) {
				return { kind: "failure", error: connectionError(location, error) };
			}
		},
		isRetried: (error) => error.is_retryable && retried.has(error.status_code),
		close: connection.close,
	};
	return createPatientSummariser({ ...options, name: "provider", model, timeoutMs });
}
