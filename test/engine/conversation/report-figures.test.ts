import { describe, expect, it } from "vitest";
import { exactScale, measure } from "../../../src/engine/conversation/measure.ts";
import type { Edit, ReplaceEdit } from "../../../src/engine/conversation/plan.ts";
import {
	economicsOf,
	notesOn,
	notesOnContents,
	notesOnRoles,
	reportOf,
} from "../../../src/engine/conversation/report.ts";
import { compareDocuments } from "../../../src/engine/conversation/verify-trace.ts";
import { roughCount } from "../../support/rough-count.ts";
import { messageOf, resultOf, transcriptOf } from "../../support/transcripts.ts";

const call = { id: "a", name: "ls" };
const transcript = transcriptOf(
	messageOf({ role: "user", counted: ["12345678"] }),
	messageOf({ calls: [call], counted: ["1234"] }),
	messageOf({ role: "tool", results: [resultOf("a", "12345678".repeat(10))] }),
	messageOf({ role: "tool", sent: false, results: [resultOf("a", "1234")] }),
	messageOf({ counted: ["1234"] }),
);
const measured = measure(transcript, { countTokens: roughCount, messageOverhead: 4 });
const scale = { low: 0.5, factor: 1.5, high: 2 };
const size = (chars: number, tokens: number, fixed?: number) => ({ chars, tokens, ...(fixed ? { fixed } : {}) });

const edit = (message: number, fields: Partial<ReplaceEdit>): ReplaceEdit => ({
	...{ kind: "replace", reason: "mask", path: [message, "content"], message, replacement: "x" },
	...{ before: size(80, 20), after: size(8, 2), ...fields },
});

const noCalls =
	"This conversation has no tool calls or results in the form that its format defines, so there is nothing to mask or truncate.";

describe("a report", () => {
	it("has all figures of a plan, in the tokens of the model", () => {
		const plan: Edit[] = [
			edit(2, {}),
			edit(3, { unsent: true }),
			{ ...edit(4, { before: size(4, 5, 4), after: size(0, 0) }), kind: "remove", reason: "drop", path: [4] },
			{
				...edit(5, { before: size(0, 0), after: size(4, 5, 4) }),
				kind: "insert",
				reason: "append",
				inserts: "message",
				value: 1,
			},
		];
		// 96 characters in 24 tokens, and 4 messages of 4 tokens each that are not scaled.
		expect(measured.total).toEqual({ chars: 96, tokens: 40, fixed: 16 });
		expect(reportOf(transcript, measured, plan, scale)).toEqual({
			format: "openai-chat",
			changed: true,
			messages: { before: 5, after: 5 },
			tool_turns: 1,
			tool_results: 2,
			masked_tool_results: 1,
			truncated_tool_results: 0,
			dropped_messages: 1,
			chars: { before: 96, after: 24 },
			tool_chars: { before: 80, after: 8 },
			tokens: { before: 24 * 1.5 + 16, after: 6 * 1.5 + 16 },
			band: { low: 3 + 16, high: 12 + 16 },
			notes: [],
		});
		const dropped: Edit = { ...edit(2, { before: size(80, 24), after: size(0, 0) }), kind: "remove", reason: "drop" };
		expect(reportOf(transcript, measured, [dropped])).toMatchObject({
			messages: { before: 5, after: 4 },
			tool_chars: { before: 80, after: 0 },
			tokens: { before: 40, after: 16 },
			band: { low: 16, high: 16 },
		});
	});

	it("notes that nothing calls a tool and nothing answers", () => {
		expect(notesOn(transcriptOf(messageOf(), messageOf()))).toEqual([noCalls]);
		expect(notesOn(transcriptOf())).toEqual([noCalls]);
		expect(notesOn(transcriptOf(messageOf(), messageOf({ calls: [call] })))).toEqual([]);
		expect(notesOn(transcriptOf(messageOf({ results: [resultOf("a")] }), messageOf()))).toEqual([]);
	});

	it("notes that no result can be read, where results have contents", () => {
		const unread = { ...resultOf("a"), texts: [], whole: undefined };
		const notes = (...results: ReturnType<typeof resultOf>[]) =>
			notesOnContents(transcriptOf(...results.map((one) => messageOf({ counted: ["{}"], results: [one] }))));
		expect(notes(unread, unread)).toEqual([expect.stringMatching(/^None of the 2 tool results can be read: /)]);
		expect(notes(unread, resultOf("b"))).toEqual([]);
		expect(notes()).toEqual([]);
		expect(notesOnContents(transcriptOf(messageOf({ counted: [], results: [unread] })))).toEqual([]);
	});

	it("names unknown roles as they are spelled in a message, or in the record around it", () => {
		const other = messageOf({ role: "other" });
		const notes = (...document: unknown[]) => notesOnRoles(document, transcriptOf(...document.map(() => other)));
		const behind = " These messages are counted, but nothing in them is masked or truncated.";
		const one = (name: string) => [`Roles that no format defines, with their messages: ${name}.${behind}`];
		expect(notes({ role: "critic" })).toEqual(one('"critic" (1)'));
		expect(notes({ message: { role: "critic" } })).toEqual(one('"critic" (1)'));
		expect(notes({ payload: { role: "critic" } })).toEqual(one('"critic" (1)'));
		expect(notes({ role: 7, message: { role: "judge" } })).toEqual(one('"judge" (1)'));
		expect(notes({ role: "x".repeat(40) })).toEqual(one(`"${"x".repeat(40)}" (1)`));
		expect(notes({ role: "x".repeat(41) }, { role: "" })).toEqual(one("a role that is not a plain word (2)"));
		expect(notes({ role: "a b" })).toEqual(one("a role that is not a plain word (1)"));
		expect(notes(null, "text", { message: null }, {})).toEqual([]);
		const known = { ...transcriptOf(other), messages: [messageOf({ role: "user", paths: [[0]] })] };
		expect(notesOnRoles([{ role: "critic" }], known)).toEqual([]);
		expect(notesOnRoles([{ role: "critic" }], { ...known, messages: [{ ...other, paths: [] }] })).toEqual([]);
		const nine = Array.from({ length: 9 }, (_, index) => ({ role: `r${index}` }));
		expect(notes(...nine)[0]).toContain('"r7" (1), 1 more. These');
		expect(notes(...nine.slice(0, 8))[0]).not.toContain("more");
	});
});

describe("the cost and the saving of a plan", () => {
	const prices = { input: 1, cache_read: 0.1, cache_write: 1.1, output: 5 };
	const messages = [100, 200, 300].map((tokens) => size(4 * tokens, tokens));
	const measurement = { messages, surroundingTokens: 0, total: size(2_400, 600) };
	const of = (plan: Edit[], given: object = {}) =>
		economicsOf(plan, { measurement, prices, scale: exactScale, ...given });
	const masked = edit(1, { before: size(800, 200), after: size(40, 10) });

	it("is counted from the first changed message on", () => {
		expect(of([masked])).toEqual({
			first_changed_message: 1,
			prefix_kept_tokens: 100,
			rewritten_tokens: 310,
			saved_tokens_per_call: 190,
			// 310 × 1 at 19 a call.
			calls_to_break_even: 17,
		});
		expect(of([edit(0, { before: size(400, 100), after: size(0, 0) })])).toMatchObject({
			first_changed_message: 0,
			prefix_kept_tokens: 0,
			rewritten_tokens: 500,
			calls_to_break_even: 50,
		});
		expect(of([masked], { scale: { low: 2, factor: 2, high: 2 } })).toMatchObject({
			prefix_kept_tokens: 200,
			rewritten_tokens: 620,
			saved_tokens_per_call: 380,
			calls_to_break_even: 17,
		});
	});

	it("pays at once where nothing is rewritten or writing is free, and never where nothing is saved", () => {
		const last = edit(2, { before: size(1_200, 300), after: size(0, 0) });
		expect(of([last])).toMatchObject({ rewritten_tokens: 0, calls_to_break_even: 0 });
		const nothing = { messages: [size(0, 0)], surroundingTokens: 0, total: size(0, 0) };
		expect(of([edit(0, { before: size(0, 0), after: size(0, 0) })], { measurement: nothing }).calls_to_break_even).toBe(
			0,
		);
		const cheap = { ...prices, cache_write: 0.05 };
		expect(of([masked], { prices: cheap }).calls_to_break_even).toBe(0);
		expect(of([edit(1, { before: size(4, 1), after: size(4, 1) })]).calls_to_break_even).toBeNull();
		expect(of([edit(1, { before: size(4, 1), after: size(8, 2) })])).toMatchObject({
			saved_tokens_per_call: -1,
			calls_to_break_even: null,
		});
		expect(of([masked], { prices: { ...prices, cache_read: 0 } }).calls_to_break_even).toBeNull();
		expect(of([])).toMatchObject({ first_changed_message: null, prefix_kept_tokens: 600, calls_to_break_even: null });
	});
});

describe("the difference between two documents", () => {
	const read = (document: unknown) => ({ document, transcript: transcriptOf() });

	function differences(before: unknown, after: unknown, plan: Edit[]): string[] {
		const places: string[] = [];
		const report = (_promise: string, place: string) => places.push(place);
		compareDocuments({ before: read(before), after: read(after), plan, base: ["m"], report });
		return places;
	}

	const planned = edit(0, { path: ["m", 0, "content"], replacement: "x" });

	it.each<[string, unknown, unknown, string[]]>([
		["nothing", { m: [{ content: "a", b: 1 }] }, { m: [{ content: "x", b: 1 }] }, []],
		["another text", { m: [{ content: "a" }] }, { m: [{ content: "y" }] }, ["/m/0/content"]],
		["a value next to it", { m: [{ content: "a", b: 1 }] }, { m: [{ content: "x", b: 2 }] }, ["/m/0/b"]],
		["an additional item", { m: [{ content: "a" }] }, { m: [{ content: "x" }, 1] }, ["/m"]],
		["an item in place of another", { m: [{ content: "a" }, 1] }, { m: [{ content: "x" }, 2] }, ["/m/1"]],
		["a list in place of an object", { m: [{ content: "a" }] }, { m: [["x"]] }, ["/m/0"]],
		["an object in place of a list", { m: [{ content: "a" }] }, { m: { 0: { content: "x" } } }, ["/m"]],
		["nothing in place of an object", { m: [{ content: "a" }] }, { m: [null] }, ["/m/0"]],
		["other keys", { m: [{ content: "a" }] }, { m: [{ content: "x", c: 1 }] }, ["/m/0"]],
		["keys in another order", { m: [{ content: "a", b: 1 }] }, { m: [{ b: 1, content: "x" }] }, ["/m/0"]],
		["a text in place of all", { m: [{ content: "a" }] }, "x", ["the whole document"]],
	])("%s is found at its place", (_, before, after, places) => {
		const shared = (value: unknown) => JSON.parse(JSON.stringify(value));
		expect(differences(shared(before), shared(after), [planned])).toEqual(places);
	});

	it("an insertion and a removal move the items after them", () => {
		const insert: Edit = { ...planned, kind: "insert", path: ["m", 1], inserts: "message", value: { new: 1 } };
		const remove: Edit = { ...planned, kind: "remove", path: ["m", 0] };
		const items = [{ a: 1 }, { b: 1 }, { c: 1 }];
		expect(differences({ m: items }, { m: [{ new: 1 }, items[1], items[2]] }, [insert, remove])).toEqual([]);
		expect(differences({ m: items }, { m: [items[0], { new: 1 }, items[1], items[2]] }, [insert])).toEqual([]);
		expect(differences({ m: items }, { m: [items[0], { new: 2 }, items[1], items[2]] }, [insert])).toEqual(["/m"]);
		expect(differences({ m: items }, { m: [items[1]] }, [remove])).toEqual(["/m/1", "/m"]);
		const member: Edit = { ...planned, kind: "remove", path: ["m", 0, "a"] };
		expect(differences({ m: items }, { m: [{}, items[1], items[2]] }, [member])).toEqual([]);
	});
});
