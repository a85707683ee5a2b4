import { fc, test } from "@fast-check/vitest";
import { afterAll, describe, expect, it } from "vitest";
import type { CompactionStrategy } from "../../src/compaction/strategy.ts";
import { applyEdits, invertEdits } from "../../src/json-text/edit.ts";
import { guardWithCompaction } from "../../src/operations/guard-with-compaction.ts";
import { builtInStrategies } from "../../src/policy/names.ts";
import type { PolicyLayer } from "../../src/policy/schema.ts";
import { applyPlainly } from "../support/apply-plainly.ts";
import { conversations } from "../support/conversation-arbitrary.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user } from "../support/script.ts";
import { handover, standInSummariser } from "../support/stand-in-summariser.ts";

const seen = { composed: 0, summaryDropped: 0, maskedThenDropped: 0, truncated: 0, summaryAndDrops: 0, appended: 0 };

const cutAnswer = {
	choices: [{ index: 0, finish_reason: "length", message: { role: "assistant", content: "As far as it " } }],
};

const cutMessage = { role: "assistant", stop_reason: "max_tokens", content: [{ type: "text", text: "As far as it " }] };

interface Rounds {
	readonly document: unknown;
	readonly layer?: PolicyLayer;
	readonly contextWindow: number;
	readonly strategy?: CompactionStrategy;
	readonly lastResponse?: unknown;
}

/** Compacts and guards in one call, which answers with the edits of both rounds as one list. */
async function bothRounds({ document, layer = {}, contextWindow, strategy, lastResponse }: Rounds) {
	const policy = policyOf({
		locale: "en",
		...layer,
		guard: { reserve_tokens: 0, max_messages: 1, auto_compact: true, ...layer.guard },
		tokens: { encoding: "o200k_base" },
	});
	const named = { kind: "built_in", name: policy.compaction.strategy } as never;
	return guardWithCompaction({
		conversation: deepFreeze(document),
		policy,
		contextWindow,
		lastResponse,
		compaction: async () => ({
			strategy: strategy ? { kind: "external", name: "own", strategy } : named,
			answer: { kind: "summariser", summariser: standInSummariser() },
		}),
	});
}

type Done = Awaited<ReturnType<typeof bothRounds>>;

/** The edits make of the input what both rounds made of it, as a value and as a text. */
function check(document: unknown, { conversation, edits, report, error }: Done): void {
	expect(error).toBeUndefined();
	const text = JSON.stringify(document, null, 1);
	expect(applyPlainly(document, edits)).toEqual(JSON.parse(JSON.stringify(conversation)));
	const written = applyEdits(text, edits);
	expect(JSON.parse(written.text)).toEqual(JSON.parse(JSON.stringify(conversation)));
	expect(invertEdits(written)).toBe(text);
	const saved = edits.reduce((sum, { before, after }) => sum + before.tokens - after.tokens, 0);
	expect(report.tokens.before - report.tokens.after).toBe(saved);
}

const layers: fc.Arbitrary<PolicyLayer> = fc.record({
	compaction: fc.record({
		strategy: fc.constantFrom(...builtInStrategies),
		keep_last_messages: fc.integer({ min: 0, max: 6 }),
		keep_tool_groups: fc.integer({ min: 1, max: 5 }),
	}),
	guard: fc.record({
		ladder: fc.constantFrom(["truncate", "drop"] as const, ["drop"] as const, ["truncate", "mask", "drop"] as const),
		max_tool_result_chars: fc.constantFrom(300, 2_000),
		truncate_head_chars: fc.constantFrom(20, 200),
		truncate_tail_chars: fc.constantFrom(20, 200),
		pin_task: fc.boolean(),
	}),
	mask: fc.record({ window_turns: fc.integer({ min: 1, max: 4 }) }),
});

test.prop([conversations, layers, fc.integer({ min: 100, max: 3_000 }), fc.boolean()], { numRuns: 400 })(
	"one list of edits combines a compaction and the guard after it",
	async ({ format, document }, layer, contextWindow, isCut) => {
		const before = JSON.parse(JSON.stringify(document));
		// Behind calls that nobody answered nothing can be appended.
		if (isCut) (Array.isArray(before) ? before : before.messages).push({ role: "user", content: "And now?" });
		const answer = format === "openai-chat" ? cutAnswer : cutMessage;
		const outcome = await bothRounds({
			document: before,
			layer,
			contextWindow,
			lastResponse: isCut ? answer : undefined,
		});
		check(before, outcome);
		const { report, edits } = outcome;
		const result = report.compaction && "strategy" in report.compaction ? report.compaction.result : "none";
		if (result !== "hidden" && result !== "summarised") return;
		seen.composed += report.steps.length > 0 ? 1 : 0;
		const dropped = report.steps.some(({ step }) => step === "drop");
		const held = JSON.stringify(edits.map(({ replacement, value }) => [replacement, value]));
		if (result === "summarised" && !held.includes("Mend the parser.")) seen.summaryDropped += 1;
		if (result === "summarised" && dropped) seen.summaryAndDrops += 1;
		if (result === "hidden" && dropped) seen.maskedThenDropped += 1;
		seen.truncated += edits.filter(({ reason }) => reason === "truncate").length;
		seen.appended += edits.filter(({ reason }) => reason === "append").length;
	},
);

describe("a value inserted by the first round", () => {
	const strategyOf = (change: (history: readonly unknown[]) => readonly unknown[]): CompactionStrategy => ({
		compact: ({ history }) => change(history),
	});
	const turn = (id: string, text: string) => openaiMessages(toolTurn(id, text));

	it("is cut by the second round", async () => {
		const document = [...openaiMessages(user("Go.")), ...turn("a", outputOf("a", 400)), ...turn("b", "short")];
		const strategy = strategyOf((history) =>
			history.map((message, index) =>
				index === 2 ? { ...(message as object), content: outputOf("new", 200) } : message,
			),
		);
		const layer = { guard: { max_tool_result_chars: 500, truncate_head_chars: 100, truncate_tail_chars: 100 } };
		const outcome = await bothRounds({ document, layer, contextWindow: 1e6, strategy });
		check(document, outcome);
		expect(outcome.report.truncated_tool_results).toBe(1);
		expect(outcome.edits).toHaveLength(2);
	});

	it("is removed again: it is absent, and the values it replaced are gone", async () => {
		const document = [
			...openaiMessages(user("Go.")),
			...turn("a", outputOf("a", 400)),
			...turn("b", outputOf("b", 40)),
		];
		const strategy = strategyOf((history) => [
			...history.slice(0, 1),
			{ role: "user", content: "x ".repeat(900) },
			...history.slice(3),
		]);
		const outcome = await bothRounds({
			document,
			contextWindow: 700,
			strategy,
			layer: { guard: { ladder: ["drop"] } },
		});
		check(document, outcome);
		expect(outcome.edits.map(({ kind }) => kind)).toEqual(["remove", "remove"]);
	});

	it("moves the parts after it: appended content comes after them", async () => {
		const text = (value: string) => ({ text: value });
		const calls = Array.from({ length: 6 }, (_, index) => [
			{ role: "model", parts: [{ functionCall: { name: "ls", args: { index } } }] },
			{ role: "user", parts: [{ functionResponse: { name: "ls", response: { output: outputOf(`${index}`, 40) } } }] },
		]).flat();
		const document = [{ role: "user", parts: [text("Go."), text("And be quick.")] }, ...calls];
		const layer = { compaction: { strategy: "llm-summary", keep_last_messages: 0 } } as const;
		const lastResponse = { candidates: [{ finishReason: "MAX_TOKENS", content: { role: "model", parts: [] } }] };
		const outcome = await bothRounds({ document, layer, contextWindow: 1e6, lastResponse });
		check(document, outcome);
		expect(outcome.report.compaction).toMatchObject({ result: "summarised" });
		const [task, ...rest] = outcome.conversation as (typeof document)[number][];
		expect(rest).toEqual([]);
		expect(task?.parts.map((part) => ("text" in part ? part.text : ""))).toEqual([
			"Go.",
			"And be quick.",
			expect.stringContaining(handover),
			expect.stringContaining("cut off"),
		]);
	});

	it("is dropped with its group when hidden, and reports its original size", async () => {
		const turns = Array.from({ length: 9 }, (_, index) => turn(`c${index}`, outputOf(`${index}`, 60))).flat();
		const document = [...openaiMessages(user("Go.")), ...turns, ...openaiMessages(assistant("Done."))];
		const layer: PolicyLayer = { compaction: { strategy: "tool-result-hiding" }, guard: { ladder: ["drop"] } };
		const outcome = await bothRounds({ document, layer, contextWindow: 2_000 });
		check(document, outcome);
		expect(outcome.edits.some(({ kind, message }) => kind === "remove" && message === 2)).toBe(true);
		expect(outcome.edits.find(({ message }) => message === 2)?.before.chars).toBeGreaterThan(2_000);
	});
});

afterAll(() => {
	process.stderr.write(`${JSON.stringify(seen)}\n`);
	expect(seen.composed).toBeGreaterThan(75);
	expect(seen.summaryDropped).toBeGreaterThan(10);
	expect(seen.summaryAndDrops).toBeGreaterThan(15);
	expect(seen.maskedThenDropped).toBeGreaterThan(25);
	expect(seen.truncated).toBeGreaterThan(25);
	expect(seen.appended).toBeGreaterThan(50);
});
