import type { SummaryAnswer } from "../../summariser/summariser.ts";
import type { SummarySource } from "./summary-source.ts";

/** The same source, whose model answers a prompt that it was asked before as it did then. */
export function asksOnce(source: SummarySource): SummarySource {
	if (source.kind !== "summariser") return source;
	const { summariser } = source;
	const answers = new Map<string, SummaryAnswer>();
	return {
		kind: "summariser",
		summariser: {
			...summariser,
			async summarise(request) {
				const answer = answers.get(request.prompt) ?? (await summariser.summarise(request));
				answers.set(request.prompt, answer);
				return answer;
			},
		},
	};
}
