import { describe, expect, it } from "vitest";
import type { Edit, EditReason } from "../../src/engine/edit.ts";
import { totalsOf } from "../../src/engine/plan-totals.ts";

const size = (tokens: number) => ({ chars: 4 * tokens, tokens });
const base = { path: [0], before: size(10), after: size(2) };
const replace = (message: number, reason: EditReason, rest: object = {}): Edit => {
	return { ...base, kind: "replace", reason, message, replacement: "", ...rest };
};
const remove = (message: number, reason: EditReason, rest: object = {}): Edit => {
	return { ...base, kind: "remove", reason, message, ...rest };
};
const result = () => ({ toolCallId: "a", toolName: "ls" });

describe("totalsOf", () => {
	it("of no edits is nothing", () => {
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

	it("counts a message that several edits drop or sum up once", () => {
		const totals = totalsOf([
			remove(1, "drop"),
			remove(1, "drop", { before: size(0), after: size(0) }),
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

	it("leaves out of its sizes what is not sent, and of those in messages what stands in none", () => {
		const totals = totalsOf([
			remove(-1, "relink"),
			replace(7, "mask"),
			replace(2, "mask", { unsent: true }),
			{ ...base, kind: "insert", reason: "append", message: 9, inserts: "message", value: {}, before: size(0) },
		]);
		expect(totals.saved).toMatchObject({ chars: 56, tokens: 14 });
		expect(totals.savedInMessages).toMatchObject({ chars: 24, tokens: 6 });
		expect(totals.firstMessage).toBe(7);
		expect(totals.resultChars).toBe(32);
		expect(totals.added).toBe(1);
	});
});
