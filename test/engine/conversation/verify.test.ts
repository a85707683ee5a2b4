import { describe, expect, it } from "vitest";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import type { Path } from "../../../src/engine/conversation/paths.ts";
import type { Edit, Plan, RemoveEdit, ReplaceEdit } from "../../../src/engine/conversation/plan.ts";
import type { Message, ToolResult, Transcript } from "../../../src/engine/conversation/transcript.ts";
import { type Violation, verify } from "../../../src/engine/conversation/verify.ts";
import { roughCount } from "../../support/rough-count.ts";
import { outputOf } from "../../support/sample-text.ts";
import { calls, type JsonMessage, openaiMessages, results, system, toolTurn, user } from "../../support/script.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const messages = openaiMessages(
	system("You are an agent."),
	user("The task."),
	calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
	results({ id: "a", content: outputOf("a") }, { id: "b", content: outputOf("b") }),
	toolTurn("c", outputOf("c")),
	user("Well?"),
);

const replace = (path: Path, fields: Partial<ReplaceEdit> = {}): ReplaceEdit => ({
	kind: "replace",
	reason: "mask",
	path,
	message: Number(path[0]),
	before: { chars: 1_000, tokens: 300 },
	after: { chars: 3, tokens: 1 },
	replacement: "[x]",
	...fields,
});

const remove = (message: number): RemoveEdit => ({
	kind: "remove",
	reason: "drop",
	path: [message],
	message,
	before: { chars: 1_000, tokens: 300 },
	after: { chars: 0, tokens: 0 },
});

const aCall = { id: "z", type: "function", function: { name: "ls", arguments: "{}" } };

const checks = (plan: Plan, base: Path = []) => ({ plan, base, countTokens: roughCount });

function broken(plan: Plan, after: unknown = applyPlan(messages, plan)): Violation["promise"][] {
	const before = { document: messages, transcript: transcriptFrom(messages) };
	const violations = verify(before, { document: after, transcript: transcriptFrom(after) }, checks(plan));
	return [...new Set(violations.map(({ promise }) => promise))];
}

describe("verify accepts", () => {
	it.each<[string, Plan]>([
		["an empty plan", []],
		["a masked result", [replace([3, "content"])]],
		["several masked results", [replace([3, "content"]), replace([4, "content"]), replace([6, "content"])]],
		[
			"a truncation that is shorter and has as many tokens",
			[replace([3, "content"], { reason: "truncate", after: { chars: 999, tokens: 300 } })],
		],
		["a dropped user message", [remove(1)]],
		["a dropped complete group", [remove(2), remove(3), remove(4)]],
		["dropping all but the system message", [1, 2, 3, 4, 5, 6, 7].map(remove)],
		[
			"a message that is put in",
			[
				{
					...remove(7),
					kind: "insert",
					reason: "append",
					inserts: "message",
					value: { role: "user", content: "More." },
				},
			],
		],
		["dropping and masking together", [remove(2), remove(3), remove(4), replace([6, "content"])]],
	])("%s", (_, plan) => {
		expect(broken(plan)).toEqual([]);
	});
});

describe("verify accepts of a reasoning block", () => {
	const thinking = { type: "thinking", thinking: "Hm.", signature: "s" };
	const said = [
		{ role: "user", content: "Go." },
		{ role: "assistant", content: [thinking, { type: "text", text: "Done." }] },
	];
	const check = (path: Path) => {
		const plan: Plan = [{ ...remove(1), reason: "thinking", path }];
		const [before, after] = [said, applyPlan(said, plan)].map((document) => ({
			document,
			transcript: transcriptFrom(document),
		}));
		return before && after && verify(before, after, checks(plan)).map(({ promise }) => promise);
	};

	it("that it is removed, and of no other part", () => {
		expect(check([1, "content", 0])).toEqual([]);
		expect(check([1, "content", 1])).toContain("only_tool_results_edited");
	});
});

describe("verify rejects a bad plan:", () => {
	it.each<[string, Plan, Violation["promise"]]>([
		["editing a user message", [replace([1, "content"])], "only_tool_results_edited"],
		["editing a system message", [replace([0, "content"])], "only_tool_results_edited"],
		[
			"editing content beside a result's text",
			[replace([3, "role"], { replacement: "tool" })],
			"only_tool_results_edited",
		],
		["replacing a complete message", [replace([3], { replacement: messages[3] })], "only_tool_results_edited"],
		["removing only the content of a message", [{ ...remove(3), path: [3, "content"] }], "only_tool_results_edited"],
		["a message number that is not the path's", [replace([3, "content"], { message: 4 })], "only_tool_results_edited"],
		["removing a system message", [remove(0)], "system_messages_kept"],
		["masking that grows", [replace([3, "content"], { after: { chars: 1, tokens: 301 } })], "every_edit_shrinks"],
		[
			"masking that stays as large",
			[replace([3, "content"], { after: { chars: 1, tokens: 300 } })],
			"every_edit_shrinks",
		],
		[
			"truncation that grows in characters",
			[replace([3, "content"], { reason: "truncate", after: { chars: 1_000, tokens: 1 } })],
			"every_edit_shrinks",
		],
		[
			"truncation that grows in tokens",
			[replace([3, "content"], { reason: "truncate", after: { chars: 1, tokens: 301 } })],
			"every_edit_shrinks",
		],
		[
			"an edit of what is not sent that grows",
			[replace([3, "content"], { unsent: true, after: { chars: 1_000, tokens: 300 } })],
			"every_edit_shrinks",
		],
		["dropping that leaves something", [{ ...remove(1), after: { chars: 1, tokens: 1 } }], "every_edit_shrinks"],
		["removing only a result", [remove(3)], "pairing_kept"],
		["removing all results of a call", [remove(3), remove(4)], "pairing_kept"],
		["removing only a call", [remove(2)], "pairing_kept"],
		["removing a call and one of its results", [remove(2), remove(3)], "pairing_kept"],
		["changing an id", [replace([3, "tool_call_id"], { replacement: "z" })], "ids_kept"],
		[
			"a result that answers the other call of its message",
			[replace([3, "tool_call_id"], { replacement: "b" })],
			"pairing_kept",
		],
		["changing a call", [replace([2, "tool_calls", 0, "id"], { replacement: "z" })], "ids_kept"],
		["changing a call's name", [replace([2, "tool_calls", 0, "function", "name"], { replacement: "rm" })], "ids_kept"],
		["changing a role", [replace([1, "role"], { replacement: "assistant" })], "order_kept"],
		[
			"putting a message into another one",
			[
				{
					...remove(2),
					kind: "insert",
					reason: "append",
					inserts: "message",
					path: [2, "tool_calls", 0],
					value: aCall,
				},
			],
			"inserted_as_planned",
		],
		[
			"putting in a message with a call",
			[{ ...remove(7), kind: "insert", reason: "append", inserts: "message", value: messages[2] }],
			"inserted_as_planned",
		],
	])("%s", (_, plan, promise) => {
		expect(broken(plan)).toContain(promise);
	});
});

describe("verify rejects a bad document:", () => {
	const plan: readonly Edit[] = [replace([3, "content"])];
	const good = applyPlan(messages, plan) as JsonMessage[];

	it.each<[string, unknown, Violation["promise"]]>([
		["an edit that was not made", messages, "untouched_parts_identical"],
		["an edit made at another place", applyPlan(messages, [replace([4, "content"])]), "untouched_parts_identical"],
		["another text than planned", good.with(3, { ...good[3], content: "[y]" }), "untouched_parts_identical"],
		["an untouched message as an equal copy", good.with(1, { ...good[1] }), "untouched_parts_identical"],
		[
			"an untouched value within an edited message changed",
			good.with(3, { ...good[3], role: "tool", tool_call_id: "z" }),
			"ids_kept",
		],
		["a key added to an edited message", good.with(3, { ...good[3], extra: 1 }), "untouched_parts_identical"],
		["a key of an edited message lost", good.with(3, { role: "tool", content: "[x]" }), "untouched_parts_identical"],
		[
			"the keys of an edited message in another order",
			good.with(3, Object.fromEntries(Object.entries(good[3] ?? {}).reverse())),
			"untouched_parts_identical",
		],
		[
			"reordered messages",
			good.with(5, good[6] as JsonMessage).with(6, good[5] as JsonMessage),
			"untouched_parts_identical",
		],
		["an extra message", [...good, { role: "user", content: "One more." }], "order_kept"],
		["a missing message", good.slice(0, -1), "order_kept"],
	])("%s", (_, after, promise) => {
		expect(broken(plan, after)).toContain(promise);
	});

	it("another shape of the wrapper", () => {
		const before = { document: messages, transcript: transcriptFrom(messages) };
		const after = { document: { messages: good }, transcript: transcriptFrom({ messages: good }) };
		expect(verify(before, after, checks(plan)).map(({ promise }) => promise)).toContain("untouched_parts_identical");
	});

	it("another field of the request body changed", () => {
		const body = { model: "m", messages, tools: [1] };
		const inBody = [replace(["messages", 3, "content"], { message: 3 })];
		const edited = applyPlan(body, inBody) as typeof body;
		const check = (document: unknown) =>
			verify(
				{ document: body, transcript: transcriptFrom(body) },
				{ document, transcript: transcriptFrom(document) },
				checks(inBody, ["messages"]),
			);
		expect(check(edited)).toEqual([]);
		expect(check({ ...edited, tools: [1] })).toEqual([{ promise: "untouched_parts_identical", detail: "/tools" }]);
	});

	it("a message of several values that is only partly dropped", () => {
		const items = [
			{ role: "user", content: "The task." },
			{ type: "reasoning", id: "r", summary: [] },
			{ type: "function_call", call_id: "a", name: "ls", arguments: "{}" },
			{ type: "function_call_output", call_id: "a", output: outputOf("a") },
		];
		const inPart: Plan = [{ ...remove(1), path: [1] }];
		const document = applyPlan(items, inPart);
		const [before, after] = [items, document].map((one) => ({ document: one, transcript: transcriptFrom(one) }));
		if (!before || !after) throw new Error("Expected two conversations.");
		const violation = { promise: "order_kept", detail: "a part of message 1 is left" };
		expect(verify(before, after, checks(inPart))).toEqual([violation]);
	});

	it("a call with a result that is in the list but was not read", () => {
		const read = { document: messages, transcript: transcriptFrom(messages) };
		const answered = (...answeredCalls: string[]) => verify(read, read, { ...checks([]), answeredCalls });
		expect(answered("a", "b", "c")).toEqual([]);
		const unread = { ...read, transcript: { ...read.transcript, messages: read.transcript.messages.toSpliced(3, 1) } };
		const violations = verify(unread, unread, { ...checks([]), answeredCalls: ["a", "b", "c"] });
		expect(violations.map(({ promise }) => promise)).toContain("pairing_kept");
	});

	it("a message with another role, by its number", () => {
		const plan = [replace([1, "role"], { replacement: "assistant" })];
		const [before, after] = [messages, applyPlan(messages, plan)].map((document) => ({
			document,
			transcript: transcriptFrom(document),
		}));
		const violations = before && after && verify(before, after, checks(plan));
		expect(violations).toContainEqual({ promise: "order_kept", detail: "message 1" });
	});

	it("an edit with false savings", () => {
		const longer = `${outputOf("c")}${outputOf("more")}`;
		const lie = [replace([6, "content"], { message: 6, replacement: longer })];
		expect(broken(lie)).toEqual(["every_edit_shrinks"]);
		const before = { document: messages, transcript: transcriptFrom(messages) };
		const document = applyPlan(messages, lie);
		const [violation] = verify(before, { document, transcript: transcriptFrom(document) }, checks(lie));
		expect(violation?.detail).toMatch(/^message 6: \d+ tokens, expected at most \d+$/);
	});

	it("violations name places, never conversation text", () => {
		const plans = [[remove(3)], [replace([1, "content"])], [remove(0)]];
		for (const bad of plans) {
			const before = { document: messages, transcript: transcriptFrom(messages) };
			const document = applyPlan(messages, bad);
			const text = JSON.stringify(verify(before, { document, transcript: transcriptFrom(document) }, checks(bad)));
			expect(text).not.toMatch(/fox|task|agent/);
		}
	});
});

const write = (text: string) => text;

function resultAt(path: Path, texts: number): ToolResult {
	return {
		callId: "a",
		texts: Array.from({ length: texts }, (_, index) => ({ path: [...path, index, "text"], text: "x" })),
		whole: { path, write },
		copies: [{ path: [...path, "copy"], text: "x" }],
		media: [],
		isError: undefined,
	};
}

function transcriptOf(results: number, texts: number): Transcript {
	const message: Message = {
		role: "user",
		paths: [[0]],
		counted: [],
		mediaTokens: 0,
		calls: [],
		results: Array.from({ length: results }, (_, index) => resultAt([0, "content", index], texts)),
		thinking: [],
	};
	return { format: "test", messages: [message], surroundings: [], opensWithUser: false };
}

const size = { chars: 1, tokens: 1 };

const replacing = (...paths: Path[]): Plan =>
	paths.map((path) => ({
		kind: "replace",
		reason: "mask",
		path,
		message: 0,
		before: size,
		after: size,
		replacement: "",
	}));

/** The edits that go to a place where none may go. Only targets are checked here: there is no document. */
function wrongTargets(transcript: Transcript, plan: Plan): string[] {
	const read = { document: [], transcript };
	const violations = verify(read, read, { plan, base: [], countTokens: roughCount });
	return violations.filter(({ promise }) => promise === "only_tool_results_edited").map(({ detail }) => detail);
}

describe.each([
	[1, 1],
	[1, 40],
	[3, 3],
	[40, 1],
])("with %i results of %i texts each", (results, texts) => {
	const transcript = transcriptOf(results, texts);
	const last = [0, "content", results - 1] as const;

	it("a plan may edit every text, the complete content and copies", () => {
		const plan = replacing([0, "content", 0, 0, "text"], [...last, texts - 1, "text"], last, [...last, "copy"]);
		expect(wrongTargets(transcript, plan)).toEqual([]);
	});

	it.each<[string, Path]>([
		["the message", [0]],
		["its content", [0, "content"]],
		["a missing result", [0, "content", results]],
		["a missing text", [...last, texts, "text"]],
		["next to a text", [...last, 0, "type"]],
		["another message", [1, "content", 0]],
	])("it may not edit %s", (_, path) => {
		expect(wrongTargets(transcript, replacing(last, path))).toEqual([expect.stringContaining("is not a tool result")]);
	});
});
