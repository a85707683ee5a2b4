import { describe, expect, it } from "vitest";
import { jsonPointer } from "../../../src/engine/path.ts";
import { agentConversation } from "../../support/agent-conversation.ts";
import { deepFreeze } from "../../support/deep-freeze.ts";
import { planOf, rewrite } from "./rewriting.ts";

const conversation = deepFreeze(agentConversation(4));
const summary = { role: "user", content: "a summary" };

/** Kind, place and message of each edit. */
const shape = (made: ReturnType<typeof rewrite>) =>
	planOf(made).plan.map((edit) => `${edit.kind} ${jsonPointer(edit.path)} (${edit.message})`);

describe("planRewrite", () => {
	it("takes out what is gone and puts in what is new; all else is the very same", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), summary, ...history.slice(6)]);
		expect(shape(made)).toEqual(["insert /2 (2)", "remove /2 (2)", "remove /3 (3)", "remove /4 (4)", "remove /5 (5)"]);
		expect(planOf(made)).toMatchObject({ removed: [2, 3, 4, 5], kept: 6 });
		expect(made.document).toEqual([...conversation.slice(0, 2), summary, ...conversation.slice(6)]);
		(made.document as unknown[]).slice(3).forEach((value, index) => {
			expect(value).toBe(conversation[index + 6]);
		});
		expect(made.violations).toEqual([]);
	});

	it("puts what replaces values one for one in their places", () => {
		const made = rewrite(conversation, (history) =>
			history.map((value, index) => (index === 3 || index === 5 ? { ...(value as object), content: "hidden" } : value)),
		);
		expect(shape(made)).toEqual(["insert /3 (3)", "remove /3 (3)", "insert /5 (5)", "remove /5 (5)"]);
		expect(made.violations).toEqual([]);
	});

	it("puts a message behind the last", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), ...history.slice(4), summary]);
		expect(shape(made)).toEqual(["remove /2 (2)", "remove /3 (3)", "insert /10 (10)"]);
		expect(made.violations).toEqual([]);
	});

	it("names places in the document, not in the list", () => {
		const made = rewrite({ model: "m", messages: conversation }, (history) => [...history.slice(0, 2), summary]);
		expect(shape(made)[0]).toBe("insert /messages/2 (2)");
		expect(made.document).toEqual({ model: "m", messages: [...conversation.slice(0, 2), summary] });
	});

	it("tells sizes: a message once, what is new as the format reads it", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), summary, ...history.slice(4)]);
		const [inserted, call, result] = planOf(made).plan;
		expect(inserted).toMatchObject({ before: { tokens: 0 }, after: { chars: 9, tokens: 3 + 3 }, reason: "summary" });
		expect(call?.after).toEqual({ chars: 0, tokens: 0 });
		expect(result?.before.chars).toBeGreaterThan(1_000);
	});

	it("a message of several values goes value by value, and is counted once", () => {
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

	it("changes nothing for null and for what is equal", () => {
		for (const strategy of [() => null, (history: readonly unknown[]) => history]) {
			expect(rewrite(conversation, strategy).rewrite).toEqual({ kind: "unchanged" });
		}
		const withUndefined = (history: readonly unknown[]) => history.map((one) => ({ ...(one as object), x: undefined }));
		expect(rewrite(conversation, withUndefined).rewrite).toEqual({ kind: "unchanged" });
	});

	it("keeps values of its own: changing the outcome later changes nothing", () => {
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
		["texts", ["summary"], "message 0 is none"],
		["lists", [[summary]], "message 0 is none"],
		["null in it", [summary, null], "message 1 is none"],
		["a hole", Object.assign(new Array(2), { 1: summary }), "undefined in message 0"],
		["an instance of a class", [new Message()], "an instance of a class in message 0"],
		["a date", [{ ...summary, at: new Date(0) }], "an instance of a class"],
		["a function", [{ ...summary, run: () => 1 }], "a function"],
		["a bigint", [{ ...summary, size: 1n }], "a bigint"],
		["NaN", [{ ...summary, size: Number.NaN }], "not finite"],
		["undefined in a list", [{ ...summary, list: [undefined] }], "undefined"],
		["what holds itself", [endless], "nested deeper"],
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

	it("takes objects without a prototype", () => {
		const made = rewrite(conversation, (history) => [...history.slice(0, 2), withoutPrototype]);
		expect(made.violations).toEqual([]);
		expect(made.document).toEqual([...conversation.slice(0, 2), summary]);
	});
});
