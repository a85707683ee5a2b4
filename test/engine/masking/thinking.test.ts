import { describe, expect, it } from "vitest";
import { noSize, type ReplaceEdit } from "../../../src/engine/conversation/plan.ts";
import type { ThinkingBlock } from "../../../src/engine/conversation/transcript.ts";
import { affectedThinking, lazyMoments, madeNow, planStripThinking } from "../../../src/engine/masking/thinking.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, transcriptOf } from "../../support/transcripts.ts";

const blockAt = (message: number, item: number, more: Partial<ThinkingBlock> = {}): ThinkingBlock => ({
	path: [message, "content", item],
	text: `thought ${message}.${item}`,
	bound: true,
	...more,
});

const thinkingAt = (...blocks: readonly ThinkingBlock[]) => messageOf({ thinking: blocks });

const editAt = (message: number, item: number, more: Partial<ReplaceEdit> = {}): ReplaceEdit => ({
	kind: "replace",
	reason: "mask",
	message,
	path: [message, "content", item],
	replacement: "",
	before: noSize,
	after: noSize,
	...more,
});

/** An assistant with two bound thoughts, a result, and the same again. */
const transcript = transcriptOf(
	thinkingAt(blockAt(0, 0), blockAt(0, 2)),
	messageOf({ role: "tool" }),
	thinkingAt(blockAt(2, 0), blockAt(2, 2)),
	messageOf({ role: "tool" }),
	thinkingAt(blockAt(4, 0)),
);

const affectedBy = (
	...[plan, momentOf]: Parameters<typeof affectedThinking> extends [unknown, ...infer Rest] ? Rest : never
) => affectedThinking(transcript, plan, momentOf).map(({ message, block }) => [message, block.path[2]]);

describe("affectedThinking", () => {
	it("finds the bound thoughts after an edit", () => {
		expect(affectedBy([editAt(1, 0)])).toEqual([
			[2, 0],
			[2, 2],
			[4, 0],
		]);
		expect(affectedBy([editAt(3, 0)])).toEqual([[4, 0]]);
		expect(affectedBy([editAt(4, 9)])).toEqual([]);
		expect(affectedBy([])).toEqual([]);
	});

	it("finds thoughts of the same message after the edited item", () => {
		expect(affectedBy([editAt(2, 1)])).toEqual([
			[2, 2],
			[4, 0],
		]);
		expect(affectedBy([editAt(2, 2)])).toEqual([[4, 0]]);
		expect(affectedBy([editAt(2, 1, { path: [2, "other"] })])).toEqual([[4, 0]]);
		expect(affectedBy([editAt(2, 1, { path: [2, "content"] })])).toEqual([[4, 0]]);
		expect(affectedBy([editAt(2, 1), editAt(2, 3)])).toEqual([
			[2, 2],
			[4, 0],
		]);
	});

	it("finds thoughts of a message after an inserted message, and thoughts after an item inserted into their list", () => {
		const put = (message: number, path: readonly (string | number)[], inserts: "message" | "part") => {
			const insert = { kind: "insert", reason: "summary", before: noSize, after: noSize, value: {} } as const;
			return affectedBy([{ ...insert, message, path, inserts }]);
		};
		expect(put(2, [2], "message")).toEqual([
			[2, 0],
			[2, 2],
			[4, 0],
		]);
		expect(put(2, [2, "content", 0], "part")).toEqual(put(2, [2], "message"));
		expect(put(2, [2, "content", 1], "part")).toEqual([
			[2, 2],
			[4, 0],
		]);
		expect(put(2, [2, "content", 3], "part")).toEqual([[4, 0]]);
		expect(put(5, [5], "message")).toEqual([]);
	});

	it("ignores edits of unsent parts, and edits outside messages", () => {
		expect(affectedBy([editAt(1, 0, { unsent: true })])).toEqual([]);
		expect(affectedBy([editAt(-1, 0)])).toEqual([]);
		expect(affectedBy([editAt(-1, 0), editAt(3, 0)])).toEqual([[4, 0]]);
		expect(affectedBy([editAt(0, 1)])).toHaveLength(4);
	});

	it("finds none in messages that the plan takes out", () => {
		const dropped = { kind: "remove", reason: "drop", message: 2, path: [2], before: noSize, after: noSize } as const;
		expect(affectedBy([editAt(1, 0), dropped])).toEqual([[4, 0]]);
	});

	it("finds only thoughts from before the edit was first made", () => {
		const at = (...moments: readonly number[]) => {
			const plan = moments.map((_, index) => editAt(2 * index + 1, 0));
			return affectedBy(plan, (edit) => moments[(edit.message - 1) / 2] as number);
		};
		expect(at(2)).toEqual([]);
		expect(at(3)).toEqual([
			[2, 0],
			[2, 2],
		]);
		expect(at(4)).toEqual(at(3));
		expect(at(5)).toEqual([...at(3), [4, 0]]);
		expect(at(5, 4)).toEqual(at(5));
		expect(at(2, 5)).toEqual([[4, 0]]);
		expect(at(Number.POSITIVE_INFINITY)).toHaveLength(3);
	});

	it("finds none that is not bound", () => {
		const free = { bound: false };
		const mixed = transcriptOf(
			messageOf({ role: "tool" }),
			thinkingAt(blockAt(1, 0, free), blockAt(1, 1)),
			thinkingAt(blockAt(2, 0, free)),
		);
		expect(affectedThinking(mixed, [editAt(0, 0)])).toEqual([{ message: 1, block: blockAt(1, 1) }]);
		const unbound = transcriptOf(messageOf({ role: "tool" }), thinkingAt(blockAt(1, 0, free)));
		expect(affectedThinking(unbound, [editAt(0, 0)], () => expect.unreachable())).toEqual([]);
	});
});

describe("the moment of an edit", () => {
	it("is now, unless an earlier call made it", () => {
		expect(madeNow(editAt(1, 0))).toBe(Number.POSITIVE_INFINITY);
	});

	it("is looked for once, when it is first asked for", () => {
		let asked = 0;
		const momentOf = lazyMoments(() => {
			asked += 1;
			return ({ message }) => message * 10;
		});
		expect(asked).toBe(0);
		expect([momentOf(editAt(1, 0)), momentOf(editAt(2, 0)), asked]).toEqual([10, 20, 1]);
	});
});

describe("planStripThinking", () => {
	const document = [
		{ content: ["thought", "text", "thought"] },
		{ content: ["thought", "thought"] },
		{ content: "thought" },
		{ content: ["thought", "text"] },
	];

	const strip = (...blocks: readonly (readonly [number, ThinkingBlock])[]) => {
		const affected = blocks.map(([message, block]) => ({ message, block }));
		return planStripThinking({
			document,
			transcript: transcriptOf(...document.map(() => messageOf())),
			affected,
			countTokens: roughCount,
		});
	};

	it("removes each thought with its size", () => {
		const { edits, left } = strip([0, blockAt(0, 0)], [0, blockAt(0, 2)], [3, blockAt(3, 0)]);
		const removal = (message: number, item: number) => ({
			kind: "remove",
			reason: "thinking",
			path: [message, "content", item],
			message,
			before: { chars: 11, tokens: 3 },
			after: { chars: 0, tokens: 0 },
		});
		expect(edits).toEqual([removal(0, 0), removal(0, 2), removal(3, 0)]);
		expect(left).toEqual([]);
		expect(strip()).toEqual({ edits: [], left: [] });
	});

	it("leaves fixed blocks", () => {
		const fixed = blockAt(0, 0, { fixed: true });
		const { edits, left } = strip([0, fixed], [0, blockAt(0, 2)]);
		expect(edits.map(({ path }) => path)).toEqual([[0, "content", 2]]);
		expect(left).toEqual([{ message: 0, block: fixed }]);
	});

	it("leaves all of a list that would become empty", () => {
		const { edits, left } = strip([1, blockAt(1, 0)], [1, blockAt(1, 1)]);
		expect(edits).toEqual([]);
		expect(left.map(({ block }) => block.path[2])).toEqual([0, 1]);
		expect(strip([1, blockAt(1, 1)]).edits).toHaveLength(1);
		expect(strip([1, blockAt(1, 0, { fixed: true })], [1, blockAt(1, 1)]).edits).toHaveLength(1);
	});

	it("leaves blocks outside lists", () => {
		expect(strip([2, blockAt(2, 0, { path: [2, "content"] })]).left).toHaveLength(1);
	});

	it("leaves a message that has nothing else", () => {
		const affected = [{ message: 0, block: blockAt(0, 0, { path: [0] }) }];
		const two = [{ role: "assistant" }, { role: "user" }];
		const stripOf = (paths: readonly (readonly number[])[]) =>
			planStripThinking({
				document: two,
				transcript: { ...transcriptOf(), messages: [messageOf({ paths })] },
				affected,
				countTokens: roughCount,
			});
		expect(stripOf([[0]]).left).toEqual(affected);
		expect(stripOf([[0], [1]])).toMatchObject({ edits: [{ path: [0], message: 0 }], left: [] });
		const unknown = [{ message: 7, block: blockAt(0, 0) }];
		expect(
			planStripThinking({ document, transcript: transcriptOf(), affected: unknown, countTokens: roughCount }).left,
		).toEqual(unknown);
	});
});
