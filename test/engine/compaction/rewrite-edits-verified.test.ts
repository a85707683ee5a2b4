import { describe, expect, it } from "vitest";
import { assistant, calls, openaiMessages, results, system, user, writeMessages } from "../../support/script.ts";
import { rewrite } from "./rewriting.ts";

const long = "word ".repeat(200);

const conversation = openaiMessages(
	system("Be careful."),
	user("Read it all."),
	calls({ id: "a", name: "read_file" }, { id: "b", name: "ls" }),
	results({ id: "a", content: long }),
	results({ id: "b", content: long }),
	assistant(`Half of it is read. ${long}`),
	calls({ id: "c", name: "read_file" }),
	results({ id: "c", content: long }),
	user("And now?"),
	assistant("Done."),
);

const text = { role: "user", content: "what came before" };

/** What the verifier says of a conversation whose messages are those at the indexes, and new ones. */
const promises = (...after: readonly (number | object)[]) =>
	rewrite(conversation, (history) => after.map((one) => (typeof one === "number" ? history[one] : one))).promises;

const changed = (index: number, fields: object) => ({ ...conversation[index], ...fields });

const toolCall = (id: string, name: string) => ({ id, type: "function", function: { name, arguments: "{}" } });

describe("verifyRewrite accepts", () => {
	it.each([
		["a group left out", [0, 1, 5, 6, 7, 8, 9]],
		["groups replaced by a text", [0, 1, text, 8, 9]],
		["all but the system message replaced", [0, text]],
		["results hidden", [0, 1, 2, changed(3, { content: "hidden" }), changed(4, { content: "" }), 5, 6, 7, 8, 9]],
		[
			"one call of two left out, with its result",
			[0, 1, changed(2, { tool_calls: [toolCall("b", "ls")] }), 4, 5, 6, 7, 8, 9],
		],
		[
			"two messages with calls made one",
			[0, 1, changed(2, { tool_calls: [toolCall("b", "ls"), toolCall("c", "read_file")] }), 4, 7, 8],
		],
		[
			"a message with a call that loses its text",
			[0, 1, 5, changed(6, { content: null, tool_calls: [toolCall("c", "read_file")] }), 7],
		],
		["a shortened text", [0, 1, 2, 3, 4, changed(5, { content: "Half." }), 6, 7, 8, 9]],
	])("%s", (_, after) => {
		expect(promises(...after)).toEqual([]);
	});
});

describe("verifyRewrite refuses", () => {
	it.each([
		["a missing result", [0, 1, 2, 4, 5, 6, 7, 8, 9], "pairing_kept"],
		["a missing call", [0, 1, 2, 3, 4, 5, 7, 8, 9], "pairing_kept"],
		["a call before its result", [0, 1, 5, 7, 6, 8, 9], "pairing_kept"],
		["a duplicate result", [0, 1, 6, 7, 7, 8], "pairing_kept"],
		["a duplicate call", [0, 1, 6, 6, 7, 8], "pairing_kept"],
		["a duplicate group", [0, 1, 6, 7, 6, 7, 8], "order_kept"],
		["groups in another order", [0, 1, 6, 7, 2, 3, 4, 8, 9], "order_kept"],
		["messages in another order", [0, 8, 1, 9], "order_kept"],
		["a call with another id", [0, 1, changed(6, { tool_calls: [toolCall("d", "read_file")] }), 7, 8], "ids_kept"],
		["a call with another name", [0, 1, changed(6, { tool_calls: [toolCall("c", "rm")] }), 7, 8], "ids_kept"],
		["a new call", [0, 1, { role: "assistant", content: null, tool_calls: [toolCall("x", "rm")] }, 8], "ids_kept"],
		["a result that answers another call", [0, 1, 6, changed(7, { tool_call_id: "a" }), 8], "pairing_kept"],
		["a result without a call", [0, 1, 8, { role: "tool", tool_call_id: "x", content: "ok" }], "pairing_kept"],
		["a text between call and result", [0, 1, 6, text, 7, 8], "pairing_kept"],
		["a text between results", [0, 1, 2, 3, text, 4, 8], "pairing_kept"],
		["the system message left out", [1, 5, 8, 9], "system_messages_kept"],
		["the system message changed", [changed(0, { content: "Be quick." }), 1, 8, 9], "system_messages_kept"],
		["another system message", [0, 1, { role: "system", content: "Obey." }, 8, 9], "system_messages_kept"],
		["a message of an unknown role", [0, 1, { role: "checkpoint", content: "x" }, 8], "inserted_as_planned"],
		["only the system message", [0], "start_kept"],
		["extra messages", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, text], "every_edit_shrinks"],
	])("%s", (_, after, promise) => {
		expect(promises(...after)).toContain(promise);
	});

	it("an answer to a call that had none", () => {
		const open = conversation.slice(0, 7);
		const answered = (history: readonly unknown[]) => [
			...history.slice(0, 2),
			history[6],
			{ role: "tool", tool_call_id: "c", content: "ok" },
		];
		expect(rewrite(open, answered).promises).toEqual(["pairing_kept"]);
		expect(rewrite(open, (history) => [...history.slice(0, 2), history[6]]).promises).toEqual([]);
	});

	it("a result that moves to a call with the same id", () => {
		const again = openaiMessages(calls({ id: "a", name: "ls" }), results({ id: "a", content: "other" }));
		const reused = [
			...openaiMessages(user("go"), calls({ id: "a", name: "ls" }), results({ id: "a", content: long }), user("on")),
			{ ...again[0], content: "Once more." },
			again[1],
		];
		expect(rewrite(reused, (history) => [history[0], history[1], history[5]]).promises).toEqual(["pairing_kept"]);
		expect(rewrite(reused, (history) => [history[0], history[4], history[2]]).promises).toEqual(["order_kept"]);
		expect(rewrite(reused, (history) => [history[0], history[4], history[5]]).promises).toEqual([]);
	});

	it("results without an id that change their call", () => {
		const unnamed = openaiMessages(
			user("go"),
			calls({ name: "ls" }),
			results({ content: long }),
			user("again"),
			calls({ name: "cat" }),
			results({ content: "other" }),
			assistant("so"),
		);
		const left = (...indexes: number[]) =>
			rewrite(unnamed, (history) => indexes.map((index) => history[index])).promises;
		expect(left(0, 3, 4, 5, 6)).toEqual([]);
		expect(left(0, 1, 2, 4, 6)).toEqual(["pairing_kept"]);
		expect(left(0, 1, 2, 5, 6)).toEqual(["pairing_kept"]);
		expect(left(0, 2, 6)).toEqual(["pairing_kept"]);
	});

	it("a second orphan, but not removal of one", () => {
		const orphaned = [
			...conversation.slice(0, 2),
			{ role: "tool", tool_call_id: "gone", content: long },
			conversation[9],
		];
		const left = (...indexes: number[]) =>
			rewrite(orphaned, (history) => indexes.map((index) => history[index])).promises;
		expect(left(0, 2, 3)).toEqual([]);
		expect(left(0, 1, 3)).toEqual([]);
		expect(left(0, 2, 2)).toContain("pairing_kept");
	});

	it("a start without a user message when the API requires one", () => {
		const messages = writeMessages("anthropic-messages", [
			user("go and tell what came before"),
			calls({ id: "toolu_1", name: "ls" }),
			results({ id: "toolu_1", content: long }),
			assistant("so"),
		]);
		expect(rewrite(messages, (history) => history.slice(1)).promises).toEqual(["start_kept"]);
		expect(rewrite(messages, (history) => [text, ...history.slice(1)]).promises).toEqual([]);
	});

	it("a document that differs from the plan", () => {
		const strategy = (history: readonly unknown[]) => [...history.slice(0, 2), text, history[9]];
		const tampered = (tamper: (list: readonly object[]) => unknown) =>
			rewrite(conversation, strategy, (edited) => tamper(edited as object[])).promises;
		expect(tampered((list) => list)).toEqual([]);
		expect(tampered((list) => list.map((one) => ({ ...one })))).toEqual(["untouched_parts_identical"]);
		expect(tampered(([first, second, , last]) => [first, second, assistant, last])).toContain(
			"untouched_parts_identical",
		);
		expect(tampered((list) => list.slice(0, 3))).toContain("untouched_parts_identical");
	});

	it("never reveals the conversation", () => {
		const { violations } = rewrite(conversation, (history) => [history[7], history[3], { role: "secret-role" }]);
		expect(violations.length).toBeGreaterThan(3);
		expect(JSON.stringify(violations)).not.toMatch(/word|Read it|secret/);
	});
});

describe("session records that are not messages", () => {
	const record = (type: string, uuid: string, fields: object) => ({ type, uuid, sessionId: "s", ...fields });
	const session = [
		{ type: "file-history-snapshot", messageId: "m", snapshot: { files: long } },
		record("user", "1", { parentUuid: null, message: { role: "user", content: "go" } }),
		record("assistant", "2", {
			parentUuid: "1",
			message: { id: "x", role: "assistant", content: [{ type: "text", text: long }] },
		}),
		record("user", "3", { parentUuid: "2", message: { role: "user", content: "on" } }),
	];

	it("may be changed, but not inserted", () => {
		const [snapshot, ...others] = session;
		const less = { ...snapshot, snapshot: {} };
		const made = rewrite(session, () => [less, ...others]);
		expect(made.source.format.name).toBe("claude-code");
		expect(made.promises).toEqual([]);
		expect(rewrite(session, () => [snapshot, less, others[0], others[2]]).promises).toEqual(["inserted_as_planned"]);
	});
});
