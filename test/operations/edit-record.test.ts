import { describe, expect, it } from "vitest";
import type { Edit, EditReason } from "../../src/engine/conversation/plan.ts";
import { editRecord, planEvents } from "../../src/operations/edit-record.ts";

const document = { messages: [{ text: "one" }, { text: "two" }] };
const scale = { low: 1, factor: 2, high: 3 };
const refOfGroup = new Map([[0, "group000"]]);
const [before, after] = [
	{ chars: 30, tokens: 10, fixed: 4 },
	{ chars: 3, tokens: 1 },
];
const record = (edit: object) =>
	editRecord({ message: 1, before, after, ...edit } as Edit, { document, scale, refOfGroup });

const replacing = { kind: "replace", path: ["messages", 1, "text"], replacement: "x" } as const;

describe("the record of an edit", () => {
	it("has the path, the sizes of the model, the call and the reference", () => {
		const result = { toolCallId: "call_1", toolName: "bash" };
		const takenOut = { kind: "result", ref: "ref00000", text: "two" };
		const { sha256_before, ...rest } = record({ ...replacing, reason: "mask", result, takenOut });
		expect(rest).toEqual({
			kind: "replace",
			path: "/messages/1/text",
			reason: "mask",
			message: 1,
			before: { chars: 30, tokens: 16 },
			after: { chars: 3, tokens: 2 },
			tool_call_id: "call_1",
			tool_name: "bash",
			ref: "ref00000",
			replacement: "x",
		});
		expect(sha256_before).toMatch(/^[0-9a-f]{64}$/);
	});

	it("has only the fields that are known", () => {
		expect(Object.keys(record({ ...replacing, reason: "mask", message: -1, result: {} }))).toEqual([
			...["kind", "path", "reason", "sha256_before", "before", "after", "replacement"],
		]);
		const first = record({ ...replacing, path: ["messages", 0], reason: "mask", message: 0 });
		expect(first.message).toBe(0);
		expect("ref" in first).toBe(false);
	});

	it("of a message that is taken out has the reference of its group", () => {
		const removed = record({ kind: "remove", path: ["messages", 0], reason: "drop", message: 0 });
		expect(removed).toMatchObject({ ref: "group000", path: "/messages/0" });
		expect(Object.keys(removed)).not.toContain("replacement");
		expect("ref" in record({ kind: "remove", path: ["messages", 1], reason: "drop" })).toBe(false);
	});

	it("of an insertion names the item after it, or the last one", () => {
		const insert = (index: number) =>
			record({
				kind: "insert",
				path: ["messages", index],
				reason: "append",
				inserts: "message",
				value: { text: "new" },
			});
		const inPlace = record({ kind: "replace", path: ["messages", 1], reason: "drop", replacement: null });
		expect(insert(1)).toMatchObject({ path: "/messages/1", value: { text: "new" } });
		expect(insert(1).sha256_before).toBe(inPlace.sha256_before);
		expect(insert(2).sha256_before).toBe(inPlace.sha256_before);
		expect(insert(0).sha256_before).not.toBe(inPlace.sha256_before);
		expect("replacement" in insert(1)).toBe(false);
	});

	it("holds a copy, so that a change of the record changes nothing else, unless no copy can be made", () => {
		const value = { list: [1] };
		const copy = record({ ...replacing, reason: "mask", replacement: value }).replacement;
		expect(copy).toEqual(value);
		expect(copy).not.toBe(value);
		const uncopied = { made: () => 1 };
		expect(record({ ...replacing, reason: "mask", replacement: uncopied }).replacement).toBe(uncopied);
	});
});

describe("the log of a plan", () => {
	const edit = (reason: EditReason, message: number, more: object = {}) =>
		({ ...replacing, path: ["messages", message], reason, message, before, after, ...more }) as Edit;
	const eventsOf = (...plan: Edit[]) => planEvents(plan, { unknownTool: "nobody", scale });

	it("has each kind of edit with its numbers", () => {
		const named = { result: { toolName: "ba\u001bsh" } };
		expect(eventsOf(edit("truncate", 0, named), edit("truncate", 1))).toMatchObject([
			{
				level: "warning",
				message: 'Context guard: truncated tool result for "ba sh" (30 → 3 chars)',
				data: { event: "truncated", tool: "ba sh", chars_before: 30, chars_after: 3 },
			},
			{ message: 'Context guard: truncated tool result for "nobody" (30 → 3 chars)', data: { tool: "nobody" } },
		]);
		const dropped = edit("drop", 0, { kind: "remove", after: { chars: 0, tokens: 0 } });
		expect(eventsOf(dropped)).toEqual([
			{
				level: "warning",
				message: "Context guard: dropped 1 old messages (estimated 16 tokens)",
				data: { event: "dropped", messages: 1, tokens: 16 },
			},
		]);
		expect(eventsOf(edit("summary", 0))).toEqual([
			{
				level: "warning",
				message: "Compaction: replaced 1 old messages (16 → 2 tokens)",
				data: { event: "summarised", messages: 1, tokens_before: 16, tokens_after: 2 },
			},
		]);
		const longer = { before: { chars: 40, tokens: 12 }, after: { chars: 900, tokens: 300 } };
		expect(eventsOf(dropped, edit("summary", 1, longer))).toMatchObject([
			{ message: "Context guard: dropped 1 old messages (estimated 16 tokens)" },
			{
				level: "warning",
				message: expect.stringMatching(/^Context guard: kept the words of people in dropped messages \(\d+ tokens\)$/),
				data: { event: "words_kept" },
			},
		]);
		expect(eventsOf(edit("mask", 0), edit("mask", 1))).toEqual([
			{
				level: "info",
				message: "Masked 2 old tool results (60 → 6 chars)",
				data: { event: "masked", results: 2, chars_before: 60, chars_after: 6 },
			},
		]);
		expect(eventsOf()).toEqual([]);
		expect(eventsOf(edit("append", 0, { kind: "insert" }))).toEqual([]);
	});
});
