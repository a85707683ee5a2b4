import { describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import type { Edit, InsertEdit, Plan, RemoveEdit, ReplaceEdit } from "../../../src/engine/conversation/plan.ts";
import type { Message, Transcript } from "../../../src/engine/conversation/transcript.ts";
import { verify } from "../../../src/engine/conversation/verify.ts";
import { roughCount } from "../../support/rough-count.ts";
import { outputOf } from "../../support/sample-text.ts";
import {
	assistant,
	type Entry,
	openaiMessages,
	results,
	system,
	toolTurn,
	user,
	writeMessages,
} from "../../support/script.ts";
import { messageOf, resultOf, transcriptFrom, transcriptOf } from "../../support/transcripts.ts";

type Given = Partial<Parameters<typeof verify>[2]>;

const read = (document: unknown) => ({ document, transcript: transcriptFrom(document) });

/** All violations of a plan, with their places. */
function found(before: unknown, plan: Plan, { after, ...given }: Given & { after?: unknown } = {}): string[] {
	const written = after ?? applyPlan(before, plan);
	const parameters = { plan, base: [], countTokens: roughCount, ...given };
	return verify(read(before), read(written), parameters).map(({ promise, detail }) => `${promise}: ${detail}`);
}

/** All violations of an empty plan after which other messages are read. */
function foundIn(before: readonly Message[], after: readonly Message[]): string[] {
	const readAs = (list: readonly Message[]) => ({ document: "the same", transcript: transcriptOf(...list) });
	const violations = verify(readAs(before), readAs(after), { plan: [], base: [], countTokens: roughCount });
	return violations.map(({ promise, detail }) => `${promise}: ${detail}`);
}

const size = (tokens: number, chars = tokens) => ({ chars, tokens });

const replace = (path: Path, fields: Partial<ReplaceEdit> = {}): ReplaceEdit => ({
	...{ kind: "replace", reason: "mask", path, message: Number(path[0]), replacement: "[x]" },
	...{ before: size(300), after: size(1), ...fields },
});

const remove = (message: number, fields: Partial<RemoveEdit> = {}): RemoveEdit => ({
	...{ kind: "remove", reason: "drop", path: [message], message, before: size(300), after: size(0), ...fields },
});

const insert = (at: number, value: unknown, fields: Partial<InsertEdit> = {}): InsertEdit => ({
	...{ kind: "insert", reason: "append", path: [at], message: at, inserts: "message", value },
	...{ before: size(0), after: size(5), ...fields },
});

const messages = openaiMessages(system("S"), user("The task."), toolTurn("a", outputOf("a")), user("Well?"));

const rewriting = { rewrite: { meter: { countTokens: roughCount, messageOverhead: 4 } } };

describe("a part that is put into a message", () => {
	const placed = transcriptOf(messageOf({ role: "user" }), messageOf(), messageOf({ role: "tool" }));
	const ofTwoValues = messageOf({ role: "user", paths: [[3], [4]] });
	const speakers = { ...placed, messages: [...placed.messages, ofTwoValues] };

	/** Only the place is checked: there is no document. */
	function isTaken(message: number, path: Path, reason: "summary" | "append" | "mask"): boolean {
		const plan = [insert(0, "x", { path, message, inserts: "part", reason })];
		const same = { document: [], transcript: speakers };
		const violations = verify(same, same, { plan, base: [], countTokens: roughCount });
		return !violations.some(({ promise }) => promise === "inserted_as_planned");
	}

	it.each<[string, number, Path, "summary" | "append" | "mask", boolean]>([
		["of the user, as a summary", 0, [0, "content", 1], "summary", true],
		["of the user, at the end", 0, [0, "content", 1], "append", true],
		["of the user, in its first value", 3, [3, "content", 1], "summary", true],
		["of the user, in its last value", 3, [4, "content", 1], "summary", true],
		["of the assistant, at the end", 1, [1, "content", 1], "append", true],
		["of the assistant, as a summary", 1, [1, "content", 1], "summary", false],
		["of a tool", 2, [2, "content", 1], "append", false],
		["of no message", 7, [7, "content", 1], "append", false],
		["for another reason", 0, [0, "content", 1], "mask", false],
		["that is named, but at another one", 0, [1, "content", 1], "append", false],
		["that is named, but next to it", 0, [0], "append", false],
	])("%s is accepted or not", (_, message, path, reason, isAccepted) => {
		expect(isTaken(message, path, reason)).toBe(isAccepted);
	});
});

describe("a message that is put in", () => {
	const plain = { role: "user", content: "More." };

	it("is plain, is in the list of messages and was planned", () => {
		expect(found(messages, [insert(5, plain)])).toEqual([]);
		expect(found(messages, [insert(5, { role: "assistant", content: "More." })])).toEqual([]);
		expect(found(messages, [insert(5, { role: "critic", content: "More." })])).toEqual([
			"inserted_as_planned: message 5 of the result",
		]);
		expect(found(messages, [insert(5, { role: "system", content: "More." })])).toContain(
			"inserted_as_planned: message 5 of the result",
		);
		expect(found(messages, [], { after: [...messages, plain] })).toEqual([
			"untouched_parts_identical: the whole document",
			"order_kept: message 5 of the result was not planned",
		]);
	});

	it("calls nothing, answers nothing and has no reasoning, unless a strategy of the user wrote it", () => {
		const [call, answer] = openaiMessages(toolTurn("z", "done")) as [object, object];
		const thinking = [
			{ type: "thinking", thinking: "Hm.", signature: "s" },
			{ type: "text", text: "So." },
		];
		for (const value of [call, answer]) {
			expect(found(messages, [insert(5, value)])).toContain("inserted_as_planned: message 5 of the result");
		}
		const said = writeMessages("anthropic-messages", [user("Go."), ...toolTurn("a", outputOf("a")), user("Well?")]);
		const thought = insert(4, { role: "assistant", content: thinking });
		expect(found(said, [thought])).toEqual(["inserted_as_planned: message 4 of the result"]);
		const shorter = [thought, replace([2, "content", 0, "content"])];
		expect(found(said, shorter, rewriting)).toEqual([]);
		const other = [remove(4, { reason: "summary" }), insert(5, { role: "critic", content: "x" })];
		expect(found(messages, other, rewriting)).toContain("inserted_as_planned: message 4 of the result");
	});

	it("may be a part of the user's last message", () => {
		const said = writeMessages("anthropic-messages", [user("Go."), ...toolTurn("a", outputOf("a")), user("Well?")]);
		const last = said.length - 1;
		const open = said.with(last, { role: "user", content: [{ type: "text", text: "Well?" }] });
		const part = { type: "text", text: "Hurry." };
		const added = insert(last, part, { path: [last, "content", 1], inserts: "part" });
		expect(found(open, [added])).toEqual([]);
	});

	it("is a message", () => {
		const session = [
			...[{ type: "user", uuid: "u", parentUuid: null, sessionId: "s", message: { role: "user", content: "Go." } }],
			{ type: "summary", summary: "x", leafUuid: "u" },
		];
		const record = { type: "summary", summary: "y", leafUuid: "u" };
		expect(found(session, [insert(1, record)])).toContain("inserted_as_planned: 1 new values are not messages");
		const replaced = replace([1], { reason: "summary", message: -1, replacement: record });
		expect(found(session, [replaced]).join()).not.toContain("no messages");
		expect(found(session, [replaced])).toContain("only_tool_results_edited: /1 is not a message");
		expect(found(session, [replaced], rewriting).join()).not.toContain("only_tool_results_edited");
	});
});

describe("an edit shrinks its place", () => {
	it.each<[string, Partial<ReplaceEdit>, boolean]>([
		["a mask with fewer tokens", { before: size(10), after: size(9, 99) }, true],
		["a mask with as many tokens", { before: size(10), after: size(10, 1) }, false],
		["a truncation with fewer characters", { reason: "truncate", before: size(10), after: size(10, 9) }, true],
		["a truncation with as many characters", { reason: "truncate", before: size(10), after: size(9, 10) }, false],
		["a truncation with more tokens", { reason: "truncate", before: size(10), after: size(11, 9) }, false],
		["an unsent copy with fewer characters", { unsent: true, before: size(10), after: size(10, 9) }, true],
		["an unsent copy with fewer tokens", { unsent: true, before: size(10), after: size(9, 10) }, true],
		["an unsent copy of the same size", { unsent: true, before: size(10), after: size(10) }, false],
	])("%s", (_, fields, isAccepted) => {
		const violations = found(messages, [replace([3, "content"], fields)]);
		expect(violations).toEqual(isAccepted ? [] : ["every_edit_shrinks: /3/content"]);
	});

	it("a removal leaves nothing", () => {
		expect(found(messages, [remove(4)])).toEqual([]);
		expect(found(messages, [remove(4, { after: size(1) })])).toEqual(["every_edit_shrinks: /4"]);
	});

	it("a summary is smaller than everything that it replaces, dropped messages included", () => {
		const value = { role: "user", content: "So far." };
		const summary = (after: number) => [
			...[2, 3].map((message) => remove(message, { reason: "summary", before: size(50) })),
			insert(4, value, { reason: "summary", after: size(after) }),
		];
		expect(found(messages, summary(99))).toEqual([]);
		expect(found(messages, summary(100))).toEqual(["every_edit_shrinks: the summary: 100 tokens, expected at most 99"]);
		expect(found(messages, [...summary(100), remove(1, { before: size(9) })])).toEqual([]);
		const twoTurns = [...messages, ...openaiMessages(toolTurn("b", outputOf("b")))];
		const masked = replace([6, "content"]);
		expect(found(twoTurns, [...summary(100), masked])).toHaveLength(1);
		expect(found(messages, [remove(1, { before: size(0) })])).toEqual([]);
	});

	it("a rewrite is at most as large as all was before", () => {
		const total = (after: unknown, plan: Plan) => found(messages, plan, { ...rewriting, after });
		const same = replace([4], { reason: "summary", replacement: { role: "user", content: "Tell" } });
		expect(total(undefined, [same])).toEqual([]);
		const larger = replace([4], { reason: "summary", replacement: { role: "user", content: "Tell me more." } });
		expect(total(undefined, [larger])).toEqual([
			expect.stringMatching(/^every_edit_shrinks: the whole conversation: \d+ tokens, expected at most \d+$/),
		]);
	});
});

describe("a rewrite of a strategy", () => {
	const said = openaiMessages(user("One."), assistant("Two."), user("Three."), toolTurn("a", outputOf("a")));

	it("does not move a value that occurs once", () => {
		const moved = [remove(0, { reason: "summary" }), insert(5, said[0], { reason: "summary" })];
		expect(found(said, moved, rewriting)).toContain("order_kept: /5");
		const twice = [said[0], ...said] as unknown[];
		const back = [remove(0, { reason: "summary" }), insert(6, said[0], { reason: "summary" })];
		expect(found(twice, back, rewriting).join()).not.toContain("order_kept: /6");
		const shorter = replace([4, "content"], { replacement: "short" });
		expect(found(said, [insert(5, said[0], { reason: "summary" }), shorter], rewriting)).toEqual([]);
	});

	it("puts nothing between a call and its results", () => {
		const between = { role: "user", content: "Hm." };
		const cut = replace([4, "content"], { replacement: "short" });
		const at = (place: number) => found(said, [insert(place, between, { reason: "summary" }), cut], rewriting);
		expect(at(4)).toEqual(["pairing_kept: message 4 of the result comes between a call and its results"]);
		expect(at(3)).toEqual([]);
		expect(at(5)).toEqual([]);
		const apart = [...said.slice(0, 4), between, ...said.slice(4)];
		expect(found(apart, [replace([5, "content"], { replacement: "short" })], rewriting)).toEqual([]);
	});

	it("leaves a message, and the user's first where that is needed", () => {
		const all = said.map((_, index) => remove(index, { reason: "summary" }));
		expect(found(said, all, rewriting)).toEqual(["start_kept: no message is left"]);
		const spoken = (entries: Entry[], opensWithUser: boolean) => {
			const document = openaiMessages(entries);
			const plan = [remove(0, { reason: "summary" })];
			const [before, after] = [document, applyPlan(document, plan)].map((one) => ({
				document: one,
				transcript: { ...transcriptFrom(one), opensWithUser } as Transcript,
			}));
			if (!before || !after) throw new Error("Expected two conversations.");
			const violations = verify(before, after, { plan, base: [], countTokens: roughCount, ...rewriting });
			return violations.map(({ detail }) => detail);
		};
		const twoFirst = [user("One."), assistant("Two."), user("Three.")];
		expect(spoken(twoFirst, true)).toEqual(["the first message is not the user's"]);
		expect(spoken(twoFirst, false)).toEqual([]);
		expect(spoken(twoFirst.slice(1), true)).toEqual([]);
		expect(spoken([assistant("One."), assistant("Two.")], true)).toEqual([]);
		expect(spoken([user("One."), user("Two."), assistant("Three.")], true)).toEqual([]);
		const opening = (was: Message[], is: Message[]) => {
			const [before, after] = [was, is].map((list) => ({
				document: [],
				transcript: { ...transcriptOf(...list), opensWithUser: true },
			}));
			if (!before || !after) throw new Error("Expected two conversations.");
			const violations = verify(before, after, { plan: [], base: [], countTokens: roughCount, ...rewriting });
			return violations.filter(({ promise }) => promise === "start_kept").length;
		};
		const [theirs, ours] = [messageOf({ role: "user" }), messageOf()];
		const compacted: Message = { ...ours, sent: false };
		expect(opening([compacted, theirs, ours], [compacted, theirs, ours])).toBe(0);
		expect(opening([compacted, theirs, ours], [compacted, ours])).toBe(1);
		expect(opening([messageOf({ role: "system" })], [ours])).toBe(0);
	});
});

describe("links, system messages and pairs", () => {
	const isLink = (path: Path) => path.at(-1) === "name";
	const relink = replace([1, "name"], { reason: "relink", replacement: "new" });
	const named = messages.with(1, { ...messages[1], name: "old" });

	it("a link may change only where it is one, and something is removed", () => {
		expect(found(named, [relink, remove(4)], { isLink })).toEqual([]);
		const wrong = ["only_tool_results_edited: /1/name links to no removed record"];
		expect(found(named, [relink], { isLink })).toEqual(wrong);
		expect(found(named, [relink, remove(4)])).toEqual(wrong);
	});

	it("system messages stay in their places, unchanged", () => {
		const two = [...openaiMessages(system("S")), ...messages];
		expect(found(two, [remove(0)])).toEqual(["system_messages_kept: 1 of them where 2 should stay unchanged"]);
		expect(found(two, [remove(5)])).toEqual([]);
	});

	it("a result has its call, and a call has its results", () => {
		expect(found(messages, [remove(2)])).toEqual([
			"pairing_kept: result in message 2 of the result has no call before it",
		]);
		expect(found(messages, [remove(3)])).toEqual(["pairing_kept: call in message 2 of the result"]);
		const orphan = [...messages, ...openaiMessages(results({ id: "lost", content: outputOf("lost") }))];
		expect(found(orphan, [replace([5, "content"])])).toEqual([]);
		expect(found(orphan, [remove(5)])).toEqual([]);
		const renamed = (message: Message) => ({
			...message,
			results: message.results.map((result) => ({ ...result, callId: "z" })),
		});
		const before = read(messages);
		const after = {
			...before,
			transcript: { ...before.transcript, messages: before.transcript.messages.map(renamed) },
		};
		const violations = verify(before, after, { plan: [], base: [], countTokens: roughCount });
		expect(violations.map(({ promise, detail }) => `${promise}: ${detail}`)).toEqual([
			"pairing_kept: call in message 2 of the result",
			"ids_kept: result in message 3 of the result",
			"pairing_kept: result in message 3 of the result has no call before it",
		]);
	});

	it("calls keep their order, their ids and their names", () => {
		const turns = openaiMessages(user("Go."), toolTurn("a", "1", "ls"), toolTurn("b", "2", "cat"));
		const before = read(turns);
		const callsAs = (change: (calls: Message["calls"][]) => Message["calls"][]) => {
			const callers = before.transcript.messages.map(({ calls }) => calls);
			const changed = change(callers);
			const list = before.transcript.messages.map((message, index) => ({ ...message, calls: changed[index] ?? [] }));
			const after = { ...before, transcript: { ...before.transcript, messages: list } };
			const violations = verify(before, after, { plan: [], base: [], countTokens: roughCount });
			return violations.map(({ promise }) => promise);
		};
		expect(callsAs((calls) => calls)).toEqual([]);
		expect(callsAs(([a, b, c, d]) => [a, d, c, b] as never)).toContain("order_kept");
		expect(callsAs((calls) => calls.with(1, [{ id: "a", name: "rm" }]))).toContain("ids_kept");
		expect(callsAs((calls) => calls.with(1, [{ id: "c", name: "ls" }]))).toContain("ids_kept");
		expect(callsAs((calls) => calls.with(1, []))).toContain("pairing_kept");
	});

	it("calls without ids keep their order among calls of the same name", () => {
		const calling = (name: string) => messageOf({ calls: [{ id: undefined, name }] });
		const broken = (after: string[]) => foundIn(["ls", "cat", "ls"].map(calling), after.map(calling));
		expect(broken(["ls", "cat", "ls"])).toEqual([]);
		expect(broken(["cat", "ls", "ls"])).toEqual(["order_kept: call in message 2 of the result"]);
	});

	it("a result without an id belongs to the last call before it, if there is one", () => {
		const [call, answer] = [messageOf({ calls: [{ id: undefined, name: "ls" }] }), messageOf({ role: "tool" })];
		const answered = { ...answer, results: [resultOf(undefined)] };
		expect(foundIn([answered, call, answered], [answered, call, answered])).toEqual([]);
		const changed = "pairing_kept: call in message 0 of the result";
		expect(foundIn([call, answered], [call, answer])).toEqual([changed]);
		expect(foundIn([call, answer], [call, answered])).toContain(changed);
	});

	it("a result keeps its caller, also where others have its id", () => {
		const one = (id: string) => messageOf({ calls: [{ id, name: "ls" }] });
		const answer = (id: string) => messageOf({ role: "tool", results: [resultOf(id, "output ".repeat(50))] });
		const cut = (before: Message[], ...gone: number[]) => {
			const document = before.map((_, index) => [index]);
			const plan = gone.map((index) => remove(index, { reason: "summary" }));
			const left = before.filter((_, index) => !gone.includes(index));
			const [was, is] = [
				{ document, transcript: transcriptOf(...before) },
				{ document: applyPlan(document, plan), transcript: transcriptOf(...left) },
			];
			const violations = verify(was, is, { plan, base: [], countTokens: roughCount, ...rewriting });
			return violations.map(({ promise, detail }) => `${promise}: ${detail}`);
		};
		expect(cut([one("a"), answer("a"), one("a"), answer("a")], 1, 2)).toEqual([
			"pairing_kept: result in message 1 of the result has another call",
		]);
		expect(cut([answer("a"), one("a"), answer("a")], 0, 1)).toContain(
			"pairing_kept: result in message 0 of the result has another call",
		);
	});
});

describe("where a message of the result comes from", () => {
	it("is known by any of its values", () => {
		const items = [
			{ role: "user", content: "The task." },
			{ type: "function_call", call_id: "a", name: "ls", arguments: "{}" },
			{ type: "function_call_output", call_id: "a", output: outputOf("a") },
		];
		const words = { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] };
		expect(found(items, [insert(1, words)])).toEqual([]);
	});

	it("is not its number, where as many messages are put in as are taken out", () => {
		const critic = insert(5, { role: "critic", content: "x" });
		const expected = ["inserted_as_planned: message 4 of the result"];
		expect(found(messages, [remove(4), critic])).toEqual(expected);
		expect(found(messages, [replace([3, "content"]), remove(4), critic])).toEqual(expected);
	});

	it("is never the same message twice, nor in another order", () => {
		const before = read(messages);
		const as = (change: (list: readonly Message[]) => readonly Message[]) => {
			const after = { ...before, transcript: { ...before.transcript, messages: change(before.transcript.messages) } };
			const violations = verify(before, after, { plan: [], base: [], countTokens: roughCount });
			return violations.map(({ promise, detail }) => `${promise}: ${detail}`);
		};
		expect(as((list) => list)).toEqual([]);
		expect(as((list) => [...list, ...list.slice(4)])).toEqual(["order_kept: message 4"]);
		expect(as((list) => [...list.slice(0, 1), ...list.slice(4), ...list.slice(1, 4)])).toContain(
			"order_kept: message 1",
		);
		expect(as((list) => list.slice(0, 4))).toEqual(["order_kept: message 4 is no longer recognised"]);
	});

	it("is nowhere for a record that is not a message", () => {
		const body = { meta: { name: "old" }, messages };
		const plan: Plan = [
			replace(["meta", "name"], { reason: "relink", message: -1, replacement: "new" }),
			remove(4, { path: ["messages", 4] }),
			insert(5, { role: "user", content: "More." }, { path: ["messages", 5] }),
		];
		expect(found(body, plan, { base: ["messages"], isLink: (path) => path[1] === "name" })).toEqual([]);
	});
});

it("words that have to stay are named by number and size", () => {
	const pinned = ["The task.", "Well?"];
	expect(found(messages, [], { pinned })).toEqual([]);
	expect(found(messages, [remove(4)], { pinned })).toEqual(["users_words_kept: text 1 of 2, with 5 characters"]);
});

it("a plan of edits that name no message of the document is refused by their places", () => {
	const stray: Edit = { ...replace([1, "content"]), message: 40 };
	expect(found(messages, [stray])).toEqual(["only_tool_results_edited: /1/content is not a tool result"]);
});
