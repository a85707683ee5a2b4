import { afterEach, describe, expect, it, vi } from "vitest";
import { beginComputing, createJobPhase, terminationOf } from "../../../src/mcp/pool/pool.ts";

afterEach(() => {
	vi.useRealTimers();
});

/** A job of which both sides are in this thread. */
function jobOf() {
	const cancelled = new AbortController();
	const phase = createJobPhase();
	const termination = terminationOf(phase, cancelled.signal);
	const begin = () => beginComputing(phase);
	return { cancel: () => cancelled.abort(new Error("not wanted")), termination, begin };
}

describe("a cancelled job", () => {
	it("that computes is terminated at once, with the reason of the cancellation", () => {
		const { cancel, termination, begin } = jobOf();
		begin();
		expect(termination.signal.aborted).toBe(false);
		cancel();
		expect(termination.signal.aborted).toBe(true);
		expect(termination.signal.reason).toEqual(new Error("not wanted"));
	});

	it("that has not begun is not terminated, and fails when it begins", () => {
		const { cancel, termination, begin } = jobOf();
		cancel();
		expect(termination.signal.aborted).toBe(false);
		expect(begin).toThrow("No caller waits for this job.");
		termination.release();
	});

	it("that reads or writes finishes that and fails then", async () => {
		const { cancel, termination, begin } = jobOf();
		const duringFiles = begin();
		const done: string[] = [];
		const work = duringFiles(async () => {
			await duringFiles(async () => done.push("one"));
			cancel();
			await duringFiles(async () => done.push("two"));
			done.push("three");
		});
		await expect(work).rejects.toThrow("No caller waits for this job.");
		expect(done).toEqual(["one", "two", "three"]);
		expect(termination.signal.aborted).toBe(false);
		await expect(duringFiles(async () => done.push("more"))).rejects.toThrow("No caller waits for this job.");
		expect(done).toHaveLength(3);
		termination.release();
	});

	it("is terminated after half a minute of one read or write", () => {
		vi.useFakeTimers();
		const { cancel, termination, begin } = jobOf();
		void begin()(() => new Promise(() => {}));
		cancel();
		vi.advanceTimersByTime(29_999);
		expect(termination.signal.aborted).toBe(false);
		vi.advanceTimersByTime(1);
		expect(termination.signal.aborted).toBe(true);
	});

	it("whose signal was aborted before is treated the same", () => {
		const phase = createJobPhase();
		beginComputing(phase);
		expect(terminationOf(phase, AbortSignal.abort("gone")).signal.reason).toBe("gone");
	});
});

it("a job that is over leaves no timer, and its cancellation no longer does anything", () => {
	vi.useFakeTimers();
	const [one, other] = [jobOf(), jobOf()];
	one.cancel();
	one.termination.release();
	expect(vi.getTimerCount()).toBe(0);
	other.begin();
	other.termination.release();
	other.cancel();
	expect(other.termination.signal.aborted).toBe(false);
});

it("work with files returns its result and its error, and the job computes between", async () => {
	const { cancel, termination, begin } = jobOf();
	const duringFiles = begin();
	expect(await duringFiles(async () => 7)).toBe(7);
	await expect(duringFiles(async () => Promise.reject(new Error("full")))).rejects.toThrow("full");
	cancel();
	expect(termination.signal.aborted).toBe(true);
});
