import type { CallerRequest, CompactReport } from "../pipeline/compaction/compact-report.ts";
import { type Answer, beside } from "./tool.ts";

/** What stands for the summary in the call that is spelled out. */
export const summaryPlaceholder = "<your summary>";

/** What stands there for the messages of this call. */
export const sameMessages = "<the same messages>";

/** The exact call of `compact_conversation` that puts in the summary. `arguments` are those that it repeats. */
export function callWithSummary({ summary_token }: CallerRequest, repeated: Readonly<Record<string, unknown>>) {
	return { tool: "compact_conversation", arguments: { ...repeated, summary_token, summary: summaryPlaceholder } };
}

/**
 * Asks the caller for a summary: what is to be written, and the exact next call. `arguments` are those of this call that
 * the next one repeats.
 */
export function summaryRequestAnswer(what: {
	readonly request: CallerRequest;
	readonly report: CompactReport;
	readonly arguments: Readonly<Record<string, unknown>>;
}): Answer {
	const { request, report } = what;
	const { first, last, count, tokens } = request.messages;
	const next = callWithSummary(request, what.arguments);
	const text = [
		`Nothing was changed yet: a summary is wanted, for which nobody else can be asked here. It will stand for ${count} messages (${first} to ${last}, ${tokens} tokens).`,
		"Write it yourself, as the prompt below says, and then call:",
		`${next.tool} ${JSON.stringify(next.arguments)}`,
		"",
		request.prompt,
	].join("\n");
	return { summary_request: { ...request, next_call: next }, report, [beside]: { text } };
}
