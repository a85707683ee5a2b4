import { describe, expect, it } from "vitest";
import { renderRange } from "../../../src/engine/compaction/range.ts";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import {
	callArguments,
	groupMessages,
	locateCallArguments,
	pairResults,
	toolTurns,
} from "../../../src/engine/conversation/turns.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const named = (...names: (string | undefined)[]) => names.map((name, index) => ({ id: `c${index}`, name }));

describe("callArguments", () => {
	it("finds the arguments after the names, in the order of the calls", () => {
		const counted = ["I look.", "ls", '{"path":"a"}', "read", '{"path":"b"}', "ls", "{}"];
		expect(callArguments(messageOf({ calls: named("ls", "read", "ls"), counted }))).toEqual([
			'{"path":"a"}',
			'{"path":"b"}',
			"{}",
		]);
	});

	it("finds none for a call that the format counts otherwise", () => {
		const counted = ["read", "{}", "opaque"];
		expect(callArguments(messageOf({ calls: named("search", "read"), counted }))).toEqual([undefined, "{}"]);
		expect(callArguments(messageOf({ calls: named("read", "search"), counted }))).toEqual(["{}", undefined]);
		expect(callArguments(messageOf({ calls: named("ls"), counted: ["ls"] }))).toEqual([undefined]);
		expect(callArguments(messageOf({ counted }))).toEqual([]);
		expect(callArguments(messageOf({ calls: named("ls"), counted: ["", "x", "ls", "{}"] }))).toEqual(["{}"]);
		expect(callArguments(messageOf({ counted: ["", "x"] }))).toEqual([]);
	});

	it("finds none before the arguments of an earlier call, and none after the last text", () => {
		const counted = ["b", "{b}", "a", "{a}"];
		expect(callArguments(messageOf({ calls: named("x", "a", "b"), counted }))).toEqual([undefined, undefined, "{b}"]);
		expect(locateCallArguments(messageOf({ calls: named("ls"), counted: ["x", "ls"] }))).toEqual([undefined]);
		expect(locateCallArguments(messageOf({ calls: named("ls"), counted: ["ls", "x"] }))).toEqual([1]);
	});

	it("are those in the message's own words, if nothing else has them", () => {
		const calls = [
			{ id: "a", name: "bash", input: "ls -la" },
			{ id: "b", name: "read", input: "no" },
		];
		expect(callArguments(messageOf({ calls, counted: ["I run ls -la.", "read", "{}"] }))).toEqual(["ls -la", "{}"]);
	});

	it("treats a call without a name as one with an empty name", () => {
		expect(callArguments(messageOf({ calls: named(undefined), counted: ["", "{}"] }))).toEqual(["{}"]);
	});

	it("does not mistake arguments that read like a name for a call", () => {
		const counted = ["ls", "ls", "ls", "-a"];
		expect(callArguments(messageOf({ calls: named("ls", "ls"), counted }))).toEqual(["ls", "-a"]);
	});

	it("handles a message with a large number of calls and texts", () => {
		const names = Array.from({ length: 100_000 }, (_, index) => `tool${index % 7}`);
		const counted = [...names.map(() => "a text"), ...names.flatMap((name, index) => [name, `${index}`])];
		const found = callArguments(messageOf({ calls: named(...names), counted }));
		expect(found.filter((text, index) => text === `${index}`)).toHaveLength(100_000);
	});

	it("gives the parts for a summary's prompt, where a call is shown only by name", () => {
		const counted = ["I look.", "read", "{}", "opaque"];
		const transcript = transcriptOf(messageOf({ calls: named("search", "read", "list"), counted }));
		const given = { transcript, messages: [0], budget: 1_000, marker: "", countTokens: (text: string) => text.length };
		const [, ...lines] = renderRange(given).text.split("\n");
		expect(lines).toEqual(["I look.", "opaque", "-> search", "-> read {}", "-> list"]);
	});
});

const calling = (...ids: (string | undefined)[]) => messageOf({ calls: ids.map((id) => ({ id, name: "ls" })) });

const answering = (...ids: (string | undefined)[]) =>
	messageOf({ role: "tool", results: ids.map((id) => resultOf(id)) });

const plain = messageOf({ role: "user" });

function groups(...messages: readonly Message[]): (readonly number[])[] {
	const transcript = transcriptOf(...messages);
	return groupMessages(transcript, pairResults(transcript)).map((group) => group.messages);
}

describe("groupMessages", () => {
	it("a plain message is its own group", () => {
		expect(groups(plain, plain)).toEqual([[0], [1]]);
	});

	it("a message with calls is grouped with all its results", () => {
		expect(groups(plain, calling("a", "b"), answering("b"), answering("a"), plain)).toEqual([[0], [1, 2, 3], [4]]);
	});

	it("separate results are joined, oldest group first by its first message", () => {
		expect(groups(calling("a", "b"), answering("a"), plain, answering("b"))).toEqual([[0, 1, 3], [2]]);
	});

	it("a message that answers two turns joins both", () => {
		expect(groups(calling("a"), calling("b"), answering("b", "a"), plain)).toEqual([[0, 1, 2], [3]]);
	});

	it("a chain of joined turns is one group, in any order of joining", () => {
		expect(groups(calling("a"), calling("b"), calling("c"), answering("b", "c"), answering("a", "b"))).toEqual([
			[0, 1, 2, 3, 4],
		]);
	});

	it("reused ids make separate groups", () => {
		expect(groups(calling("a"), answering("a"), calling("a"), answering("a"))).toEqual([
			[0, 1],
			[2, 3],
		]);
	});

	it("an orphan is its own group", () => {
		expect(groups(calling("a"), answering("ghost"), answering("a"))).toEqual([[0, 2], [1]]);
	});

	it("a result without an id is grouped with the nearest preceding message with calls", () => {
		expect(
			groups(calling(undefined), answering(undefined), calling("a"), answering("a"), answering(undefined)),
		).toEqual([
			[0, 1],
			[2, 3, 4],
		]);
		expect(groups(answering(undefined), calling("a"))).toEqual([[0], [1]]);
	});

	it("every message is in exactly one group", () => {
		const all = groups(plain, calling("a"), answering("a", "b"), answering(undefined), calling("b"), plain).flat();
		expect(all.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
	});
});

const withCalls = (...ids: (string | undefined)[]) =>
	messageOf({ calls: ids.map((id, index) => ({ id, name: `${id}-${index}` })) });

const withResults = (...ids: (string | undefined)[]) =>
	messageOf({ role: "tool", results: ids.map((id) => resultOf(id)) });

const callers = (...messages: readonly Message[]) =>
	pairResults(transcriptOf(...messages)).map(({ message, caller }) => [message, caller]);

describe("pairResults", () => {
	it("pairs each result with the call of its id, in order of appearance", () => {
		expect(callers(withCalls("a", "b"), withResults("b"), withResults("a"))).toEqual([
			[1, 0],
			[2, 0],
		]);
	});

	it("a reused id belongs to the nearest preceding message", () => {
		expect(callers(withCalls("a"), withResults("a"), withCalls("a"), withResults("a"), withResults("a"))).toEqual([
			[1, 0],
			[3, 2],
			[4, 2],
		]);
	});

	it("never pairs with a later call", () => {
		expect(callers(withResults("a"), withCalls("a"))).toEqual([[0, undefined]]);
	});

	it("leaves orphans and results without an id unpaired", () => {
		expect(callers(withCalls("a", undefined), withResults("ghost", undefined))).toEqual([
			[1, undefined],
			[1, undefined],
		]);
	});

	it("returns the call itself, the right one of parallel ones", () => {
		const [paired] = pairResults(transcriptOf(withCalls("a", "b"), withResults("b")));
		expect(paired?.call).toEqual({ id: "b", name: "b-1" });
	});

	it("treats ids such as `__proto__` like any other", () => {
		expect(callers(withResults("__proto__"), withCalls("__proto__", "constructor"), withResults("__proto__"))).toEqual([
			[0, undefined],
			[2, 1],
		]);
	});
});

describe("toolTurns", () => {
	it("are the assistant messages with at least one call that has an id", () => {
		const userCall = { ...withCalls("u"), role: "user" as const };
		const transcript = transcriptOf(
			withCalls("a"),
			withResults("a"),
			withCalls(undefined),
			withCalls(undefined, "b"),
			messageOf(),
			userCall,
		);
		expect(toolTurns(transcript)).toEqual([0, 3]);
	});
});
