import { describe, expect, it } from "vitest";
import { findStale } from "../../src/masking/staleness.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";
import { bash, type Called, called, edit, read } from "./called.ts";

/** For each call `n`, as in `called`: why its result is out of date, and by which later call. */
const staleOf = (...all: Called[]) =>
	findStale(transcriptOf(...called(...all))).map((one) => one && [one.reason, (one.from - 1) / 2]);

describe("findStale", () => {
	it("finds a file read again completely", () => {
		expect(staleOf(read("/a", "first text"), read("/b"), read("/a", "another text"))).toEqual([
			["reread", 2],
			undefined,
			undefined,
		]);
		expect(staleOf(read("/a", "x".repeat(60), [5, 9]), bash("cat ./b; cat /a", "y".repeat(60)))).toEqual([
			["reread", 1],
			undefined,
		]);
	});

	it("finds lines contained in a later read", () => {
		const reads = [
			read("/a", "lines 5-9", [5, 9]),
			read("/a", "lines 10-12", [10, 12]),
			read("/a", "lines 1-11", [1, 11]),
		];
		expect(staleOf(...reads)).toEqual([["covered", 2], undefined, undefined]);
		expect(staleOf(read("/a", "all of it"), read("/a", "lines 1-9", [1, 9]))).toEqual([undefined, undefined]);
		expect(staleOf(read("/a", "x", [1, 2]), read("/a", "y", [3, 4]), read("/a", "lines", [1, 9]))).toEqual([
			["covered", 2],
			["covered", 2],
			undefined,
		]);
	});

	it("finds a file written later, and the text shown by earlier edits of it", () => {
		expect(staleOf(read("/a"), edit("/a", "first"), edit("/a", "second"), edit("/b"))).toEqual([
			["edited", 1],
			["edited", 2],
			undefined,
			undefined,
		]);
		expect(staleOf(read("/a"), bash("sed -i s/x/y/ /a"))[0]).toEqual(["edited", 1]);
	});

	it("finds the same text in a later result, before any other reason", () => {
		expect(staleOf(bash("x", "same"), bash("y", "other"), bash("z", "same"), bash("x", "same"))).toEqual([
			["identical", 2],
			undefined,
			["identical", 3],
			undefined,
		]);
		expect(staleOf(read("/a", "same"), read("/a", "same"))[0]).toEqual(["identical", 1]);
		const left = (tokens: number) => `same\n\n<system-reminder>${tokens} tokens left</system-reminder>`;
		expect(staleOf(bash("x", left(9_000)), bash("y", left(8_000)))[0]).toEqual(["identical", 1]);
		expect(staleOf(bash("x", ""), bash("y", ""))).toEqual([undefined, undefined]);
	});

	it("distinguishes different texts of equal length, however long", () => {
		const long = (end: string) => `${"x".repeat(40_000)}${end}`;
		expect(staleOf(bash("x", long("a")), bash("y", long("b")), bash("z", long("a")))).toEqual([
			["identical", 2],
			undefined,
			undefined,
		]);
	});

	it("finds a repeated command, but no page turns or polls", () => {
		expect(staleOf(bash("npm test", "1 failed"), bash("npm test", "all passed"))[0]).toEqual(["repeated", 1]);
		expect(staleOf(bash("open a.py", "page 1"), bash("goto 9", "page 2"), bash("goto 9", "page 2 now"))).toEqual([
			undefined,
			undefined,
			undefined,
		]);
		const poll = (text: string) => ({ name: "read_output", given: { id: 5 }, text });
		expect(staleOf(poll("a"), poll("b"))).toEqual([undefined, undefined]);
	});

	it("gives the first reason, and of several at once the one that says most", () => {
		const whole = "x".repeat(60);
		expect(staleOf(bash("npm test", "same"), bash("npm test", "same"), bash("npm test", "same"))).toEqual([
			["identical", 1],
			["identical", 2],
			undefined,
		]);
		expect(staleOf(bash("npm test", "one"), bash("npm test", "two"), bash("ls", "one"))[0]).toEqual(["repeated", 1]);
		expect(staleOf(read("/a", whole), read("/a", `${whole}!`), edit("/a"))[0]).toEqual(["reread", 1]);
		expect(staleOf(read("/a", whole), edit("/a", "done"), read("/a", whole))[0]).toEqual(["edited", 1]);
	});

	it("finds no repeated write, nor a repeated call of which nothing is known", () => {
		const write = (text: string) => bash("echo x > /a", text);
		expect(staleOf(write("one"), write("two"))[0]?.[0]).not.toBe("repeated");
		const poll = (text: string) => ({ name: "poll", given: { id: 5 }, text });
		expect(staleOf(poll("one"), poll("two"))[0]).toBeUndefined();
		expect(staleOf(bash("ls /x", "one"), bash("ls /x", "two"))[0]).toEqual(["repeated", 1]);
		expect(staleOf(bash("grep a /x", "one"), bash("grep a /x", "two"))[0]).toEqual(["repeated", 1]);
	});

	it("does not count lines as covered by an unknown part, nor an unknown part by lines", () => {
		const part = bash("tail -3 /a", "x".repeat(40));
		expect(staleOf(part, read("/a", "y".repeat(60), [1, 99]))[0]).toBeUndefined();
		expect(staleOf(read("/a", "y".repeat(40), [1, 9]), part)[0]).toBeUndefined();
		expect(staleOf(part, { ...part, text: "z".repeat(40) })[0]).toBeUndefined();
		expect(staleOf(read("/a", "y".repeat(40), [2, 9]), read("/a", "x".repeat(60), [2, 9]))[0]).toEqual(["covered", 1]);
		for (const [from, to] of [
			[3, 9],
			[2, 8],
			[9, 12],
		] as const) {
			expect(staleOf(read("/a", "y".repeat(40), [2, 9]), read("/a", "x".repeat(60), [from, to]))[0]).toBeUndefined();
		}
	});

	it("takes a read of less than half the length for a notice, by the files of a result", () => {
		const again = (length: number) => staleOf(read("/a", "x".repeat(100)), read("/a", "y".repeat(length)))[0];
		expect([again(49), again(50)]).toEqual([undefined, ["reread", 1]]);
		const ofTwo = (length: number) =>
			staleOf(bash("cat /a /b", "x".repeat(100)), read("/a", "y".repeat(length)), read("/b", "z".repeat(length)))[0];
		expect([ofTwo(24), ofTwo(25)]).toEqual([undefined, ["reread", 2]]);
	});

	it("waits until all files of a result are outdated", () => {
		expect(staleOf(bash("cat /a /b"), read("/a"), bash("ls"), read("/b"))[0]).toEqual(["reread", 3]);
	});

	it("does not treat a failed call as a read or an edit, nor its error as a newer state", () => {
		const refused = { ...edit("/a"), text: "<tool_use_error>String to replace not found in file.</tool_use_error>" };
		expect(staleOf(read("/a"), { ...read("/a", "x".repeat(60)), isError: true }, refused)[0]).toBeUndefined();
		expect(staleOf(bash("npm test", "fine"), { ...bash("npm test", "aborted"), isError: true })[0]).toBeUndefined();
	});

	it("does not treat a notice as the content it replaces", () => {
		const notice = "File unchanged since last read.";
		expect(staleOf(read("/a", "content ".repeat(20)), read("/a", notice))[0]).toBeUndefined();
	});

	it("treats parallel calls by the message that contains both", () => {
		const calls = ["c1", "c2"].map((id) => ({ id, name: "read" }));
		const counted = calls.flatMap(({ name }) => [name, '{"path":"/a"}']);
		const transcript = transcriptOf(
			messageOf({ calls, counted }),
			messageOf({ role: "tool", results: [resultOf("c1", "same"), resultOf("c2", "same")] }),
		);
		expect(findStale(transcript)).toEqual([{ from: 1, reason: "identical" }, undefined]);
	});

	it("gives the reason that says most of several results in one message", () => {
		const calls = [
			{ id: "c1", name: "edit" },
			{ id: "c2", name: "poll" },
		];
		const counted = ["edit", '{"path":"/a","old_string":"a"}', "poll", '{"id":5}'];
		const transcript = transcriptOf(
			...called(read("/a", "same")),
			messageOf({ calls, counted }),
			messageOf({ role: "tool", results: [resultOf("c1", "Edited."), resultOf("c2", "same")] }),
		);
		expect(findStale(transcript)[0]).toEqual({ from: 3, reason: "identical" });
	});

	it("compares only the text of orphans", () => {
		const orphan = (text: string) => messageOf({ role: "tool", results: [resultOf(undefined, text)] });
		expect(findStale(transcriptOf(orphan("a"), orphan("b"), orphan("a")))).toEqual([
			{ from: 2, reason: "identical" },
			undefined,
			undefined,
		]);
	});

	it("does not outdate a result by a placeholder, which only proves edits", () => {
		const reasons = (masked: number, ...all: Called[]) =>
			findStale(transcriptOf(...called(...all)), new Set([masked])).map((one) => one?.reason);
		expect(reasons(1, read("/a"), read("/a", "[masked]"))).toEqual(["edited", undefined]);
		expect(reasons(1, bash("ls /x"), bash("ls /x", "[masked]"))).toEqual([undefined, undefined]);
		expect(reasons(1, bash("ls /x"), bash("ls /x", "[masked]"), bash("ls /x"))).toEqual([
			"identical",
			"repeated",
			undefined,
		]);
		// The file was edited in between, so the later read shows another state of it.
		const both = bash("cat /a /b", "x".repeat(60));
		expect(reasons(1, both, edit("/a", "[masked]"), read("/b", "y".repeat(60)))[0]).toBe("edited");
	});
});
