import type { Registry } from "prom-client";
import type { CallEnd, OnCallEnd } from "../call-end.ts";

/** In seconds, from what a small call takes to the longest that is allowed by default. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Makes what counts calls into a registry: how many, how long, how large, and what they took out of conversations. */
export function countCalls(prometheus: typeof import("prom-client"), registry: Registry): OnCallEnd {
	const counter = (name: string, help: string, labelNames: readonly string[] = ["tool"]) =>
		new prometheus.Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
	const calls = counter("palimpsest_calls_total", "Calls that have ended.", ["tool", "outcome"]);
	const duration = new prometheus.Histogram({
		name: "palimpsest_call_duration_seconds",
		help: "Time from a call's arrival until its answer was made.",
		labelNames: ["tool"],
		buckets,
		registers: [registry],
	});
	const bytesIn = counter("palimpsest_call_request_bytes_total", "Bytes of the arguments of calls.");
	const bytesOut = counter("palimpsest_call_response_bytes_total", "Bytes of the answers to calls.");
	const tokensBefore = counter("palimpsest_tokens_before_total", "Tokens of conversations as they came.");
	const tokensAfter = counter("palimpsest_tokens_after_total", "Tokens of conversations as they were answered.");
	const masked = counter("palimpsest_masked_tool_results_total", "Tool results replaced by placeholders.");
	const truncated = counter("palimpsest_truncations_total", "Tool results and texts that were cut.");
	const dropped = counter("palimpsest_dropped_messages_total", "Messages that were dropped.");

	return ({ tool, outcome, milliseconds, bytesIn: came, bytesOut: went, report }: CallEnd): void => {
		calls.inc({ tool, outcome });
		duration.observe({ tool }, milliseconds / 1_000);
		bytesIn.inc({ tool }, came);
		bytesOut.inc({ tool }, went);
		if (!report) return;
		const { tokens } = report;
		if (typeof tokens === "object") {
			tokensBefore.inc({ tool }, tokens.before);
			tokensAfter.inc({ tool }, tokens.after);
		}
		masked.inc({ tool }, numberOf(report.masked_tool_results));
		truncated.inc({ tool }, numberOf(report.truncated_tool_results) + Number(report.truncated === true));
		dropped.inc({ tool }, numberOf(report.dropped_messages));
	};
}

function numberOf(value: unknown): number {
	return typeof value === "number" ? value : 0;
}
