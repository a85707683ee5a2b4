import { describe, expect, it } from "vitest";
import { callArguments } from "../../src/engine/call-arguments.ts";
import { messageParts } from "../../src/engine/compaction/message-parts.ts";
import { messageOf } from "../support/transcripts.ts";

const named = (...names: (string | undefined)[]) => names.map((name, index) => ({ id: `c${index}`, name }));

describe("callArguments", () => {
	it("finds the arguments behind the names, in the order of the calls", () => {
		const counted = ["I look.", "ls", '{"path":"a"}', "read", '{"path":"b"}', "ls", "{}"];
		expect(callArguments(messageOf({ calls: named("ls", "read", "ls"), counted }))).toEqual([
			'{"path":"a"}',
			'{"path":"b"}',
			"{}",
		]);
	});

	it("knows none of a call that the format counts otherwise", () => {
		const counted = ["read", "{}", "opaque"];
		expect(callArguments(messageOf({ calls: named("search", "read"), counted }))).toEqual([undefined, "{}"]);
		expect(callArguments(messageOf({ calls: named("read", "search"), counted }))).toEqual(["{}", undefined]);
		expect(callArguments(messageOf({ calls: named("ls"), counted: ["ls"] }))).toEqual([undefined]);
		expect(callArguments(messageOf({ counted }))).toEqual([]);
	});

	it("takes a call without a name for one with an empty name", () => {
		expect(callArguments(messageOf({ calls: named(undefined), counted: ["", "{}"] }))).toEqual(["{}"]);
	});

	it("does not take arguments that read like a name for a call", () => {
		const counted = ["ls", "ls", "ls", "-a"];
		expect(callArguments(messageOf({ calls: named("ls", "ls"), counted }))).toEqual(["ls", "-a"]);
	});

	it("takes a message of very many calls and texts", () => {
		const names = Array.from({ length: 100_000 }, (_, index) => `tool${index % 7}`);
		const counted = [...names.map(() => "a text"), ...names.flatMap((name, index) => [name, `${index}`])];
		const found = callArguments(messageOf({ calls: named(...names), counted }));
		expect(found.filter((text, index) => text === `${index}`)).toHaveLength(100_000);
	});

	it("serves what a summary's prompt shows, where a call is shown by its name alone", () => {
		const counted = ["I look.", "read", "{}", "opaque"];
		const parts = messageParts(messageOf({ calls: named("search", "read", "list"), counted }), []);
		expect(parts.map(({ kind, label, text }) => [kind, label, text])).toEqual([
			["text", "", "I look."],
			["text", "", "opaque"],
			["call", "search", ""],
			["call", "read", "{}"],
			["call", "list", ""],
		]);
	});
});
