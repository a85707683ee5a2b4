import { describe, expect, it } from "vitest";
import type { CallEnd } from "../../../src/log.ts";
import { createMetrics } from "../../../src/mcp/http/monitoring.ts";

const end: CallEnd = {
	tool: "mask_conversation",
	outcome: "ok",
	milliseconds: 40,
	bytesIn: 1_000,
	bytesOut: 300,
	principal: "token alice",
	report: {
		masked_tool_results: 3,
		truncated_tool_results: 1,
		dropped_messages: 2,
		tokens: { before: 900, after: 200 },
	},
};

/** The lines of the product's own metrics, without those of the histogram's buckets. */
async function own(text: Promise<string>): Promise<string[]> {
	return (await text).split("\n").filter((line) => line.startsWith("palimpsest_") && !line.includes("_bucket"));
}

describe("metrics", () => {
	it("count calls, their sizes and times, and removed tokens", async () => {
		const metrics = await createMetrics({});
		metrics.onCallEnd(end);
		metrics.onCallEnd({ ...end, outcome: "busy", report: undefined });
		metrics.onCallEnd({
			...end,
			tool: "truncate_output",
			report: { truncated: true, tokens: { before: 5, after: 1 } },
		});
		const lines = await own(metrics.text());
		expect(lines).toEqual(
			expect.arrayContaining([
				'palimpsest_calls_total{tool="mask_conversation",outcome="ok"} 1',
				'palimpsest_calls_total{tool="mask_conversation",outcome="busy"} 1',
				'palimpsest_call_duration_seconds_count{tool="mask_conversation"} 2',
				'palimpsest_call_duration_seconds_sum{tool="mask_conversation"} 0.08',
				'palimpsest_call_request_bytes_total{tool="mask_conversation"} 2000',
				'palimpsest_tokens_before_total{tool="mask_conversation"} 900',
				'palimpsest_tokens_after_total{tool="mask_conversation"} 200',
				'palimpsest_masked_tool_results_total{tool="mask_conversation"} 3',
				'palimpsest_truncations_total{tool="mask_conversation"} 1',
				'palimpsest_truncations_total{tool="truncate_output"} 1',
				'palimpsest_dropped_messages_total{tool="mask_conversation"} 2',
			]),
		);
		expect(lines.join("\n")).not.toContain("alice");
	});

	it("report how busy the server is at the time they are read", async () => {
		const pool = { running: 2, queued: 5, capacity: 3 };
		const metrics = await createMetrics({ pool: () => pool, running: () => 7 });
		expect(await own(metrics.text())).toContain("palimpsest_pool_queued 5");
		pool.queued = 0;
		expect(await own(metrics.text())).toEqual(
			expect.arrayContaining([
				"palimpsest_requests_running 7",
				"palimpsest_pool_running 2",
				"palimpsest_pool_queued 0",
				"palimpsest_pool_capacity 3",
			]),
		);
	});

	it("belong to one server each, in addition to the process's own", async () => {
		const [one, other] = [await createMetrics({}), await createMetrics({})];
		one.onCallEnd(end);
		expect((await own(other.text())).join("\n")).not.toContain("mask_conversation");
		expect(await other.text()).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
		expect(await other.text()).toMatch(/^process_resident_memory_bytes /m);
		expect(other.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
	});

	it("report an error that names the package when it is not installed", async () => {
		const absent = createMetrics({}, () => Promise.reject(new Error("Cannot find package")));
		await expect(absent).rejects.toMatchObject({
			code: "invalid_argument",
			message: "Metrics need the package prom-client. Install it: npm install prom-client",
		});
	});
});
