import type { ServerNotification } from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { expect, it } from "vitest";
import { callProgress } from "../../src/mcp/tool.ts";
import type { SummaryProgress } from "../../src/operations/summariser/summariser.ts";

/** What a client that asked for progress is told. */
function toldOf(progress: readonly SummaryProgress[]) {
	const sent: ServerNotification[] = [];
	const tell = callProgress({ progressToken: 0, sendNotification: async (one) => void sent.push(one) });
	for (const one of progress) tell?.(one);
	return sent.map(({ params }) => params as { progressToken: number; progress: number; _meta?: object });
}

const seconds = fc.double({ min: 0, max: 1_000, noNaN: true });
const steps = fc.array(
	fc.oneof(
		fc.record({
			kind: fc.constant("phase" as const),
			phase: fc.constant("waiting" as const),
			elapsed: seconds,
		}),
		fc.record({
			kind: fc.constant("retry" as const),
			attempt: fc.integer({ min: 1, max: 3 }),
			max_retries: fc.constant(3),
			delay: seconds,
			code: fc.constant("timeout" as const),
			status_code: fc.constant(undefined),
		}),
	),
	{ minLength: 2, maxLength: 30 },
);

it("each number exceeds the previous one, at any time on the clock", () => {
	let retries = 0;
	fc.assert(
		fc.property(steps, (progress) => {
			const told = toldOf(progress);
			expect(told).toHaveLength(progress.length);
			told.forEach(({ progress: number, progressToken }, index) => {
				expect(progressToken).toBe(0);
				expect(number).toBeGreaterThan(told[index - 1]?.progress ?? 0);
			});
			retries += progress.filter((one) => one.kind === "retry").length;
		}),
	);
	expect(retries).toBeGreaterThan(100);
	const between = [0.0015, 0.0015, 0.0015, 1.4995, 0].map(
		(elapsed) => ({ kind: "phase", phase: "waiting", elapsed }) as const,
	);
	expect(new Set(toldOf(between).map(({ progress }) => progress)).size).toBe(between.length);
});

it("a retry is reported as documented, and only on request (docs/compaction.md#retries)", () => {
	const retry = { kind: "retry", attempt: 2, max_retries: 3, delay: 4, code: "rate_limit", status_code: 429 } as const;
	expect(toldOf([retry])[0]?._meta).toEqual({ "palimpsest/retry": { attempt: 2, max_retries: 3, delay: 4 } });
	expect(callProgress({ progressToken: undefined, sendNotification: async () => undefined })).toBeUndefined();
});

it("a client that disconnected is not logged as a defect", async () => {
	const tell = callProgress({ progressToken: "t", sendNotification: () => Promise.reject(new Error("gone")) });
	tell?.({ kind: "phase", phase: "asking", elapsed: 0 });
	await new Promise((resolve) => setImmediate(resolve));
});
