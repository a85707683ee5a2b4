import { describe, expect, it } from "vitest";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import {
	addSizes,
	type Edit,
	noSize,
	type ReplaceEdit,
	savedSize,
	startDraft,
	startSum,
	subtractSizes,
	takesMessageOut,
	totalsOf,
} from "../../../src/engine/conversation/plan.ts";

const size = (chars: number, tokens: number, fixed?: number) =>
	fixed === undefined ? { chars, tokens } : { chars, tokens, fixed };

const replace = (path: Path, fields: Partial<ReplaceEdit> = {}): ReplaceEdit => ({
	...{ kind: "replace", reason: "mask", path, message: 0, replacement: "x" },
	...{ before: size(100, 50), after: size(10, 5), ...fields },
});

const cut = (path: Path, chars: number, tokens: number, fields: Partial<ReplaceEdit> = {}) =>
	replace(path, { reason: "truncate", after: size(chars, tokens), ...fields });

describe("a draft", () => {
	const draft = () => startDraft([size(1_000, 500, 7), size(100, 50)]);

	it("compares the savings of edits at one place: in tokens, and in characters where nothing is sent", () => {
		const sent = draft();
		expect(sent.add(cut([0, "a"], 10, 20))).toBe(true);
		expect(sent.add(replace([0, "a"], { after: size(1, 20) }))).toBe(false);
		expect(sent.add(replace([0, "a"], { after: size(90, 19) }))).toBe(true);
		const unsent = draft();
		expect(unsent.add(cut([0, "a"], 10, 5, { unsent: true }))).toBe(true);
		expect(unsent.add(replace([0, "a"], { after: size(10, 1), unsent: true }))).toBe(false);
		expect(unsent.add(replace([0, "a"], { after: size(9, 40), unsent: true }))).toBe(true);
	});

	it("adds up the savings of several edits before another takes their place", () => {
		const made = draft();
		made.add(cut([0, "a", 0], 10, 30));
		made.add(cut([0, "a", 1], 10, 30));
		expect(made.add(replace([0, "a"], { before: size(200, 100), after: size(1, 60) }))).toBe(false);
		expect(made.add(replace([0, "a"], { before: size(200, 100), after: size(1, 59) }))).toBe(true);
		expect(made.plan()).toHaveLength(1);
	});

	it("compares savings of texts of any size, and keeps the first of two for one reason", () => {
		const made = draft();
		expect(made.add(cut([0, "a", 0], 0, 10, { before: size(0, 20) }))).toBe(true);
		expect(made.add(replace([0, "a"], { before: size(0, 100), after: size(0, 1) }))).toBe(true);
		expect(made.add(replace([0, "a"], { before: size(0, 100), after: size(0, 0) }))).toBe(false);
		expect(made.plan().map(({ after }) => after.tokens)).toEqual([1]);
	});

	it("does not compare edits of other places", () => {
		const made = draft();
		expect(made.add(cut([0, "a"], 10, 5))).toBe(true);
		expect(made.add(cut([0, "b"], 90, 49))).toBe(true);
		expect(made.add(replace([0, "c"], { after: size(99, 50) }))).toBe(true);
		expect(made.add(cut([1, "a"], 90, 49, { message: 1 }))).toBe(true);
		expect(made.plan().map(({ path }) => path)).toEqual([
			[0, "a"],
			[0, "b"],
			[0, "c"],
			[1, "a"],
		]);
	});

	it("cuts nothing within or around a replaced value, in any order of reasons", () => {
		const made = draft();
		made.add(replace([0, "a", 1], { after: size(90, 45) }));
		expect(made.add(cut([0, "a"], 1, 1))).toBe(false);
		expect(made.add(cut([0, "a", 1, "b"], 1, 1))).toBe(false);
		expect(made.add(replace([0, "a"], { reason: "thinking", after: size(1, 1) }))).toBe(true);
	});

	it("keeps insertions at any place, also after a drop, and refuses edits after one", () => {
		const insert: Edit = {
			...{ kind: "insert", reason: "append", path: [0], message: 0, inserts: "message", value: "x" },
			...{ before: noSize, after: size(8, 4) },
		};
		const drop: Edit = { ...replace([0]), kind: "remove", reason: "drop", before: size(1_000, 500), after: noSize };
		const made = draft();
		made.add(drop);
		expect(made.add(replace([0, "a"]))).toBe(false);
		expect(made.add(insert)).toBe(true);
		expect(made.add({ ...drop, path: [0, "b"] })).toBe(true);
		expect(made.plan().map(({ kind }) => kind)).toEqual(["remove", "insert", "remove"]);
		const early = draft();
		expect([insert, replace([0, "a"]), { ...drop, path: [0, "b"] }].map(early.add)).toEqual([true, true, true]);
		expect(early.plan().map(({ kind }) => kind)).toEqual(["insert", "remove"]);
		expect(early.add(replace([0, "c"]))).toBe(false);
	});

	it("keeps an insertion around a value that is replaced later", () => {
		const made = draft();
		const insert: Edit = { ...replace([0]), kind: "insert", reason: "append", inserts: "part", value: "x" };
		expect([insert, replace([0, "a"])].map(made.add)).toEqual([true, true]);
		expect(made.plan().map(({ kind }) => kind)).toEqual(["insert", "replace"]);
	});

	it("has the sizes of messages and the savings, fixed edits included", () => {
		const made = draft();
		expect(made.saved()).toEqual(size(0, 0, 0));
		made.add(replace([0, "a"], { before: size(100, 50, 3), after: size(10, 5, 1) }));
		made.add(cut([0, "b"], 1, 1, { unsent: true }));
		expect(made.sizes()).toEqual([size(910, 455, 5), size(100, 50)]);
		expect(made.saved()).toEqual(size(90, 45, 2));
		made.add(replace([0, "c"]));
		expect(made.saved()).toEqual(size(180, 90, 2));
		expect(made.add(replace([9, "a"], { message: 9 }))).toBe(true);
		expect(made.sizes()).toHaveLength(2);
		expect(made.saved()).toEqual(size(180, 90, 2));
	});
});

describe("totals", () => {
	it("have all sizes of each reason", () => {
		const edits: Edit[] = [
			replace([3, "a"], { message: 3, before: size(100, 50, 9), after: size(10, 5) }),
			replace([3, "b"], { message: 3, unsent: true, before: size(70, 35) }),
			cut([2, "a"], 40, 20, { message: 2 }),
			cut([2, "b"], 40, 20, { message: 2, unsent: true }),
			{ ...replace([4]), kind: "remove", reason: "drop", message: 4, before: size(30, 15), after: noSize },
			replace([5], { reason: "summary", message: 5, before: size(60, 30), after: size(6, 3) }),
			{ ...replace([6]), kind: "insert", reason: "summary", message: 6, inserts: "part", value: 1 },
			replace([0, "id"], { reason: "relink", message: -1, before: size(9, 9), after: size(9, 9) }),
		];
		expect(totalsOf(edits)).toEqual({
			saved: size(90 + 60 + 30 + 54 + 90, 45 + 30 + 15 + 27 + 45, 9),
			savedInMessages: size(90 + 60 + 30 + 54 + 90, 45 + 30 + 15 + 27 + 45, 9),
			firstMessage: 2,
			resultChars: 90 + 60,
			gone: [4, 5],
			added: 1,
			dropped: { messages: 1, before: size(30, 15, 0) },
			summarised: { messages: 1, before: size(160, 80, 0), after: size(16, 8, 0) },
			masked: { results: 1, edits: 1, charsBefore: 100, charsAfter: 10 },
			truncated: { results: 1, edits: [edits[2]] },
		});
		expect(totalsOf(edits.slice(5, 7)).firstMessage).toBe(5);
		expect(totalsOf([replace([0, "a"])]).firstMessage).toBe(0);
	});

	it("count a message that is added, and none for a part", () => {
		const insert = (inserts: "message" | "part"): Edit => ({ ...replace([1]), kind: "insert", inserts, value: 1 });
		expect([totalsOf([insert("message")]).added, totalsOf([insert("part")]).added]).toEqual([1, 0]);
	});

	it("say which edits remove a message", () => {
		const taken = (kind: "replace" | "insert" | "remove", reason: Edit["reason"]) =>
			takesMessageOut({ ...replace([0]), kind, reason } as Edit);
		expect([taken("remove", "drop"), taken("insert", "drop"), taken("replace", "summary")]).toEqual([true, true, true]);
		expect([taken("insert", "summary"), taken("remove", "thinking"), taken("replace", "mask")]).toEqual([
			...[false, false, false],
		]);
	});
});

it("sizes are added and subtracted, fixed tokens only where there are some", () => {
	const [a, b] = [size(5, 4), size(3, 2, 1)];
	expect([addSizes(a, a), addSizes(a, b), addSizes(b, a)]).toEqual([size(10, 8), size(8, 6, 1), size(8, 6, 1)]);
	expect([subtractSizes(a, a), subtractSizes(a, b), subtractSizes(b, a), subtractSizes(b, b)]).toEqual([
		...[size(0, 0), size(2, 2, -1), size(-2, -2, 1), size(0, 0, 0)],
	]);
	const sum = startSum(b);
	sum.add(a);
	sum.add(b);
	expect(sum.total()).toEqual(size(11, 8, 2));
	sum.subtract(b);
	sum.subtract(a);
	expect(sum.total()).toEqual(b);
	expect(savedSize([replace([0]), replace([1])])).toEqual(size(180, 90, 0));
});
