import { describe, expect, it } from "vitest";
import { ask, summariserError } from "./asking.ts";
import { complete, refuse } from "./chat-server.ts";
import { clockStart } from "./fake-clock.ts";

const seconds = (given: number) => new Date(clockStart + given * 1000).toUTCString();

describe("retrying", () => {
	it.each([429, 500, 502, 503, 504])("HTTP %i: three retries after 2, 4 and 8 s, then success", async (status) => {
		const asked = await ask([refuse(status), refuse(status), refuse(status), complete("at last")]);
		expect(asked.answer?.text).toBe("at last");
		expect(asked.server.requests.length).toBe(4);
		expect(asked.delays).toEqual([2, 4, 8]);
	});

	it.each([
		[429, "rate_limit"],
		[500, "server_error"],
		[502, "server_error"],
		[503, "server_error"],
		[504, "server_error"],
		[408, "timeout"],
	] as const)("HTTP %i on each try is %s after four tries", async (status, code) => {
		const asked = await ask([refuse(status)]);
		expect(summariserError(asked)).toMatchObject({ code, status_code: status, is_retryable: true });
		expect(asked.server.requests.length).toBe(4);
		expect(asked.delays).toEqual([2, 4, 8]);
	});

	it("reports each retry before the wait, and each request", async () => {
		const { progress } = await ask([refuse(503), refuse(429), complete()]);
		expect(progress.filter(({ kind }) => kind === "retry")).toEqual([
			{ kind: "retry", attempt: 1, max_retries: 3, delay: 2, code: "server_error", status_code: 503 },
			{ kind: "retry", attempt: 2, max_retries: 3, delay: 4, code: "rate_limit", status_code: 429 },
		]);
		const phases = progress.flatMap((one) => (one.kind === "phase" && one.phase === "asking" ? [one] : []));
		expect(phases.map(({ elapsed }) => elapsed)).toEqual([0, 2, 6]);
	});

	it.each([
		["seconds", "7", 7],
		["fractions of a second", "0.5", 0.5],
		["a date", seconds(30), 30],
		["a date of the older kinds", "Thursday, 15-Jan-26 10:00:12 GMT", 12],
		["more than a minute", "86400", 60],
		["a date far off", "Fri, 01 Jan 2100 00:00:00 GMT", 60],
		["endless digits", "9".repeat(400), 60],
		["nothing to wait for", "0", 2],
		["a date in the past", seconds(-3600), 2],
		["a negative number", "-5", 2],
		["words", "soon", 2],
		["an empty field", "", 2],
		["an invalid date", "Mon, 99 Foo 2026 99:99:99 GMT", 2],
	])("honours a Retry-After of %s", async (_, field, delay) => {
		const asked = await ask([refuse(429, { "retry-after": field }), complete()]);
		expect(asked.answer?.text).toBe("a summary");
		expect(asked.delays).toEqual([delay]);
		expect(asked.progress).toContainEqual(expect.objectContaining({ kind: "retry", attempt: 1, delay }));
	});

	it("continues with the usual backoff after a Retry-After", async () => {
		const asked = await ask([refuse(429, { "retry-after": "1" }), refuse(429), refuse(429), complete()]);
		expect(asked.delays).toEqual([1, 4, 8]);
	});

	it("adds jitter only when configured, up to its share, and never waits less", async () => {
		const behaviours = [refuse(429), refuse(429, { "retry-after": "10" }), refuse(429), complete()];
		const most = await ask(behaviours, { retry: { jitter: 0.25 }, random: () => 0.999_999 });
		expect(most.delays).toEqual([2.499, 12.499, 9.999]);
		const least = await ask(behaviours, { retry: { jitter: 0.25 }, random: () => 0 });
		expect(least.delays).toEqual([2, 10, 8]);
		const none = await ask(behaviours, { random: () => 0.999_999 });
		expect(none.delays).toEqual([2, 10, 8]);
	});

	it("makes the configured number of retries", async () => {
		expect((await ask([refuse(500)], { retry: { maxRetries: 0 } })).server.requests.length).toBe(1);
		const more = await ask([refuse(500)], { retry: { maxRetries: 5, baseDelayMs: 100 } });
		expect(more.delays).toEqual([0.1, 0.2, 0.4, 0.8, 1.6]);
	});

	it("treats an undefined retry option as omitted", async () => {
		const retry = { maxRetries: undefined, baseDelayMs: 1_000 } as never;
		const asked = await ask([refuse(500)], { retry });
		expect(asked.delays).toEqual([1, 2, 4]);
	});

	it("ignores an observer that throws", async () => {
		const onProgress = () => {
			throw new Error("gone");
		};
		expect((await ask([refuse(500), complete()], {}, { onProgress })).answer?.text).toBe("a summary");
	});
});
