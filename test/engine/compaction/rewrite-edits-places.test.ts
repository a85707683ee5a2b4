import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { planRewrite } from "../../../src/engine/compaction/rewrite-edits.ts";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import type { Edit } from "../../../src/engine/conversation/plan.ts";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { messageOf, transcriptOf } from "../../support/transcripts.ts";

const sizeOf = (value: unknown) => ({ chars: 100, tokens: JSON.stringify(value).length });

/** Values whose messages are named by their paths; message `n` has 2 ** n tokens. */
function planned(given: {
	readonly before: readonly unknown[];
	readonly after: unknown;
	readonly messages?: readonly (readonly [paths: readonly Path[], fields?: Partial<Message>])[];
	readonly base?: Path;
	readonly named?: boolean;
}) {
	const { before, after, base = [], named = false } = given;
	const messages = given.messages ?? before.map((_, index) => [[[...base, index]]] as const);
	const transcript = {
		...transcriptOf(),
		messages: messages.map(([paths, fields]) => ({ ...messageOf(fields), paths })),
	};
	return planRewrite({
		source: { transcript, base, messages: before },
		after,
		sizes: messages.map((_, index) => ({ chars: index, tokens: 2 ** index })),
		sizeOf,
		...(named ? { identityOf: (value) => (value as { readonly id?: string }).id } : {}),
	});
}

function planIn(made: ReturnType<typeof planned>) {
	if (made.kind !== "rewrite") throw new Error(`expected a rewrite, got ${made.kind}`);
	return made;
}

const shape = (made: ReturnType<typeof planned>) =>
	planIn(made).plan.map(({ kind, path, message, before, unsent }: Edit & { readonly unsent?: boolean }) =>
		[kind, path.join("/"), message, before.tokens, unsent].filter((one) => one !== undefined).join(" "),
	);

const [a, b, c, d, fresh] = ["a", "b", "c", "d", "fresh"].map((id) => ({ id }));

describe("sizes and places of removed values", () => {
	it("come from the message of each value", () => {
		const made = planned({ before: [a, b, c, d], after: [a, fresh, d] });
		expect(shape(made)).toEqual(["insert 1 1 0", "remove 1 1 2", "remove 2 2 4"]);
		expect(planIn(made)).toMatchObject({ kept: 2, removed: [1, 2] });
		expect(planIn(made).plan[0]).toEqual({
			kind: "insert",
			reason: "summary",
			inserts: "message",
			path: [1],
			message: 1,
			before: { chars: 0, tokens: 0 },
			after: sizeOf(fresh),
			value: fresh,
		});
		expect(planIn(made).plan[1]).toEqual({
			kind: "remove",
			reason: "summary",
			path: [1],
			message: 1,
			before: { chars: 1, tokens: 2 },
			after: { chars: 0, tokens: 0 },
		});
	});

	it("of a value with several messages are all of theirs", () => {
		const two = [[[[0, "x"]]], [[[0, "y"]]], [[[1]]]] as const;
		const made = planned({ before: [a, b], after: [fresh, b], messages: two });
		expect(shape(made)).toEqual(["insert 0 0 0", "remove 0 0 3"]);
		expect(planIn(made).removed).toEqual([0, 1]);
	});

	it("of a message with several values count with the first, or with the value if the message stays", () => {
		const messages = [[[[0], [1]]], [[[2]]]] as const;
		expect(shape(planned({ before: [a, b, c], after: [c], messages }))).toEqual(["remove 0 0 1", "remove 1 0 0"]);
		const part = planned({ before: [a, b, c], after: [b, c], messages });
		expect(shape(part)).toEqual([`remove 0 0 ${sizeOf(a).tokens}`]);
		expect(planIn(part).removed).toEqual([]);
	});

	it("of a value without a message are none, and a message without a value is not removed", () => {
		const messages = [[[[1]]], [[]], [[[2]]]] as const;
		const made = planned({ before: [a, b, c], after: [fresh, c], messages });
		expect(shape(made)).toEqual(["insert 0 0 0", "remove 0 -1 0", "remove 1 0 1"]);
		expect(planIn(made).removed).toEqual([0]);
		expect(shape(planned({ before: [a, b, c], after: [b, c, fresh], messages }))).toEqual([
			"remove 0 -1 0",
			"insert 3 3 0",
		]);
	});

	it("say which values are no longer sent", () => {
		const unsent = { sent: false };
		const messages = [[[[0, "x"]], unsent], [[[0, "y"]], unsent], [[[1, "x"]], unsent], [[[1, "y"]]], [[[2]]]] as const;
		const made = planned({ before: [a, b, c, d], after: [c], messages });
		expect(shape(made)).toEqual(["remove 0 0 3 true", "remove 1 2 12", "remove 3 -1 0"]);
	});

	it("are in the list of the conversation", () => {
		const made = planned({ before: [a, b], after: [fresh, b], base: ["messages"] });
		expect(shape(made)).toEqual(["insert messages/0 0 0", "remove messages/0 0 1"]);
		expect(planIn(made).removed).toEqual([0]);
	});
});

describe("a value under the identity of a removed one", () => {
	const changed = (value: unknown) => ({ ...(value as object), changed: true });

	it("replaces it, with new ones before it and removed ones before those", () => {
		const made = planned({ before: [a, b, c, d], after: [fresh, changed(b), d], named: true });
		expect(shape(made)).toEqual(["insert 0 0 0", "remove 0 0 1", "replace 1 1 2", "remove 2 2 4"]);
		expect(planIn(made).plan[2]).toEqual({
			kind: "replace",
			reason: "summary",
			path: [1],
			message: 1,
			before: { chars: 1, tokens: 2 },
			after: sizeOf(changed(b)),
			replacement: changed(b),
		});
		expect(shape(planned({ before: [a, b, c, d], after: [fresh, changed(b), d] }))).toEqual([
			"insert 0 0 0",
			"remove 0 0 1",
			"insert 1 1 0",
			"remove 1 1 2",
			"remove 2 2 4",
		]);
	});

	it.each<[string, unknown[], string[]]>([
		["all of them", [a, b, c].map(changed), ["replace 0 0 1", "replace 1 1 2", "replace 2 2 4", "remove 3 3 8"]],
		["not after a kept one", [c, changed(a)], ["remove 0 0 1", "remove 1 1 2", "insert 3 3 0", "remove 3 3 8"]],
		["not before a kept one", [changed(c), a, d], ["insert 0 0 0", "remove 1 1 2", "remove 2 2 4"]],
		["not twice", [changed(a), changed(a), d], ["replace 0 0 1", "insert 1 1 0", "remove 1 1 2", "remove 2 2 4"]],
		["in order only", [changed(b), changed(a), d], ["remove 0 0 1", "replace 1 1 2", "insert 2 2 0", "remove 2 2 4"]],
		["the last", [a, b, c, changed(d)], ["replace 3 3 8"]],
		["after a kept one", [a, changed(b), c, d], ["replace 1 1 2"]],
		["none without one", [{ changed: true }, d], ["insert 0 0 0", "remove 0 0 1", "remove 1 1 2", "remove 2 2 4"]],
	])("%s", (_, after, expected) => {
		expect(shape(planned({ before: [a, b, c, d], after, named: true }))).toEqual(expected);
	});

	it("replaces the first of several, and never a kept one", () => {
		const [one, two] = [
			{ id: "x", at: 1 },
			{ id: "x", at: 2 },
		];
		const third = { id: "x", at: 3 };
		expect(shape(planned({ before: [one, two, a], after: [third, a], named: true }))).toEqual([
			"replace 0 0 1",
			"remove 1 1 2",
		]);
		expect(shape(planned({ before: [one, two, a], after: [one, third, a], named: true }))).toEqual(["replace 1 1 2"]);
	});
});

describe("lists that a strategy returns", () => {
	/** A message with so many levels of lists in it. */
	const nested = (levels: number) => {
		let value: unknown = "leaf";
		for (let level = 1; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
		return { value };
	};

	it("may be nested 64 levels deep", () => {
		expect(planned({ before: [a], after: [nested(64)] }).kind).toBe("rewrite");
		expect(planned({ before: [a], after: [nested(65)] })).toEqual({
			kind: "refused",
			detail: "Expected plain JSON, got values nested deeper than 64 levels in message 0.",
		});
	});

	it("are unchanged if they are equal, and may be empty only if the conversation is", () => {
		expect(planned({ before: [], after: [] })).toEqual({ kind: "unchanged" });
		expect(planned({ before: [a, b], after: [{ id: "a", x: undefined }, b] })).toEqual({ kind: "unchanged" });
		expect(planned({ before: [a], after: [a, b] }).kind).toBe("rewrite");
		expect(planned({ before: [a, b], after: [a] })).toMatchObject({ kind: "rewrite", kept: 1, removed: [1] });
		expect(planned({ before: [], after: [a] })).toMatchObject({ kind: "rewrite", kept: 0, removed: [] });
	});

	it("may come from another realm, but hold no instances of classes", () => {
		expect(planned({ before: [a, b], after: runInNewContext('[{ id: "a" }]') })).toMatchObject({ kept: 1 });
		const inherited = Object.create(Object.assign(Object.create(null), { role: "user" }));
		const indirect = Object.create(Object.create({}));
		for (const value of [inherited, indirect]) {
			expect(planned({ before: [a], after: [b, value] })).toEqual({
				kind: "refused",
				detail: "Expected plain JSON, got an instance of a class in message 1.",
			});
		}
	});

	it("keep null, false, 0 and texts, without fields that are undefined", () => {
		const value = { id: "x", nothing: null, no: false, yes: true, zero: 0, text: "", list: [null, 1], object: {} };
		const made = planned({ before: [a], after: [{ ...value, gone: undefined, object: { gone: undefined } }] });
		expect(planIn(made).plan[0]).toHaveProperty("value", value);
	});

	it.each([
		["Infinity", Number.POSITIVE_INFINITY, "a number that is not finite"],
		["undefined", [undefined], "undefined"],
		["a symbol", Symbol("x"), "a symbol"],
		["a function", () => 1, "a function"],
	])("are refused with %s in them", (_, value, problem) => {
		expect(planned({ before: [a], after: [a, { value }] })).toEqual({
			kind: "refused",
			detail: `Expected plain JSON, got ${problem} in message 1.`,
		});
	});
});
