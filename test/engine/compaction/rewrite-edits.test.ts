import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import { planRewrite } from "../../../src/engine/compaction/rewrite-edits.ts";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import { jsonPointer } from "../../../src/engine/conversation/paths.ts";
import type { RecordLinks } from "../../../src/formats/format.ts";
import { withRelinks } from "../../../src/formats/session-files.ts";
import { agentConversation } from "../../support/agent-conversation.ts";
import { deepFreeze } from "../../support/deep-freeze.ts";
import { messageOf, transcriptOf } from "../../support/transcripts.ts";
import { planOf, rewrite } from "./rewriting.ts";

const long = "word ".repeat(200);

const record = (type: string, uuid: string, parentUuid: string | null, content: unknown) => ({
	type,
	uuid,
	parentUuid,
	sessionId: "s",
	message: { id: uuid, role: type, content },
});

const session = [
	record("user", "1", null, "go"),
	record("assistant", "2", "1", [{ type: "tool_use", id: "a", name: "ls", input: {} }]),
	record("user", "3", "2", [{ type: "tool_result", tool_use_id: "a", content: long }]),
	record("assistant", "4", "3", [{ type: "text", text: long }]),
	record("user", "5", "4", "on"),
];

const hidden = record("user", "3", "2", [{ type: "tool_result", tool_use_id: "a", content: "hidden" }]);

const placesOfEdits = (made: ReturnType<typeof rewrite>) =>
	planOf(made).plan.map((edit) => `${edit.kind} ${jsonPointer(edit.path)} (${edit.message})`);

const relinked = (made: ReturnType<typeof rewrite>) => {
	const { plan } = planOf(made);
	return withRelinks(made.source.format.links as RecordLinks, made.source.located, plan)
		.filter((edit) => !plan.includes(edit))
		.map((edit) => `${jsonPointer(edit.path)} ${edit.kind === "replace" && edit.replacement}`);
};

describe("records of a session", () => {
	it("rewritten under their id keep their place, and later records stay linked", () => {
		const made = rewrite(session, (history) => history.map((one, index) => (index === 2 ? hidden : one)));
		expect(made.source.format.name).toBe("claude-code");
		expect(placesOfEdits(made)).toEqual(["replace /2 (2)"]);
		expect(relinked(made)).toEqual([]);
		expect(made.violations).toEqual([]);
		expect(planOf(made).plan[0]?.after.tokens).toBeLessThan(20);
	});

	it("moved to an earlier place are removed, and new records before them inserted", () => {
		const late = record("user", "5", "x", "on, then");
		const fresh = record("user", "x", "1", "what came before");
		const made = rewrite(session, (history) => [history[0], fresh, late]);
		expect(placesOfEdits(made)).toEqual([
			"insert /1 (1)",
			"remove /1 (1)",
			"remove /2 (2)",
			"remove /3 (3)",
			"replace /4 (4)",
		]);
		expect(made.violations).toEqual([]);
		// A new record that no later one leads to would be sent to no model.
		const aside = record("user", "5", "1", "on, then");
		expect(rewrite(session, (history) => [history[0], fresh, aside]).promises).toEqual(["inserted_as_planned"]);
	});

	it("that were moved are not linked as predecessors", () => {
		const early = record("user", "5", null, "on!");
		const made = rewrite(session, (history) => [early, history[0], history[3]]);
		expect(placesOfEdits(made)).toEqual(["insert /0 (0)", "remove /1 (1)", "remove /2 (2)", "remove /4 (4)"]);
		expect(relinked(made)).toEqual(["/3/parentUuid 1"]);
	});
});

const count = { replace: 0, insert: 0, remove: 0, kept: 0 };

describe("any list", () => {
	const value = fc.record({ id: fc.constantFrom(..."abcdefghij"), text: fc.constantFrom("x", "y") });
	const list = fc.array(value, { minLength: 1, maxLength: 12, size: "max" });

	const deeds = fc.array(fc.constantFrom("keep", "keep", "change", "drop", "add"), { minLength: 12, maxLength: 12 });
	const pairs = fc.oneof(
		fc.tuple(list, list),
		fc.tuple(list, deeds).map(([before, done]) => {
			const after = before.flatMap((one, index) => {
				const changed = { ...one, text: "z" };
				if (done[index] === "add") return [{ id: "new", text: "x" }, one];
				return done[index] === "drop" ? [] : [done[index] === "change" ? changed : one];
			});
			return [before, after.length === 0 ? before : after] as const;
		}),
	);

	test.prop([pairs, fc.boolean()], { numRuns: 500 })(
		"becomes the requested list, with or without identities",
		([before, after], named) => {
			const transcript = transcriptOf(...before.map(() => messageOf()));
			const size = { chars: 1, tokens: 1 };
			const made = planRewrite({
				source: { transcript, base: [], messages: before },
				after,
				sizes: before.map(() => size),
				sizeOf: () => size,
				identityOf: (one) => (named ? (one as { id: string }).id : undefined),
			});
			if (made.kind !== "rewrite") {
				expect(after).toEqual(before);
				return;
			}
			const { plan } = made;
			expect(applyPlan(before, plan)).toEqual(after);
			const of = (kind: string) => plan.filter((edit) => edit.kind === kind);
			expect(of("remove").length + of("replace").length + made.kept).toBe(before.length);
			expect(of("insert").length + of("replace").length + made.kept).toBe(after.length);
			expect(made.removed.length).toBe(before.length - made.kept);
			for (const edit of of("replace")) {
				const { id } = (edit as { replacement: { id: string } }).replacement;
				expect(before[Number(edit.path[0])]?.id).toBe(id);
			}
			count.kept += made.kept;
			for (const kind of ["replace", "insert", "remove"] as const) count[kind] += of(kind).length;
			if (!named) expect(of("replace")).toEqual([]);
		},
	);

	afterAll(() => {
		expect(Math.min(count.replace, count.insert, count.remove, count.kept)).toBeGreaterThan(40);
	});
});

const size = { chars: 1, tokens: 1 };

/** For each value of `after` the place in `before` from which it stays, or -1. */
function matchValues(before: readonly string[], after: readonly string[]): number[] {
	const [messages, values] = [before, after].map((list) => list.map((key) => ({ key }))) as [object[], object[]];
	const made = planRewrite({
		source: { transcript: transcriptOf(...messages.map(() => messageOf())), base: [], messages },
		after: values,
		sizes: messages.map(() => size),
		sizeOf: () => size,
		identityOf: () => undefined,
	});
	if (made.kind === "unchanged") return before.map((_, index) => index);
	if (made.kind !== "rewrite") throw new Error(JSON.stringify(made));
	const at = (kind: string) => made.plan.filter((edit) => edit.kind === kind).map(({ path }) => Number(path[0]));
	const [inserted, removed] = [at("insert"), new Set(at("remove"))];
	return Array.from({ length: before.length + 1 }, (_, index) => [
		...inserted.filter((place) => place === index).map(() => -1),
		...(index === before.length || removed.has(index) ? [] : [index]),
	]).flat();
}

const match = (before: string, after: string) => matchValues([...before], [...after]);

describe("messages of a rewritten list", () => {
	it("finds the rest when values are removed, inserted and replaced", () => {
		expect(match("abcdef", "abcdef")).toEqual([0, 1, 2, 3, 4, 5]);
		expect(match("abcdef", "aef")).toEqual([0, 4, 5]);
		expect(match("abcdef", "abXcdef")).toEqual([0, 1, -1, 2, 3, 4, 5]);
		expect(match("abcdef", "SXeYf")).toEqual([-1, -1, 4, -1, 5]);
		expect(match("", "abc")).toEqual([-1, -1, -1]);
	});

	it("keeps one of two swapped values", () => {
		expect(match("abcdef", "bacdef").filter((one) => one === -1).length).toBe(1);
		expect(match("abcdef", "fabcde")).toEqual([-1, 0, 1, 2, 3, 4]);
	});

	it("matches repeated values by their neighbours", () => {
		expect(match("xaxbxc", "axbxc")).toEqual([1, 2, 3, 4, 5]);
		expect(match("xaxbxc", "xbxc")).toEqual([0, 3, 4, 5]);
		expect(match("xyxyxy", "Sxyxy")).toEqual([-1, 2, 3, 4, 5]);
		expect(match("xxyxx", "yyxxy")).toEqual([2, -1, 3, 4, -1]);
	});

	const count = { kept: 0, fresh: 0, all: 0 };
	const keys = fc.array(fc.constantFrom(..."abcdefghijklmno"), { minLength: 5, maxLength: 40, size: "max" });

	test.prop([keys, keys], { numRuns: 500 })("matches only equal values, in order", (before, after) => {
		const matches = matchValues(before, after);
		expect(matches.length).toBe(after.length);
		let latest = -1;
		matches.forEach((found, index) => {
			if (found === -1) {
				count.fresh += 1;
				return;
			}
			expect(before[found]).toBe(after[index]);
			expect(found).toBeGreaterThan(latest);
			latest = found;
			count.kept += 1;
		});
	});

	test.prop([fc.uniqueArray(fc.integer(), { maxLength: 60 }), fc.func(fc.boolean())], { numRuns: 300 })(
		"finds all remaining values when values are distinct",
		(values, stays) => {
			const before = values.map(String);
			const left = before.filter((value) => stays(value));
			const after = [...left.flatMap((value) => ["new", value]), "end"];
			expect(matchValues(before, after).filter((one) => one !== -1).length).toBe(left.length);
			count.all += 1;
		},
	);

	afterAll(() => {
		expect(count.kept).toBeGreaterThan(1_000);
		expect(count.fresh).toBeGreaterThan(1_000);
		expect(count.all).toBe(300);
	});

	/** Reads of the lists, which stand for the time that matching takes. */
	function reads(before: readonly string[], after: readonly string[]): number {
		let counted = 0;
		const watch = (list: readonly string[]) =>
			new Proxy(list, {
				get(target, key) {
					if (typeof key === "string" && /^\d+$/.test(key)) counted += 1;
					return Reflect.get(target, key);
				},
			});
		matchValues(watch(before), watch(after));
		return counted;
	}

	const many = 10_000;
	const different = Array.from({ length: many }, (_, index) => `message ${index}`);
	const two = different.map((_, index) => (index % 2 === 0 ? "continue" : "ok"));
	/** Each value but every 100th occurs again, so that few tell where they belong. */
	const repetitive = different.map((value, index) => (index % 100 === 0 ? value : `again ${index % 7}`));
	it.each([
		["different values, every third dropped", different, different.filter((_, index) => index % 3 !== 0)],
		["different values, all replaced", different, different.map((value) => `${value}, hidden`)],
		["different values, reversed", different, different.toReversed()],
		["two values, over and over, in another order", two, ["ok", "ok", ...two.slice(1_000), "continue", "continue"]],
		[
			"two values, a few new ones among them",
			two,
			two.flatMap((one, index) => (index % 50 === 0 ? ["new", one] : [one])),
		],
		["mostly repeated values, shifted", repetitive, repetitive.slice(3, -3).toReversed()],
	])("10 000 messages in linear time: %s", (_, before, after) => {
		expect(reads(before, after)).toBeLessThan(40 * (before.length + after.length));
	});
});

const conversation = deepFreeze(agentConversation(4));

const summary = { role: "user", content: "a summary" };

/** Kind, place and message of each edit. */
const shape = (made: ReturnType<typeof rewrite>) =>
	planOf(made).plan.map((edit) => `${edit.kind} ${jsonPointer(edit.path)} (${edit.message})`);

describe("planRewrite", () => {
	it("removes missing messages, inserts new ones, and keeps all others identical", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), summary, ...history.slice(6)]);
		expect(shape(made)).toEqual(["insert /2 (2)", "remove /2 (2)", "remove /3 (3)", "remove /4 (4)", "remove /5 (5)"]);
		expect(planOf(made)).toMatchObject({ removed: [2, 3, 4, 5], kept: 6 });
		expect(made.document).toEqual([...conversation.slice(0, 2), summary, ...conversation.slice(6)]);
		(made.document as unknown[]).slice(3).forEach((value, index) => {
			expect(value).toBe(conversation[index + 6]);
		});
		expect(made.violations).toEqual([]);
	});

	it("puts one-for-one replacements in place", () => {
		const made = rewrite(conversation, (history) =>
			history.map((value, index) => (index === 3 || index === 5 ? { ...(value as object), content: "hidden" } : value)),
		);
		expect(shape(made)).toEqual(["insert /3 (3)", "remove /3 (3)", "insert /5 (5)", "remove /5 (5)"]);
		expect(made.violations).toEqual([]);
	});

	it("appends a message at the end", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), ...history.slice(4), summary]);
		expect(shape(made)).toEqual(["remove /2 (2)", "remove /3 (3)", "insert /10 (10)"]);
		expect(made.violations).toEqual([]);
	});

	it("names positions in the document, not in the list", () => {
		const made = rewrite({ model: "m", messages: conversation }, (history) => [...history.slice(0, 2), summary]);
		expect(shape(made)[0]).toBe("insert /messages/2 (2)");
		expect(made.document).toEqual({ model: "m", messages: [...conversation.slice(0, 2), summary] });
	});

	it("reports sizes: each message once, new ones as the format reads them", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), summary, ...history.slice(4)]);
		const [inserted, call, result] = planOf(made).plan;
		expect(inserted).toMatchObject({ before: { tokens: 0 }, after: { chars: 9, tokens: 3 + 3 }, reason: "summary" });
		expect(call?.after).toEqual({ chars: 0, tokens: 0 });
		expect(result?.before.chars).toBeGreaterThan(1_000);
	});

	it("compares a message of several values value by value, and counts it once", () => {
		const items = [
			{ type: "message", role: "user", content: "go" },
			{ type: "reasoning", id: "rs_1", summary: [] },
			{ type: "function_call", call_id: "a", name: "ls", arguments: "{}" },
			{ type: "function_call", call_id: "b", name: "ls", arguments: "{}" },
			{ type: "function_call_output", call_id: "a", output: "x".repeat(400) },
			{ type: "function_call_output", call_id: "b", output: "y".repeat(400) },
			{ type: "message", role: "user", content: "and now?" },
		];
		const made = rewrite({ model: "m", input: items }, (history) => [history[0], ...history.slice(6)]);
		expect(made.source.format.name).toBe("openai-responses");
		expect(shape(made)).toEqual([
			"remove /input/1 (1)",
			"remove /input/2 (1)",
			"remove /input/3 (1)",
			"remove /input/4 (2)",
			"remove /input/5 (3)",
		]);
		expect(planOf(made).removed).toEqual([1, 2, 3]);
		const [first, second, third] = planOf(made).plan;
		expect(first?.before.tokens).toBeGreaterThan(3);
		expect([second?.before.tokens, third?.before.tokens]).toEqual([0, 0]);
		expect(made.violations).toEqual([]);
		// Of one whose message stays in part, the message is not among the removed.
		const part = rewrite({ model: "m", input: items }, (history) => history.filter((_, index) => index !== 1));
		expect(shape(part)).toEqual(["remove /input/1 (1)"]);
		expect(planOf(part).removed).toEqual([]);
	});

	it("changes nothing for null and for an equal list", () => {
		for (const strategy of [() => null, (history: readonly unknown[]) => history]) {
			expect(rewrite(conversation, strategy).rewrite).toEqual({ kind: "unchanged" });
		}
		const withUndefined = (history: readonly unknown[]) => history.map((one) => ({ ...(one as object), x: undefined }));
		expect(rewrite(conversation, withUndefined).rewrite).toEqual({ kind: "unchanged" });
	});

	it("copies values: changing the result later has no effect", () => {
		const later = { role: "user", content: "a summary", extra: { list: [1] } };
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), later]);
		later.extra.list.push(2);
		const [edit] = planOf(made).plan;
		expect(edit?.kind === "insert" && edit.value).toEqual({ ...summary, extra: { list: [1] } });
	});

	class Message {
		readonly role = "user";
	}
	const endless: Record<string, unknown> = { role: "user" };
	endless.self = [endless, endless];
	const withoutPrototype = Object.assign(Object.create(null), summary);

	it.each([
		["undefined", undefined, "list of messages or null"],
		["a text", "summary", "list of messages or null"],
		["an object", { messages: [] }, "list of messages or null"],
		["nothing", [], "at least one message"],
		["texts", ["summary"], "message 0 is not one"],
		["lists", [[summary]], "message 0 is not one"],
		["null in it", [summary, null], "message 1 is not one"],
		["a hole", Object.assign(new Array(2), { 1: summary }), "undefined in message 0"],
		["an instance of a class", [new Message()], "an instance of a class in message 0"],
		["a date", [{ ...summary, at: new Date(0) }], "an instance of a class"],
		["a function", [{ ...summary, run: () => 1 }], "a function"],
		["a bigint", [{ ...summary, size: 1n }], "a bigint"],
		["NaN", [{ ...summary, size: Number.NaN }], "not finite"],
		["undefined in a list", [{ ...summary, list: [undefined] }], "undefined"],
		["a value that contains itself", [endless], "nested deeper"],
		["a prototype", [JSON.parse('{"role": "user", "__proto__": {}}')], "prototype"],
		[
			"a getter that throws",
			[
				Object.defineProperty({ role: "user" }, "content", {
					enumerable: true,
					get: () => {
						throw new Error("secret");
					},
				}),
			],
			"cannot be read",
		],
	])("refuses %s", (_, after, detail) => {
		const { rewrite: made } = rewrite(conversation, () => after);
		expect(made).toEqual({ kind: "refused", detail: expect.stringContaining(detail) });
		expect(JSON.stringify(made)).not.toContain("secret");
	});

	it("accepts objects without a prototype", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), withoutPrototype]);
		expect(made.violations).toEqual([]);
		expect(made.document).toEqual([...conversation.slice(0, 2), summary]);
	});
});
