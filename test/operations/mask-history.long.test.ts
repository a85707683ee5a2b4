import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { policyOf } from "../support/policy-of.ts";
import { turnsOf } from "../support/replay-history.ts";

const rows = "a row of what it found, ".repeat(30);

function callOf(id: string, name: string, given: Readonly<Record<string, string>>) {
	return { id, type: "function", function: { name, arguments: JSON.stringify(given) } };
}

/** Names and lines of a small pool, so that results hold the same ones and answers come back to them. */
const words = fc
	.array(fc.constantFrom("loadTable", "src/a.ts", "src/b.ts", "a whole line of twenty", "\n", "errorCode17"), {
		maxLength: 8,
	})
	.map((list) => list.join(" "));

const files = fc.constantFrom("src/a.ts", "src/b.ts", "src/c.ts");

const commands = fc.constantFrom("npm test", "npm run lint", "cat src/a.ts src/b.ts", "grep -rn x src", "make");

const called = fc.oneof(
	files.map((path) => ({ name: "read_file", given: { path } })),
	files.map((path) => ({ name: "write_file", given: { path, content: "x" } })),
	commands.map((command) => ({ name: "bash", given: { command } })),
);

const outputs = fc
	.tuple(
		fc.constantFrom(
			"",
			"",
			"",
			"Exit code 1\n",
			"Error: ENOENT: no such file\n",
			"Traceback (most recent call last):\n",
		),
		words,
		fc.integer({ min: 0, max: 400 }),
	)
	.map(([failure, held, length]) => `${failure}${held}\n${"x y ".repeat(length)}`);

/** Agents that read, write and run the same few files and commands again and again, some of it without success. */
const agents = fc
	.array(fc.tuple(fc.array(fc.tuple(called, outputs), { minLength: 1, maxLength: 2 }), words), {
		minLength: 2,
		maxLength: 40,
		size: "max",
	})
	.map((turns): unknown[] => [
		{ role: "user", content: "Go." },
		...turns.flatMap(([calls, said], turn) => {
			const idOf = (index: number) => `call_${turn}_${index}`;
			return [
				{
					role: "assistant",
					content: said,
					tool_calls: calls.map(([{ name, given }], index) => callOf(idOf(index), name, given)),
				},
				...calls.map(([, content], index) => ({ role: "tool", tool_call_id: idOf(index), content })),
			];
		}),
	]);

const maskings = fc.record({
	window_turns: fc.integer({ min: 1, max: 4 }),
	keep_errors: fc.boolean(),
	error_detection: fc.constantFrom("words", "structural"),
	keep_last_k_per_tool: fc.constantFrom(null, null, 1),
	tools: fc.constantFrom({}, {}, { bash: "never" }, { read_file: "always" }, { bash: { keep_last: 1 } } as const),
	selection: fc.constantFrom("age", "use"),
	cadence: fc.constantFrom("every_turn", "stride"),
	stride_turns: fc.integer({ min: 1, max: 6 }),
	digest_tokens: fc.constantFrom(0, 0, 20),
	prices: fc.constantFrom([0.1, 1.25], [0.1, 1], [0.5, 1], [1, 1], [0, 2]),
	media: fc.constantFrom("keep", "mask"),
});

/** The turns of sixty at which masking changes something, by an agent whose history is its own or what it gets back. */
async function turnsOfMasking(mask: Parameters<typeof policyOf>[0], keeps: "own" | "answer"): Promise<number[]> {
	const policy = policyOf(mask);
	const turns: number[] = [];
	let history: unknown[] = [{ role: "user", content: "Go." }];
	let editsBefore = 0;
	for (let turn = 1; turn <= 60; turn += 1) {
		const id = `call_${turn}`;
		const call = { id, type: "function", function: { name: turn % 5 === 0 ? "ls" : "grep", arguments: "{}" } };
		history = [
			...history,
			{ role: "assistant", content: null, tool_calls: [call] },
			{ role: "tool", tool_call_id: id, content: `row ${turn} `.repeat(200) },
		];
		const { conversation, edits } = await maskConversation({ conversation: history, policy });
		if (edits.length > editsBefore) turns.push(turn);
		if (keeps === "own") editsBefore = edits.length;
		else history = conversation as unknown[];
	}
	return turns;
}

describe("a history returned by an earlier call", () => {
	const stride = { cadence: "stride", stride_turns: 8, window_turns: 4 } as const;
	it.each([
		["of a plain stride", stride],
		["with a tool whose results always go", { ...stride, tools: { ls: "always" } } as const],
		["with a tool whose last result stays", { ...stride, tools: { grep: { keep_last: 1 } } }],
	])("is masked as rarely as the agent's original one: %s", async (_, mask) => {
		const own = await turnsOfMasking({ mask }, "own");
		expect(own).toEqual([12, 20, 28, 36, 44, 52, 60]);
		expect(await turnsOfMasking({ mask }, "answer")).toEqual(own);
	});

	const seen = new Map<string, { runs: number; edits: number }>();

	test.prop(
		[
			fc.oneof(
				agents,
				conversations.map(({ document }) => document),
			),
			maskings,
		],
		{ numRuns: numberOfCases(500) },
	)(
		"is unchanged when it is masked again every turn or by stride, with any selection",
		async (document, { prices: [cache_read = 0, cache_write = 0], media, ...mask }) => {
			const policy = policyOf({ mask, media, prices: { cache_read, cache_write } });
			const once = await maskConversation({ conversation: document, policy });
			const twice = await maskConversation({ conversation: once.conversation, policy });
			expect(twice.edits).toEqual([]);
			const kind = `${mask.cadence} by ${mask.selection}`;
			const { runs, edits } = seen.get(kind) ?? { runs: 0, edits: 0 };
			seen.set(kind, { runs: runs + 1, edits: edits + once.edits.length });
		},
	);

	it("was masked in that property by each cadence with each selection", () => {
		expect(seen.size).toBe(4);
		for (const { runs, edits } of seen.values()) {
			expect(runs).toBeGreaterThan(leastOfCases(40));
			expect(edits).toBeGreaterThan(leastOfCases(150));
		}
	});

	it("is masked again by break-even once enough follows its placeholders", async () => {
		const policy = policyOf({ mask: { window_turns: 3, cadence: "break_even" } });
		const once = await maskConversation({ conversation: turnsOf(Array(40).fill(rows.repeat(4))), policy });
		expect(once.edits.length).toBeGreaterThan(10);
		const more = turnsOf(Array(40).fill(rows.repeat(4))).slice(2);
		const history = [...(once.conversation as unknown[]), ...more];
		const again = await maskConversation({ conversation: history, policy });
		expect(again.edits.length).toBeGreaterThan(10);
	});

	it("keeps an error, although a later call of the same kind was masked and may have failed too", async () => {
		const run = (id: string, command: string, content: string) => [
			{ role: "assistant", content: null, tool_calls: [callOf(id, "bash", { command })] },
			{ role: "tool", tool_call_id: id, content },
		];
		const history = [
			{ role: "user", content: "Go." },
			...run("a", "npm test", `Exit code 1\n${rows}`),
			...run("b", "npm run lint", "[Observation masked: old tool result (tool_call_id=b, tool=bash, chars=912)]"),
			...run("c", "ls", rows),
		];
		const policy = policyOf({ mask: { window_turns: 1, keep_errors: true, error_detection: "structural" } });
		const { edits, report } = await maskConversation({ conversation: history, policy });
		expect(edits).toEqual([]);
		expect(report.kept.error).toBe(1);
	});
});
