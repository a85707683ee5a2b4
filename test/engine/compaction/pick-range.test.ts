import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { pickRange } from "../../../src/engine/compaction/pick-range.ts";
import type { Message, Transcript } from "../../../src/engine/transcript.ts";
import { readConversation } from "../../../src/formats/read-conversation.ts";
import { conversations } from "../../support/conversation-arbitrary.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";
import { checkRange } from "./range-checks.ts";

const system = messageOf({ role: "system" });
const user = messageOf({ role: "user" });
const plain = messageOf({});
const call = (...ids: string[]) => messageOf({ calls: ids.map((id) => ({ id, name: "ls" })) });
const result = (...ids: string[]) => messageOf({ role: "tool", results: ids.map((id) => resultOf(id)) });

const pick = (keepLastMessages: number, ...messages: readonly Message[]) =>
	pickRange({ transcript: transcriptOf(...messages), keepLastMessages, pinTask: true });

describe("pickRange", () => {
	it("takes whole groups between the task and the last messages", () => {
		const range = pick(2, system, user, call("a"), result("a"), plain, user, plain);
		expect(range?.messages).toEqual([2, 3, 4]);
		expect(range?.groups.map((group) => group.messages)).toEqual([[2, 3], [4]]);
		expect(range?.first).toBe(2);
	});

	it("a group with one of the last messages stays whole", () => {
		expect(pick(1, user, plain, call("a", "b"), result("a"), result("b"))?.messages).toEqual([1]);
		expect(pick(2, user, plain, call("a"), result("a"), plain)?.messages).toEqual([1]);
	});

	it("a group that reaches into the last messages leaves a hole", () => {
		expect(pick(1, user, plain, call("a", "b"), result("a"), plain, result("b"))?.messages).toEqual([1, 4]);
	});

	it("system messages stay wherever they stand", () => {
		expect(pick(1, user, plain, system, plain, system, plain)?.messages).toEqual([1, 3]);
	});

	it("what stands before the task stays with it, unless the task is not pinned", () => {
		expect(pick(1, plain, user, plain, plain)?.messages).toEqual([2]);
		const transcript = transcriptOf(plain, user, plain, plain);
		expect(pickRange({ transcript, keepLastMessages: 1, pinTask: false })?.messages).toEqual([0, 1, 2]);
	});

	it("the task is pinned where the API wants a user message first", () => {
		const transcript: Transcript = { ...transcriptOf(user, plain, plain), opensWithUser: true };
		expect(pickRange({ transcript, keepLastMessages: 1, pinTask: false })?.messages).toEqual([1]);
	});

	it("keeps the assistant between two user messages where they are to speak in turn", () => {
		const inTurn = (keepLastMessages: number, ...messages: readonly Message[]) =>
			pickRange({ transcript: { ...transcriptOf(...messages), inTurn: true }, keepLastMessages, pinTask: true })
				?.messages;
		const talk = [user, plain, user, call("a"), result("a"), plain, user, plain];
		expect(pick(2, ...talk)?.messages).toEqual([1, 2, 3, 4, 5]);
		expect(inTurn(2, ...talk)).toEqual([1, 2, 3, 4]);
		expect(inTurn(1, ...talk)).toEqual([1, 2, 3, 4, 5, 6]);
		expect(inTurn(0, ...talk)).toEqual([1, 2, 3, 4, 5, 6, 7]);
		expect(inTurn(2, user, plain, user, plain)).toBeUndefined();
		// What was not in turn before need not be afterwards.
		expect(inTurn(2, user, user, user, plain)).toEqual([1]);
	});

	it("what a session sends no longer is neither picked nor kept for last", () => {
		const gone = { ...plain, sent: false };
		expect(pick(1, gone, user, gone, plain, plain, gone)?.messages).toEqual([3]);
	});

	it("keeps as many last messages as it is told: 2 and 5 in the seeds, none for 0", () => {
		const many = [user, ...Array.from({ length: 9 }, () => plain)];
		expect(pick(2, ...many)?.messages.length).toBe(7);
		expect(pick(5, ...many)?.messages.length).toBe(4);
		expect(pick(0, ...many)?.messages.length).toBe(9);
	});

	it("is undefined where there is nothing to summarise", () => {
		expect(pick(2)).toBeUndefined();
		expect(pick(2, system, user)).toBeUndefined();
		expect(pick(2, system, user, plain, plain)).toBeUndefined();
		expect(pick(1, user, call("a"), result("a"))).toBeUndefined();
		expect(pick(100, user, plain, plain, plain)).toBeUndefined();
	});

	it("does not summarise a summary alone, so that a second round ends", () => {
		const transcript = transcriptOf(user, user, plain, plain);
		const given = { transcript, keepLastMessages: 2, pinTask: true };
		expect(pickRange({ ...given, isSummary: (index) => index === 1 })).toBeUndefined();
		expect(pickRange({ ...given, keepLastMessages: 1, isSummary: (index) => index === 1 })?.messages).toEqual([1, 2]);
	});

	const count = { picked: 0, none: 0, holes: 0, calls: 0 };

	test.prop([conversations, fc.integer({ min: 0, max: 6 })], { numRuns: 400 })(
		"whole groups only, whatever the conversation",
		({ document }, keepLastMessages) => {
			const { transcript } = readConversation(document);
			const range = pickRange({ transcript, keepLastMessages, pinTask: true });
			if (!range) {
				count.none += 1;
				return;
			}
			checkRange(transcript, range, keepLastMessages);
			count.picked += 1;
			if (range.messages.length <= (range.messages.at(-1) ?? 0) - range.first) count.holes += 1;
			if (range.messages.some((index) => (transcript.messages[index]?.calls.length ?? 0) > 0)) count.calls += 1;
		},
	);

	afterAll(() => {
		expect(count.picked).toBeGreaterThan(150);
		expect(count.calls).toBeGreaterThan(80);
		expect(count.holes).toBeGreaterThan(10);
		expect(count.none).toBeGreaterThan(5);
	});
});
