import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import type { Edit } from "../../../src/engine/conversation/plan.ts";
import { PalimpsestError } from "../../../src/errors.ts";
import { applyEdits, invertEdits, type PortableEdit } from "../../../src/formats/json-text/edit.ts";
import { sha256Of } from "../../../src/formats/json-text/value.ts";
import { leastOfCases, numberOfCases } from "../../support/case-divisor.ts";

const size = { chars: 0, tokens: 0 };

interface Change {
	readonly items: readonly unknown[];
	readonly removed: readonly boolean[];
	/** What is put in front of each item, and last behind all of them. */
	readonly inserted: readonly (readonly unknown[])[];
}

const change = fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 6 }).chain((items) =>
	fc.record({
		items: fc.constant(items),
		removed: fc.array(fc.boolean(), { minLength: items.length, maxLength: items.length }),
		inserted: fc.array(fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }), {
			minLength: items.length + 1,
			maxLength: items.length + 1,
		}),
	}),
);

/** What the list has to be, written as plainly as can be. */
function expectedList({ items, removed, inserted }: Change): unknown[] {
	const list: unknown[] = [];
	items.forEach((item, index) => {
		list.push(...(inserted[index] ?? []));
		if (!removed[index]) list.push(item);
	});
	list.push(...(inserted.at(-1) ?? []));
	return list;
}

function editsOf({ items, removed, inserted }: Change, base: string): PortableEdit[] {
	const edits: PortableEdit[] = [];
	const beside = (index: number) => sha256Of(items.length === 0 ? items : items[Math.min(index, items.length - 1)]);
	inserted.forEach((values, index) => {
		for (const value of values) {
			edits.push({ kind: "insert", path: `${base}/${index}`, sha256_before: beside(index), value });
		}
		if (removed[index]) edits.push({ kind: "remove", path: `${base}/${index}`, sha256_before: beside(index) });
	});
	return edits;
}

const seen = { inserted: 0, beside_removed: 0, into_empty: 0, all_removed: 0, lines: 0 };

function count(one: Change): void {
	const values = one.inserted.flat().length;
	if (values === 0) return;
	seen.inserted += values;
	if (one.items.length === 0) seen.into_empty += 1;
	else if (one.removed.every(Boolean)) seen.all_removed += 1;
	else if (one.removed.some((isRemoved, index) => isRemoved && (one.inserted[index]?.length ?? 0) > 0)) {
		seen.beside_removed += 1;
	}
}

describe("values inserted into a list", () => {
	it("are at their position, in text and value, and can be removed again", () => {
		fc.assert(
			fc.property(change, fc.constantFrom(undefined, 1, "\t"), (one, indent) => {
				count(one);
				const document = { before: [1], messages: one.items, after: "é" };
				const text = JSON.stringify(document, undefined, indent);
				const edits = editsOf(one, "/messages");
				const edited = applyEdits(text, edits);
				const expected = { ...document, messages: expectedList(one) };
				expect(JSON.parse(edited.text)).toEqual(JSON.parse(JSON.stringify(expected)));
				expect(invertEdits(edited)).toBe(text);
				expect(JSON.stringify(applyPlan(JSON.parse(text), edits.map(asPlanned)))).toBe(JSON.stringify(expected));
			}),
			{ numRuns: numberOfCases(2_000) },
		);
	});

	it("are on lines of their own among records", () => {
		const records = fc.array(fc.record({ n: fc.integer() }), { minLength: 2, maxLength: 5 });
		fc.assert(
			fc.property(records, fc.nat({ max: 5 }), fc.nat({ max: 5 }), fc.boolean(), (items, at, from, ends) => {
				const index = Math.min(at, items.length);
				const text = items.map((item) => JSON.stringify(item)).join("\n") + (ends ? "\n" : "");
				const removed = items.map((_, position) => position > 0 && position >= from && position < from + 2);
				const inserted = [...items, undefined].map((_, position) => (position === index ? [{ new: true }] : []));
				const one = { items, removed, inserted };
				const edited = applyEdits(text, editsOf(one, ""));
				const lines = edited.text.trimEnd().split("\n");
				expect(lines.map((line) => JSON.parse(line))).toEqual(expectedList(one));
				expect(edited.text.endsWith("\n")).toBe(ends);
				expect(invertEdits(edited)).toBe(text);
				seen.lines += 1;
			}),
			{ numRuns: numberOfCases(1_000) },
		);
	});

	it("are refused when the list has changed", () => {
		const edit = { kind: "insert", path: "/2", sha256_before: sha256Of("b"), value: "c" } as const;
		expect(applyEdits('["a","b"]', [edit]).text).toBe('["a","b","c"]');
		for (const text of ['["a","b","x"]', '["a","x"]', '["a"]', '{"2":"b"}']) {
			expect(() => applyEdits(text, [edit])).toThrow(PalimpsestError);
		}
		expect(() => applyEdits('["a","b"]', [{ ...edit, value: undefined }])).toThrow(/`value` to insert/);
	});

	it("are refused without a list", () => {
		const at = (path: Edit["path"]) => asPlanned({ kind: "insert", path: "", sha256_before: "", value: 1 }, path);
		for (const path of [["messages"], [3], ["messages", 3], ["messages", "0"]]) {
			expect(() => applyPlan({ messages: [1, 2] }, [at(path)])).toThrow();
		}
	});

	afterAll(() => {
		process.stderr.write(`Inserted values: ${JSON.stringify(seen)}\n`);
		for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(leastOfCases(25));
	});
});

function asPlanned(edit: PortableEdit, given?: unknown): Edit {
	const path = Array.isArray(given) ? given : ["messages", Number(edit.path.split("/").at(-1))];
	const base = { path, message: 0, before: size, after: size };
	return edit.kind === "insert"
		? { ...base, kind: "insert", reason: "append", inserts: "message", value: edit.value }
		: { ...base, kind: "remove", reason: "drop" };
}

describe("edits of one list in any order", () => {
	const hash = (value: unknown) => sha256Of(value);
	const insert = (at: number, value: unknown, beside: unknown): PortableEdit => ({
		kind: "insert",
		path: `/${at}`,
		sha256_before: hash(beside),
		value,
	});

	it("are made as if they were sorted", () => {
		const edits: PortableEdit[] = [
			insert(3, "end", 3),
			insert(1, "x", 2),
			{ kind: "replace", path: "/0", sha256_before: hash(1), replacement: "one" },
			insert(0, "start", 1),
			{ kind: "remove", path: "/2", sha256_before: hash(3) },
		];
		const expected = '["start", "one", "x", 2, "end"]'.replaceAll(" ", "");
		for (const given of [edits, edits.toReversed()]) {
			const edited = applyEdits("[1,2,3]", given);
			expect(edited.text).toBe(expected);
			expect(invertEdits(edited)).toBe("[1,2,3]");
		}
		const both = [insert(2, "b", 3), insert(1, "a", 2)];
		expect(applyEdits("[1,2,3]", both).text).toBe('[1,"a",2,"b",3]');
		expect(
			applyEdits("[1,2]", [
				insert(2, "c", 2),
				insert(1, "a", 2),
				{ kind: "remove", path: "/1", sha256_before: hash(2) },
			]).text,
		).toBe('[1,"a","c"]');
	});

	it("keep the lines of records, also where two are on one", () => {
		const text = '{"n":1}\n{"n":2} {"n":3}\n{"n":4}\n';
		const removed = (at: number): PortableEdit => ({
			kind: "remove",
			path: `/${at}`,
			sha256_before: hash({ n: at + 1 }),
		});
		expect(applyEdits(text, [removed(2)]).text).toBe('{"n":1}\n{"n":2}\n{"n":4}\n');
		expect(applyEdits(text, [removed(1)]).text).toBe('{"n":1}\n{"n":3}\n{"n":4}\n');
	});
});
