import { describe, expect, it } from "vitest";
import { groupMessages } from "../../src/engine/groups.ts";
import { pairResults } from "../../src/engine/pairing.ts";
import type { Message } from "../../src/engine/transcript.ts";
import { messageOf, resultOf, transcriptOf } from "../support/transcripts.ts";

const calling = (...ids: (string | undefined)[]) => messageOf({ calls: ids.map((id) => ({ id, name: "ls" })) });
const answering = (...ids: (string | undefined)[]) =>
	messageOf({ role: "tool", results: ids.map((id) => resultOf(id)) });
const plain = messageOf({ role: "user" });

function groups(...messages: readonly Message[]): (readonly number[])[] {
	const transcript = transcriptOf(...messages);
	return groupMessages(transcript, pairResults(transcript)).map((group) => group.messages);
}

describe("groupMessages", () => {
	it("a plain message is a group of its own", () => {
		expect(groups(plain, plain)).toEqual([[0], [1]]);
	});

	it("a message with calls goes with all its results", () => {
		expect(groups(plain, calling("a", "b"), answering("b"), answering("a"), plain)).toEqual([[0], [1, 2, 3], [4]]);
	});

	it("results that stand apart are joined, oldest group first by its first message", () => {
		expect(groups(calling("a", "b"), answering("a"), plain, answering("b"))).toEqual([[0, 1, 3], [2]]);
	});

	it("a message that answers two turns joins both", () => {
		expect(groups(calling("a"), calling("b"), answering("b", "a"), plain)).toEqual([[0, 1, 2], [3]]);
	});

	it("a chain of joined turns is one group, whatever the order of joining", () => {
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

	it("an orphan is a group of its own", () => {
		expect(groups(calling("a"), answering("ghost"), answering("a"))).toEqual([[0, 2], [1]]);
	});

	it("a result without an id goes with the nearest preceding message that made calls", () => {
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
