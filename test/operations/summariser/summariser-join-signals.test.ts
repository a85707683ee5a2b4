import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { joinSignals } from "../../../src/operations/summariser/summariser.ts";

describe("joined signals", () => {
	it.each([0, 1])("are aborted like signal %i, with its reason", (which) => {
		const controllers = [new AbortController(), new AbortController()];
		const { signal } = joinSignals(...controllers.map((one) => one.signal));
		expect(signal.aborted).toBe(false);
		const reason = new Error("enough");
		controllers[which]?.abort(reason);
		expect([signal.aborted, signal.reason]).toEqual([true, reason]);
	});

	it("are aborted at once when one is already aborted", () => {
		const { signal } = joinSignals(new AbortController().signal, AbortSignal.abort("over"));
		expect([signal.aborted, signal.reason]).toEqual([true, "over"]);
	});

	it("leave no listener on a signal that outlives them", () => {
		const lasting = new AbortController();
		const joined = Array.from({ length: 50 }, () => joinSignals(new AbortController().signal, lasting.signal));
		expect(getEventListeners(lasting.signal, "abort")).toHaveLength(50);
		for (const { release } of joined) release();
		expect(getEventListeners(lasting.signal, "abort")).toHaveLength(0);
		lasting.abort();
		expect(joined.some(({ signal }) => signal.aborted)).toBe(false);
	});
});
