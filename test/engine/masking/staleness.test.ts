import { describe, expect, it } from "vitest";
import { findStale } from "../../../src/engine/masking/staleness.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";
import { bash, type Called, called, read } from "./called.ts";

/** For each result, the number of the call whose result makes it stale. */
const staleOf = (all: readonly Called[], masked: readonly number[] = []) =>
	findStale(transcriptOf(...called(...all)), new Set(masked)).map((from) => from && (from - 1) / 2);

describe("findStale", () => {
	it("finds the next result with the same text, of any call", () => {
		const all = [read("/a", "same"), bash("ls", "other"), bash("cat /a", "same"), read("/a", "same")];
		expect(staleOf(all)).toEqual([2, undefined, 3, undefined]);
		expect(staleOf([read("/a", "one"), read("/b", "two")])).toEqual([undefined, undefined]);
	});

	it("finds the next result of the same call, with any text", () => {
		const all = [bash("npm test", "1 failed"), bash("npm test -- a", "1 failed, 2 passed"), bash("npm test", "passed")];
		expect(staleOf(all)).toEqual([2, undefined, undefined]);
	});

	it("does not take a result of the same call for stale if the later one is less than half as long", () => {
		const whole = read("/a", "x".repeat(100));
		expect(staleOf([whole, read("/a", "y".repeat(49))])).toEqual([undefined, undefined]);
		expect(staleOf([whole, read("/a", "y".repeat(50))])).toEqual([1, undefined]);
	});

	it("distinguishes long texts of the same length", () => {
		const long = (path: string, end: string) => read(path, `${"x".repeat(20_000)}${end}`);
		expect(staleOf([long("/a", "a"), long("/b", "b"), long("/c", "a")])).toEqual([2, undefined, undefined]);
	});

	it("compares no empty texts and no placeholders", () => {
		expect(staleOf([bash("true", ""), bash("true", "")])).toEqual([undefined, undefined]);
		const all = [read("/a", "same"), read("/a", "same"), read("/a", "same")];
		expect(staleOf(all, [1])).toEqual([2, undefined, undefined]);
		expect(staleOf(all, [0, 2])).toEqual([undefined, undefined, undefined]);
	});

	it("leaves out the reminders that Claude Code puts behind a result", () => {
		const reminded = (left: number) => read("/a", `same\n\n<system-reminder>${left} tokens left</system-reminder>`);
		expect(staleOf([reminded(9), reminded(8)])).toEqual([1, undefined]);
	});

	it("compares orphans and results of one message", () => {
		const turn = messageOf({ role: "tool", results: [resultOf("a", "same"), resultOf("b", "same")] });
		expect(findStale(transcriptOf(turn))).toEqual([0, undefined]);
	});
});
