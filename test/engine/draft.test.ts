import { describe, expect, it } from "vitest";
import { startDraft } from "../../src/engine/draft.ts";
import type { Edit } from "../../src/engine/edit.ts";
import type { Path } from "../../src/engine/path.ts";

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
	it("begins with no edits and the sizes given", () => {
		const draft = startDraft([size(10), size(20)]);
		expect(draft.plan()).toEqual([]);
		expect(draft.sizes()).toMatchObject([size(10), size(20)]);
	});

	it("follows the sizes of messages as edits are made", () => {
		const draft = startDraft([size(100), size(200), size(300)]);
		expect(draft.add(truncate(1, [1, "content", 0, "text"], 50, 20))).toBe(true);
		expect(draft.add(truncate(1, [1, "content", 1, "text"], 60, 10))).toBe(true);
		expect(draft.add(drop(2, 300))).toBe(true);
		expect(draft.sizes()).toMatchObject([size(100), size(120), size(0)]);
		expect(draft.plan()).toHaveLength(3);
	});

	it("a placeholder takes the place of truncations inside its content", () => {
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

	it("… where it is smaller than what they leave", () => {
		const draft = startDraft([size(100)]);
		const cut = truncate(0, [0, "content"], 90, 5);
		draft.add(cut);
		expect(draft.add(mask(0, [0, "content"], 90, 5))).toBe(false);
		expect(draft.add(mask(0, [0, "content"], 90, 30))).toBe(false);
		expect(draft.plan()).toEqual([cut]);
		expect(draft.add(mask(0, [0, "content"], 90, 4))).toBe(true);
	});

	it("leaves edits of other results of the same message", () => {
		const draft = startDraft([size(100)]);
		const other = truncate(0, [0, "content", 1, "content"], 40, 20);
		draft.add(other);
		const placeholder = mask(0, [0, "content", 0, "content"], 50, 10);
		draft.add(placeholder);
		expect(draft.plan()).toEqual([other, placeholder]);
	});

	it("a dropped message takes its other edits with it, and takes no more", () => {
		const draft = startDraft([size(100)]);
		draft.add(truncate(0, [0, "content"], 90, 20));
		expect(draft.add(drop(0, 100))).toBe(true);
		expect(draft.add(mask(0, [0, "content"], 90, 10))).toBe(false);
		expect(draft.plan()).toEqual([drop(0, 100)]);
		expect(draft.sizes()).toMatchObject([size(0)]);
	});

	it("plans the oldest message first, whatever came first", () => {
		const draft = startDraft([size(100), size(100), size(100)]);
		for (const message of [2, 0, 1]) draft.add(mask(message, [message, "content"], 90, 10));
		expect(draft.plan().map((edit) => edit.message)).toEqual([0, 1, 2]);
	});

	it("refuses a second edit of the same kind at the same place", () => {
		const draft = startDraft([size(100)]);
		expect(draft.add(mask(0, [0, "content"], 90, 10))).toBe(true);
		expect(draft.add(mask(0, [0, "content"], 90, 10))).toBe(false);
	});
});
