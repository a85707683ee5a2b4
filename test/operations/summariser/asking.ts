import { onTestFinished } from "vitest";
import { SummariserError } from "../../../src/errors.ts";
import { createOpenAiCompatible, type OpenAiCompatibleOptions } from "../../../src/operations/summariser/endpoint.ts";
import type { SummaryAnswer, SummaryProgress, SummaryRequest } from "../../../src/operations/summariser/summariser.ts";
import { type Behaviour, type ChatServer, startChatServer } from "./chat-server.ts";
import { type FakeClock, fakeClock } from "./fake-clock.ts";

/** A call against a server of the test's own, and all that came of it. */
export interface Asked {
	readonly server: ChatServer;
	readonly clock: FakeClock;
	readonly answer: SummaryAnswer | undefined;
	readonly error: unknown;
	readonly progress: readonly SummaryProgress[];
	/** Waits, in seconds. */
	readonly delays: readonly number[];
}

/** A key such as providers give. */
export const key = "sk-test-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c";

/** Asks once for a summary from a server that behaves as told. */
export async function ask(
	behaviours: readonly Behaviour[],
	options: Partial<OpenAiCompatibleOptions> = {},
	request: Partial<SummaryRequest> = {},
): Promise<Asked> {
	const server = await startChatServer(...behaviours);
	const clock = fakeClock();
	const summariser = createOpenAiCompatible({
		baseUrl: server.baseUrl,
		model: "some-model",
		apiKey: key,
		clock,
		...options,
	});
	onTestFinished(() => summariser.close());
	const progress: SummaryProgress[] = [];
	let answer: SummaryAnswer | undefined;
	let error: unknown;
	try {
		answer = await summariser.summarise({
			prompt: "Summarise this.",
			maxTokens: 500,
			onProgress: (one) => progress.push(one),
			...request,
		});
	} catch (caught) {
		error = caught;
	}
	return { server, clock, answer, error, progress, delays: clock.waits.map((ms) => ms / 1000) };
}

/** The typed error of a call that failed. */
export function summariserError({ error }: Asked): SummariserError {
	if (!(error instanceof SummariserError)) throw new Error("expected a SummariserError", { cause: error });
	return error;
}
