import { describe, expect, it } from "vitest";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import { type Edit, type EditReason, startDraft, totalsOf } from "../../../src/engine/conversation/plan.ts";

const size = (tokens: number) => ({ chars: tokens * 4, tokens });

const mask = (message: number, path: Path, before: number, after: number): Edit => ({
	kind: "replace",
	reason: "mask",
	path,
	message,
	before: size(before),
	after: size(after),
	replacement: "x",
});

const truncate = (...edit: Parameters<typeof mask>): Edit => ({ ...mask(...edit), reason: "truncate" });

const drop = (message: number, before: number): Edit => ({
	kind: "remove",
	reason: "drop",
	path: [message],
	message,
	before: size(before),
	after: size(0),
});

describe("startDraft", () => {
	it("begins with no edits and the given sizes", () => {
		const draft = startDraft([size(10), size(20)]);
		expect(draft.plan()).toEqual([]);
		expect(draft.sizes()).toMatchObject([size(10), size(20)]);
	});

	it("updates the sizes of messages with each edit", () => {
		const draft = startDraft([size(100), size(200), size(300)]);
		expect(draft.add(truncate(1, [1, "content", 0, "text"], 50, 20))).toBe(true);
		expect(draft.add(truncate(1, [1, "content", 1, "text"], 60, 10))).toBe(true);
		expect(draft.add(drop(2, 300))).toBe(true);
		expect(draft.sizes()).toMatchObject([size(100), size(120), size(0)]);
		expect(draft.plan()).toHaveLength(3);
	});

	it("a placeholder replaces truncations inside its content", () => {
		const draft = startDraft([size(100)]);
		draft.add(truncate(0, [0, "content", 0, "text"], 50, 20));
		draft.add(truncate(0, [0, "content", 1, "text"], 40, 20));
		const placeholder = mask(0, [0, "content"], 90, 10);
		expect(draft.add(placeholder)).toBe(true);
		expect(draft.plan()).toEqual([placeholder]);
		expect(draft.sizes()).toMatchObject([size(20)]);
	});

	it("… never the other way round", () => {
		const draft = startDraft([size(100)]);
		const placeholder = mask(0, [0, "content"], 90, 10);
		draft.add(placeholder);
		expect(draft.add(truncate(0, [0, "content", 0, "text"], 50, 20))).toBe(false);
		expect(draft.add(truncate(0, [0, "content"], 90, 20))).toBe(false);
		expect(draft.plan()).toEqual([placeholder]);
	});

	it("… when it is smaller than their result", () => {
		const draft = startDraft([size(100)]);
		const cut = truncate(0, [0, "content"], 90, 5);
		draft.add(cut);
		expect(draft.add(mask(0, [0, "content"], 90, 5))).toBe(false);
		expect(draft.add(mask(0, [0, "content"], 90, 30))).toBe(false);
		expect(draft.plan()).toEqual([cut]);
		expect(draft.add(mask(0, [0, "content"], 90, 4))).toBe(true);
	});

	it("keeps edits of other results of the same message", () => {
		const draft = startDraft([size(100)]);
		const other = truncate(0, [0, "content", 1, "content"], 40, 20);
		draft.add(other);
		const placeholder = mask(0, [0, "content", 0, "content"], 50, 10);
		draft.add(placeholder);
		expect(draft.plan()).toEqual([other, placeholder]);
	});

	it("a dropped message removes its other edits, and accepts no more", () => {
		const draft = startDraft([size(100)]);
		draft.add(truncate(0, [0, "content"], 90, 20));
		expect(draft.add(drop(0, 100))).toBe(true);
		expect(draft.add(mask(0, [0, "content"], 90, 10))).toBe(false);
		expect(draft.plan()).toEqual([drop(0, 100)]);
		expect(draft.sizes()).toMatchObject([size(0)]);
	});

	it("a message inserted before a dropped one stays", () => {
		const draft = startDraft([size(100)]);
		const words: Edit = {
			kind: "insert",
			reason: "summary",
			path: [0],
			message: 0,
			inserts: "message",
			value: "x",
			before: size(0),
			after: size(10),
		};
		draft.add(words);
		expect(draft.add(drop(0, 100))).toBe(true);
		expect(draft.plan()).toEqual([words, drop(0, 100)]);
		expect(draft.sizes()).toMatchObject([size(10)]);
	});

	it("lists the oldest message first in any order of edits", () => {
		const draft = startDraft([size(100), size(100), size(100)]);
		for (const message of [2, 0, 1]) draft.add(mask(message, [message, "content"], 90, 10));
		expect(draft.plan().map((edit) => edit.message)).toEqual([0, 1, 2]);
	});

	it("refuses a second edit of the same kind at the same path", () => {
		const draft = startDraft([size(100)]);
		expect(draft.add(mask(0, [0, "content"], 90, 10))).toBe(true);
		expect(draft.add(mask(0, [0, "content"], 90, 10))).toBe(false);
	});
});

const sizeOfTokens = (tokens: number) => ({ chars: 4 * tokens, tokens });

const base = { path: [0], before: sizeOfTokens(10), after: sizeOfTokens(2) };

const replace = (message: number, reason: EditReason, rest: object = {}): Edit => {
	return { ...base, kind: "replace", reason, message, replacement: "", ...rest };
};

const remove = (message: number, reason: EditReason, rest: object = {}): Edit => {
	return { ...base, kind: "remove", reason, message, ...rest };
};

const result = () => ({ toolCallId: "a", toolName: "ls" });

describe("totalsOf", () => {
	it("are zero without edits", () => {
		expect(totalsOf([])).toMatchObject({
			saved: { chars: 0, tokens: 0 },
			firstMessage: undefined,
			gone: [],
			added: 0,
			masked: { results: 0, edits: 0 },
			truncated: { results: 0, edits: [] },
		});
	});

	it("counts a result with several edits once, and two results of one message twice", () => {
		const [one, other] = [result(), result()];
		const totals = totalsOf([
			replace(3, "truncate", { result: one }),
			replace(3, "truncate", { result: one }),
			replace(3, "truncate", { result: other }),
			replace(4, "mask", { result: one }),
			replace(4, "mask", { result: one, unsent: true }),
		]);
		expect(totals.truncated).toMatchObject({ results: 2, edits: [{}, {}, {}] });
		expect(totals.masked).toEqual({ results: 1, edits: 1, charsBefore: 40, charsAfter: 8 });
	});

	it("counts a message dropped or summarised by several edits once", () => {
		const totals = totalsOf([
			remove(1, "drop"),
			remove(1, "drop", { before: sizeOfTokens(0), after: sizeOfTokens(0) }),
			remove(2, "drop"),
			replace(5, "summary"),
			remove(6, "summary"),
			remove(6, "summary"),
		]);
		expect(totals.gone).toEqual([1, 2, 5, 6]);
		expect(totals.dropped).toMatchObject({ messages: 2, before: { tokens: 20 } });
		expect(totals.summarised).toMatchObject({ messages: 2, before: { tokens: 30 }, after: { tokens: 6 } });
		expect(totals.added).toBe(1);
	});

	it("excludes unsent content from its sizes, and content outside messages from those of messages", () => {
		const totals = totalsOf([
			remove(-1, "relink"),
			replace(7, "mask"),
			replace(2, "mask", { unsent: true }),
			{
				...base,
				kind: "insert",
				reason: "append",
				message: 9,
				inserts: "message",
				value: {},
				before: sizeOfTokens(0),
			},
		]);
		expect(totals.saved).toMatchObject({ chars: 56, tokens: 14 });
		expect(totals.savedInMessages).toMatchObject({ chars: 24, tokens: 6 });
		expect(totals.firstMessage).toBe(7);
		expect(totals.resultChars).toBe(32);
		expect(totals.added).toBe(1);
	});
});
