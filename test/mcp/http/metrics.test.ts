import { describe, expect, it } from "vitest";
import { createPrincipalArchives } from "../../../src/mcp/archives.ts";
import { createMetrics, measureArchives } from "../../../src/mcp/http/metrics.ts";
import type { CallEnd } from "../../../src/mcp/run-tool.ts";
import { resolvePolicy } from "../../../src/policy/layers.ts";

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

	it("report how busy the server is and the archive's size at the time they are read", async () => {
		const pool = { running: 2, queued: 5, capacity: 3 };
		let size: { originals: number; bytes: number } | undefined;
		const metrics = await createMetrics({ pool: () => pool, running: () => 7, archive: () => size });
		expect(await own(metrics.text())).toEqual(
			expect.arrayContaining(["palimpsest_pool_queued 5", "palimpsest_archive_bytes Nan"]),
		);
		[pool.queued, size] = [0, { originals: 4, bytes: 4_000 }];
		expect(await own(metrics.text())).toEqual(
			expect.arrayContaining([
				"palimpsest_requests_running 7",
				"palimpsest_pool_running 2",
				"palimpsest_pool_queued 0",
				"palimpsest_pool_capacity 3",
				"palimpsest_archive_originals 4",
				"palimpsest_archive_bytes 4000",
			]),
		);
	});

	it("belong to one server each, beside the process's own", async () => {
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

describe("the size of archives", () => {
	const stats = { namespace: "n", location: "memory", originals: 2, bytes: 30, oldestUse: null };
	const sourceOf = (answer: () => Promise<unknown>) =>
		({ use: (work: (archive: unknown) => unknown) => work({ stats: answer }), end() {} }) as never;

	it("is measured in the background for all used archives, and not again at once", async () => {
		let asked = 0;
		const source = sourceOf(async () => {
			asked += 1;
			return stats;
		});
		const size = measureArchives(() => [source, source]);
		expect(size()).toBeUndefined();
		await new Promise((resolve) => setImmediate(resolve));
		for (let time = 0; time < 20; time += 1) expect(size()).toEqual({ originals: 4, bytes: 60 });
		expect(asked).toBe(2);
	});

	it("is unknown when an archive is unreachable", async () => {
		const size = measureArchives(() => [sourceOf(() => Promise.reject(new Error("gone")))]);
		size();
		await new Promise((resolve) => setImmediate(resolve));
		expect(size()).toBeUndefined();
	});

	it("is that of the most recently used archives", () => {
		const location = { where: "memory", namespace: "default" };
		const archives = createPrincipalArchives({ location, policy: () => resolvePolicy([]) });
		const [first, second] = [archives.of("token first"), archives.of("token second")];
		const others = Array.from({ length: 63 }, (_, index) => archives.of(`token ${index}`));
		expect(archives.of("token first")).toBe(first);
		const current = [...archives.current()];
		expect(current).toEqual([...others, first]);
		expect(current).not.toContain(second);
		archives.end();
	});
});
