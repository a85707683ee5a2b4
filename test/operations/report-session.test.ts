import { describe, expect, it } from "vitest";
import type { CallTarget } from "../../src/masking/targets.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { reportContext, scaleParts, targetText } from "../../src/operations/report.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const record = (uuid: string, parentUuid: string | null, role: string, content: unknown, more = {}) => ({
	...{ type: role, uuid, parentUuid, sessionId: "s", message: { role, content } },
	...more,
});

const turn = (name: string, parent: string, lines = 40) => [
	record(`a-${name}`, parent, "assistant", [{ type: "tool_use", id: name, name: "Bash", input: {} }]),
	record(`r-${name}`, `a-${name}`, "user", [
		{ type: "tool_result", tool_use_id: name, content: outputOf(name, lines) },
	]),
];

/** A session that was compacted after two turns, and went on for three. */
const session = [
	record("u0", null, "user", "Go."),
	...turn("a", "u0", 90),
	...turn("b", "r-a"),
	{ type: "system", subtype: "compact_boundary", uuid: "c", parentUuid: null, logicalParentUuid: "r-b" },
	record("s", "c", "user", "So far: listings.", { isCompactSummary: true }),
	...turn("d", "s", 50),
	...turn("e", "r-d", 40),
	...turn("f", "r-e", 30),
];

describe("a report on a session that was compacted", () => {
	it("counts only what is still sent", async () => {
		const { messages, tool_turns, by_role, by_tool, biggest_results, tokens } = await reportContext({
			conversation: session,
			layers: [],
		});
		expect([messages, tool_turns]).toEqual([7, 3]);
		expect(by_role.map(({ role, messages: count }) => [role, count])).toEqual([
			["tool", 3],
			["assistant", 3],
			["user", 1],
		]);
		expect(by_role.reduce((sum, one) => sum + one.tokens, 0)).toBe(tokens);
		expect(by_tool).toMatchObject([{ tool: "Bash", results: 3 }]);
		expect(biggest_results.map(({ call_id, age_turns }) => [call_id, age_turns])).toEqual([
			["d", 2],
			["e", 1],
			["f", 0],
		]);
	});
});

describe("a guard on a session that was compacted", () => {
	it("counts only the messages that are still sent", async () => {
		const policy = policyOf({ guard: { max_messages: 8 } });
		const { report } = await guardConversation({ conversation: session, policy, contextWindow: 1_000_000 });
		expect(report.max_messages).toEqual({ limit: 8, messages: 7, reached: false });
	});
});

describe("a report on the originals", () => {
	it("knows that placeholders are shorter where nothing is archived", async () => {
		const conversation = openaiMessages(
			user("Go."),
			...Array.from({ length: 20 }, (_, at) => toolTurn(`c${at}`, outputOf(`${at}`))),
		);
		const observed = async (originals: "archived" | "not_archived") => {
			const { presets } = await reportContext({ conversation, layers: [], originals });
			return presets.find(({ preset }) => preset === "observation-masking");
		};
		const [archived, gone] = [await observed("archived"), await observed("not_archived")];
		expect(archived?.masked).toBe(12);
		expect(gone?.masked).toBe(12);
		expect((archived?.tokens_after ?? 0) - (gone?.tokens_after ?? 0)).toBeGreaterThan(12 * 4);
		expect(archived?.fits).toBeNull();
		const byDefault = await reportContext({ conversation, layers: [] });
		expect(byDefault.presets.find(({ preset }) => preset === "observation-masking")).toEqual(archived);
	});

	it("lists the later one of two equal results first, and ten of eleven", async () => {
		const conversation = openaiMessages(
			user("Go."),
			...Array.from({ length: 11 }, (_, at) => toolTurn(`c${at}`, "x y z")),
		);
		const { biggest_results, by_tool } = await reportContext({ conversation, layers: [] });
		expect(biggest_results.map(({ call_id }) => call_id)).toEqual(Array.from({ length: 10 }, (_, at) => `c${10 - at}`));
		expect(by_tool).toEqual([{ tool: "read_file", tokens: 33, results: 11 }]);
		const nameless = [{ role: "tool", tool_call_id: "lost", content: "x y z" }];
		const orphan = await reportContext({ conversation: [...conversation, ...nameless], layers: [] });
		expect(orphan.by_tool[1]).toEqual({ tool: null, tokens: 3, results: 1 });
		expect(orphan.biggest_results[0]).toMatchObject({ tool: null, call_id: "lost", target: null, message: 23 });
	});
});

describe("the target of a call", () => {
	const nothing: CallTarget = { kind: "read", paths: [], reads: [], writes: [] } as never;

	it("is its files once each, else its program, on one line of at most 120 characters", () => {
		expect(targetText(undefined)).toBeNull();
		expect(targetText({ ...nothing, program: "npm test" } as never)).toBe("npm test");
		expect(targetText({ ...nothing, program: " a\n\tb \u001b " } as never)).toBe("a b");
		expect(targetText({ ...nothing, writes: ["b"], paths: ["b", "a"], program: "npm" } as never)).toBe("b, a");
		expect(targetText({ ...nothing, paths: ["x".repeat(120)] })).toBe("x".repeat(120));
		expect(targetText({ ...nothing, paths: [`y${"x".repeat(120)}`] })).toBe(`…${"x".repeat(119)}`);
		expect(targetText({ ...nothing, paths: ["\ud800"] })).toBe("\ufffd");
		const split = `y\ud83d\ude00${"x".repeat(118)}`;
		expect(targetText({ ...nothing, paths: [split] })).toBe(`…\ufffd${"x".repeat(118)}`);
	});
});

it("rounds parts so that they add up to the rounded whole", () => {
	const parts = [1, 1, 1].map((tokens) => ({ chars: 1, tokens }));
	expect(scaleParts(parts, { low: 1, factor: 1.5, high: 2 })).toEqual([2, 1, 2]);
	expect(scaleParts([], { low: 1, factor: 1.5, high: 2 })).toEqual([]);
	expect(scaleParts([{ chars: 1, tokens: 9, fixed: 9 }], { low: 1, factor: 1.5, high: 2 })).toEqual([9]);
});
