import { SummariserError } from "../../../src/errors.ts";
import {
	createSamplingSummariser,
	type SamplingOptions,
	type SamplingRequest,
} from "../../../src/operations/summariser/sampling.ts";
import type { SummaryAnswer, SummaryProgress, SummaryRequest } from "../../../src/operations/summariser/summariser.ts";
import { fakeClock } from "./fake-clock.ts";

export type SamplingCall = Parameters<SamplingOptions["createMessage"]>[1];

/** How a client behaves for one request. */
export type ClientBehaviour = (request: SamplingRequest, call: SamplingCall) => unknown;

/** A call by sampling, and all that came of it. */
export interface Sampled {
	readonly requests: readonly SamplingRequest[];
	readonly answer: SummaryAnswer | undefined;
	readonly error: unknown;
	readonly progress: readonly SummaryProgress[];
	/** Waits, in seconds. */
	readonly delays: readonly number[];
}

/** Asks once for a summary from a client that behaves as told, one behaviour after the other; the last repeats. */
export async function sample(
	behaviours: readonly ClientBehaviour[],
	options: Partial<SamplingOptions> = {},
	request: Partial<SummaryRequest> = {},
): Promise<Sampled> {
	const requests: SamplingRequest[] = [];
	const clock = fakeClock();
	const createMessage: SamplingOptions["createMessage"] = async (asked, call) => {
		const behave = behaviours[Math.min(requests.length, behaviours.length - 1)];
		requests.push(asked);
		return behave?.(asked, call);
	};
	const summariser = createSamplingSummariser({ createMessage, clock, ...options });
	const progress: SummaryProgress[] = [];
	const outcome: { answer?: SummaryAnswer; error?: unknown } = {};
	try {
		outcome.answer = await summariser.summarise({
			prompt: "Summarise this.",
			maxTokens: 500,
			onProgress: (one) => progress.push(one),
			...request,
		});
	} catch (error) {
		outcome.error = error;
	}
	await summariser.close();
	return {
		requests,
		answer: outcome.answer,
		error: outcome.error,
		progress,
		delays: clock.waits.map((ms) => ms / 1000),
	};
}

/** The typed error of a call that failed. */
export function samplingErrorOf({ error }: Sampled): SummariserError {
	if (!(error instanceof SummariserError)) throw new Error("expected a SummariserError", { cause: error });
	return error;
}

/** Answers with a text, as clients do. */
export function say(text: string, stopReason: string | undefined = "endTurn"): ClientBehaviour {
	return () => ({ role: "assistant", model: "some-model", stopReason, content: { type: "text", text } });
}

/** Fails with an error of JSON-RPC, whose message holds what must not be told. */
export function fail(code: unknown): ClientBehaviour {
	return () => {
		throw Object.assign(new Error("secret words of the client"), { code, data: { secret: true } });
	};
}

/** Never answers, and does not heed the signal. */
export const silent: ClientBehaviour = () => new Promise(() => {});
