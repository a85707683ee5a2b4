import type { Summariser, SummaryRequest } from "../../src/operations/summariser/summariser.ts";

/** A hand-over as a model would write it. */
export const handover = "## Task\nMend the parser.\n## Next step\nRun the tests in src/parser.ts.";

/** In the place of a model: answers with the same text each time, or with what `answer` makes of the request. */
export function standInSummariser(
	answer: string | ((request: SummaryRequest) => string | Promise<string>) = handover,
): Summariser & { readonly requests: SummaryRequest[] } {
	const requests: SummaryRequest[] = [];
	return {
		name: "stand-in",
		requests,
		async summarise(request) {
			requests.push(request);
			const text = typeof answer === "string" ? answer : await answer(request);
			return { text, finishReason: "stop", usage: { promptTokens: 100, completionTokens: 10 } };
		},
		close: async () => undefined,
	};
}
