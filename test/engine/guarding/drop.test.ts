import { describe, expect, it } from "vitest";
import type { Measurement } from "../../../src/engine/conversation/measure.ts";
import { addSizes, type Size } from "../../../src/engine/conversation/plan.ts";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { planDrop } from "../../../src/engine/guarding/drop.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { policyOf } from "../../support/policy-of.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const plain = (role: "system" | "user" | "assistant") => messageOf({ role });

const calling = (...ids: string[]) => messageOf({ calls: ids.map((id) => ({ id, name: "ls" })) });

const answering = (...ids: string[]) => messageOf({ role: "tool", results: ids.map((id) => resultOf(id)) });

function measured(messages: readonly Size[]): Measurement {
	return { messages, surroundingTokens: 0, total: messages.reduce(addSizes) };
}

function dropped(transcript: Transcript, excessTokens: number, guard: PolicyLayer["guard"] = {}): number[] {
	const sizes = transcript.messages.map(() => ({ chars: 40, tokens: 10 }));
	const policy = policyOf({ guard: { pin_task: false, ...guard } }).guard;
	const measurement = measured(sizes);
	const fits = ({ tokens }: Size) => measurement.total.tokens - tokens >= excessTokens;
	const { edits } = planDrop({ transcript, policy, measurement, fits });
	return edits.map((edit) => edit.message);
}

const conversation = transcriptOf(
	plain("system"),
	plain("user"),
	calling("a", "b"),
	answering("a"),
	answering("b"),
	plain("assistant"),
	calling("c"),
	answering("c"),
);

describe("planDrop", () => {
	it("drops the oldest complete groups until enough is gone", () => {
		expect(dropped(conversation, 0)).toEqual([]);
		expect(dropped(conversation, 10)).toEqual([1]);
		expect(dropped(conversation, 11)).toEqual([1, 2, 3, 4]);
		expect(dropped(conversation, 41)).toEqual([1, 2, 3, 4, 5]);
	});

	it("never drops system messages, nor the group of the newest message", () => {
		expect(dropped(conversation, 1_000)).toEqual([1, 2, 3, 4, 5]);
	});

	it("keeps the groups of the last `keep_last_messages`, not counting system messages", () => {
		expect(dropped(conversation, 1_000, { keep_last_messages: 4 })).toEqual([1]);
		expect(dropped(conversation, 1_000, { keep_last_messages: 100 })).toEqual([]);
		const withSystem = { ...conversation, messages: [...conversation.messages, { ...plain("system"), paths: [[8]] }] };
		expect(dropped(withSystem, 1_000)).toEqual([1, 2, 3, 4, 5]);
	});

	it("pins the first user message when the policy or the format requires it", () => {
		expect(dropped(conversation, 1_000, { pin_task: true })).toEqual([2, 3, 4, 5]);
		expect(dropped({ ...conversation, opensWithUser: true }, 1_000)).toEqual([2, 3, 4, 5]);
	});

	it("keeps user and assistant alternating when the format requires it", () => {
		const [ask, reply] = [plain("user"), plain("assistant")];
		const chat = transcriptOf(ask, reply, ask, reply, calling("a"), answering("a"), ask, reply);
		const inTurn = { ...chat, opensWithUser: true, inTurn: true };
		expect(dropped({ ...chat, opensWithUser: true }, 10)).toEqual([1]);
		expect(dropped(inTurn, 10)).toEqual([1, 2]);
		expect(dropped(inTurn, 21)).toEqual([1, 2, 3]);
		expect(dropped(inTurn, 31)).toEqual([1, 2, 3, 4, 5, 6]);
		// The last question has to stay, and an answer before it.
		expect(dropped(inTurn, 31, { keep_last_messages: 2 })).toEqual([1, 2, 3]);
		expect(dropped(inTurn, 0)).toEqual([]);
	});

	it("may drop an answer between an earlier one that has to stay and a question", () => {
		const [ask, reply] = [plain("user"), plain("assistant")];
		const chat = transcriptOf(ask, calling("a"), reply, ask, reply, answering("a"));
		expect(dropped({ ...chat, opensWithUser: true, inTurn: true }, 10)).toEqual([2]);
		const later = transcriptOf(ask, reply, ask, reply, ask);
		expect(dropped({ ...later, opensWithUser: true, inTurn: true }, 10)).toEqual([1, 2]);
	});

	it("without a target looks at the whole conversation, not at how it grew", () => {
		const tokens = [10, 30, 10, 10, 10];
		const sizes = tokens.map((one) => ({ chars: 4 * one, tokens: one }));
		const transcript = transcriptOf(calling("a"), plain("user"), answering("a"), plain("user"), plain("user"));
		const { guard: policy } = policyOf({ guard: { pin_task: false } });
		const fits = (most: number) => (context: Size) => context.tokens <= most;
		const droppedFor = (most: number) =>
			planDrop({ transcript, policy, measurement: measured(sizes), fits: fits(most) }).edits.map(
				({ message }) => message,
			);
		expect(droppedFor(50)).toEqual([0, 2]);
		expect(droppedFor(49)).toEqual([0, 1, 2]);
	});

	it("does not count system messages among those that alternate", () => {
		const [ask, reply] = [plain("user"), plain("assistant")];
		const chat = transcriptOf(ask, reply, plain("system"), ask, reply, ask, reply);
		expect(dropped({ ...chat, opensWithUser: true, inTurn: true }, 20)).toEqual([1, 3]);
	});

	it("drops more to make room for parts of dropped messages that stay elsewhere", () => {
		const sizes = conversation.messages.map(() => ({ chars: 40, tokens: 10 }));
		const { guard: policy } = policyOf({ guard: { pin_task: false } });
		const fits = ({ tokens }: Size) => tokens <= 70;
		const held = sizes.map((_, index) => (index === 1 ? 5 : 0));
		const given = { transcript: conversation, policy, measurement: measured(sizes), fits };
		expect(planDrop(given).edits.map(({ message }) => message)).toEqual([1]);
		expect(planDrop({ ...given, held }).edits.map(({ message }) => message)).toEqual([1, 2, 3, 4]);
	});

	it("makes no room for parts of an answer that is taken back", () => {
		const [ask, reply] = [plain("user"), plain("assistant")];
		const transcript = { ...transcriptOf(ask, reply, ask, reply, ask, reply), opensWithUser: true, inTurn: true };
		const sizes = transcript.messages.map(() => ({ chars: 40, tokens: 10 }));
		const { guard: policy } = policyOf({ guard: { keep_last_messages: 1 } });
		const within = (most: number) => (context: Size) => context.tokens <= most;
		const { edits, moments } = planDrop({
			transcript,
			policy,
			measurement: measured(sizes),
			fits: within(45),
			held: [0, 0, 0, 20, 0, 0],
			hysteresis: { reachesTarget: within(25), reliefs: new Map() },
		});
		expect(edits.map(({ message }) => message)).toEqual([1, 2]);
		expect([moments[1], moments[2]]).toEqual([5, 5]);
	});

	it("does not require alternation that was absent before", () => {
		const [ask, reply] = [plain("user"), plain("assistant")];
		const inTurn = { ...transcriptOf(ask, ask, ask, reply), opensWithUser: true, inTurn: true };
		expect(dropped(inTurn, 10)).toEqual([1]);
		expect(dropped(inTurn, 10, { keep_last_messages: 2 })).toEqual([1]);
	});

	it("keeps the results of calls that the task makes, and calls with a result that is no longer sent", () => {
		const asking = messageOf({ role: "user", calls: [{ id: "a", name: "ls" }] });
		const chat = transcriptOf(asking, answering("a"), plain("assistant"), plain("user"));
		expect(dropped(chat, 1_000, { pin_task: true })).toEqual([2]);
		expect(dropped(chat, 1_000)).toEqual([0, 1, 2]);
		const compacted = transcriptOf(calling("a"), { ...answering("a"), sent: false }, plain("assistant"), plain("user"));
		expect(dropped(compacted, 1_000)).toEqual([2]);
	});

	it("pins the first user message that is sent", () => {
		const [ask, reply] = [plain("user"), plain("assistant")];
		const chat = transcriptOf({ ...ask, sent: false }, reply, ask, reply, ask);
		expect(dropped(chat, 1_000, { pin_task: true })).toEqual([1, 3]);
	});

	it("without a user message pins nothing", () => {
		expect(dropped(transcriptOf(plain("assistant"), plain("assistant")), 100, { pin_task: true })).toEqual([0]);
	});

	it("counts the savings of earlier edits", () => {
		const sizes = conversation.messages.map(() => ({ chars: 400, tokens: 100 }));
		const currentSizes = sizes.map((size, index) => (index === 1 ? { chars: 4, tokens: 1 } : size));
		const { guard: policy } = policyOf({ guard: { pin_task: false } });
		const measurement = measured(sizes);
		const fits = ({ tokens }: Size) => tokens <= 701 - 2;
		const { edits } = planDrop({ transcript: conversation, policy, measurement, sizes: currentSizes, fits });
		expect(edits.map((edit) => edit.message)).toEqual([1, 2, 3, 4]);
		expect(edits[0]).toMatchObject({ before: { tokens: 100 }, after: { chars: 0, tokens: 0 } });
	});

	it("removes every value of a message, and counts its size once", () => {
		const twoRecords = { ...plain("user"), paths: [[0], [1]] };
		const transcript = { ...conversation, messages: [twoRecords, { ...plain("user"), paths: [[2]] }] };
		const sizes = [
			{ chars: 40, tokens: 10 },
			{ chars: 40, tokens: 10 },
		];
		const { guard: policy } = policyOf({ guard: { pin_task: false } });
		const fits = ({ tokens }: Size) => tokens <= 20 - 5;
		const { edits } = planDrop({ transcript, policy, measurement: measured(sizes), fits });
		expect(edits.map(({ path, before }) => [path, before.tokens])).toEqual([
			[[0], 10],
			[[1], 0],
		]);
	});
});
