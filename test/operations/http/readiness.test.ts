import { describe, expect, it } from "vitest";
import { createReadiness } from "../../../src/operations/http/readiness.ts";

describe("server readiness", () => {
	it("holds without an archive until shutdown", async () => {
		const readiness = createReadiness({});
		expect(await readiness.current()).toEqual({ ready: true });
		void readiness.beginShutdown();
		expect(await readiness.current()).toEqual({ ready: false, reason: "shutting_down" });
	});

	it("gives a balancer that asks again and again time to send its requests elsewhere, and nobody else", async () => {
		const readiness = createReadiness({});
		await readiness.current();
		await readiness.beginShutdown(Number.POSITIVE_INFINITY);
		const asked = createReadiness({});
		await asked.current();
		await asked.current();
		let isOver = false;
		const over = asked.beginShutdown(30).then(() => {
			isOver = true;
		});
		await new Promise((resolve) => setImmediate(resolve));
		expect([isOver, await asked.current()]).toEqual([false, { ready: false, reason: "shutting_down" }]);
		await over;
	});

	it("is lost while the archive is unusable, and returns with it", async () => {
		let isThere = false;
		const probe = async () => {
			if (!isThere) throw new Error("not there");
		};
		const readiness = createReadiness({ probe, freshMilliseconds: 0 });
		expect(await readiness.current()).toEqual({ ready: false, reason: "archive_unavailable" });
		isThere = true;
		expect(await readiness.current()).toEqual({ ready: true });
	});

	it("does not wait for an archive that hangs, and probes it once for all requests", async () => {
		let asked = 0;
		let answer = (): void => {};
		const probe = () => {
			asked += 1;
			return new Promise<void>((resolve) => {
				answer = resolve;
			});
		};
		const readiness = createReadiness({ probe, patienceMilliseconds: 20, freshMilliseconds: 60_000 });
		const all = await Promise.all(Array.from({ length: 50 }, () => readiness.current()));
		expect(all).toEqual(Array.from({ length: 50 }, () => ({ ready: false, reason: "archive_timeout" })));
		expect(await readiness.current()).toEqual({ ready: false, reason: "archive_timeout" });
		expect(asked).toBe(1);
		answer();
		await new Promise((resolve) => setImmediate(resolve));
		for (let time = 0; time < 50; time += 1) expect(await readiness.current()).toEqual({ ready: true });
		expect(asked).toBe(1);
	});

	it("reports a shutdown that begins during the probe", async () => {
		let answer = (): void => {};
		const readiness = createReadiness({ probe: () => new Promise<void>((resolve) => (answer = resolve)) });
		const found = readiness.current();
		void readiness.beginShutdown();
		answer();
		expect(await found).toEqual({ ready: false, reason: "shutting_down" });
	});
});
