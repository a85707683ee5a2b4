import type { CallerRequest, CompactReport } from "../pipeline/compaction/compact-report.ts";
import { type Answer, beside } from "./tool.ts";

/** What stands for the summary in the call that is spelled out. */
export const summaryPlaceholder = "<your summary>";

/**
 * Asks the caller for a summary: what is to be written, and the exact next call. `arguments` are those of this call that
 * the next one repeats.
 */
export function summaryRequestAnswer(what: {
	readonly request: CallerRequest;
	readonly report: CompactReport;
	readonly tool: string;
	readonly arguments: Readonly<Record<string, unknown>>;
}): Answer {
	const { request, report, tool } = what;
	const { first, last, count, tokens } = request.messages;
	const { summary_token } = request;
	const next = { tool, arguments: { ...what.arguments, summary_token, summary: summaryPlaceholder } };
	const text = [
		`Nothing was changed yet: a summary is wanted, for which nobody else can be asked here. It will stand for ${count} messages (${first} to ${last}, ${tokens} tokens).`,
		"Write it yourself, as the prompt below says, and then call:",
		`${tool} ${JSON.stringify(next.arguments)}`,
		"",
		request.prompt,
	].join("\n");
	return { summary_request: { ...request, next_call: next }, report, [beside]: { text } };
}
