import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createUnreadLimit } from "../../../src/mcp/http/answers.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

type Outlet = Parameters<ReturnType<typeof createUnreadLimit>["written"]>[0];

interface StubOutlet extends Outlet {
	waits: number;
	isCut: boolean;
}

function stubOutlet(waits = 0): StubOutlet {
	const outlet: StubOutlet = {
		waits,
		isCut: false,
		get writableLength() {
			return outlet.waits;
		},
		destroy() {
			outlet.isCut = true;
			outlet.waits = 0;
		},
	};
	return outlet;
}

const limits = { bytesOfOne: 100, bytesOfAll: 250, stallMilliseconds: 1_000 };

it("disconnects only the client with too much unread data", () => {
	const unread = createUnreadLimit(limits);
	const [many, few] = [stubOutlet(101), stubOutlet(100)];
	for (const one of [few, many]) unread.written(one);
	expect([many.isCut, few.isCut]).toEqual([true, false]);
	expect(unread.bytes()).toBe(100);
});

it("when all have too much unread data, disconnects the client that read nothing for longest", () => {
	const unread = createUnreadLimit(limits);
	const outlets = [stubOutlet(100), stubOutlet(100), stubOutlet(50)];
	for (const one of outlets) {
		unread.written(one);
		vi.advanceTimersByTime(10);
	}
	const [first, second, third] = outlets;
	if (!first || !second || !third) throw new Error("Expected three.");
	first.waits -= 1;
	const last = stubOutlet(90);
	unread.written(last);
	expect([...outlets, last].map(({ isCut }) => isCut)).toEqual([false, true, false, false]);
	expect(unread.bytes()).toBe(239);
});

it("disconnects a client that reads nothing for the given time, not one that reads slowly", () => {
	const unread = createUnreadLimit(limits);
	const [stalled, slow] = [stubOutlet(80), stubOutlet(80)];
	for (const one of [stalled, slow]) unread.written(one);
	for (let time = 0; time < 3_000; time += 500) {
		slow.waits -= 1;
		vi.advanceTimersByTime(500);
	}
	expect([stalled.isCut, slow.isCut]).toEqual([true, false]);
	slow.waits = 0;
	vi.advanceTimersByTime(500);
	expect(unread.size()).toBe(0);
	expect(vi.getTimerCount()).toBe(0);
});

it("restarts the time when everything was read in between", () => {
	const unread = createUnreadLimit(limits);
	const outlet = stubOutlet(50);
	unread.written(outlet);
	vi.advanceTimersByTime(750);
	outlet.waits = 0;
	vi.advanceTimersByTime(250);
	outlet.waits = 50;
	unread.written(outlet);
	vi.advanceTimersByTime(750);
	expect(outlet.isCut).toBe(false);
	vi.advanceTimersByTime(750);
	expect(outlet.isCut).toBe(true);
});
