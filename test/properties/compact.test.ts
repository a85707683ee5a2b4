import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import type { CompactionStrategy } from "../../src/engine/compaction/strategy.ts";
import { builtInStrategies } from "../../src/engine/policy/names.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import type { CompactOutcome, CompactRequest, StrategyOfCall } from "../../src/operations/compaction-request.ts";
import { applyPlainly } from "../support/apply-plainly.ts";
import { leastOfCases, numberOfCases } from "../support/case-divisor.ts";
import { conversations, type GeneratedConversation } from "../support/conversation-arbitrary.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { sumTokens } from "../support/independent-tokens.ts";
import { added, looseEnds } from "../support/loose-ends.ts";
import { policyOf } from "../support/policy-of.ts";
import { rawList, readRaw } from "../support/raw-conversation.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const countTokens = await loadCounter("o200k_base");
const seen = { hidden: 0, summarised: 0, unchanged: 0, removed: 0, rewritten: 0, refused: 0, rounds: 0 };

const compactions: fc.Arbitrary<NonNullable<PolicyLayer["compaction"]>> = fc.record({
	// Only an API writes the summary of `provider`.
	strategy: fc.constantFrom(...builtInStrategies.filter((name) => name !== "provider")),
	keep_last_messages: fc.integer({ min: 0, max: 6 }),
	keep_tool_groups: fc.integer({ min: 1, max: 6 }),
});
const pins = fc.boolean();
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

interface Given {
	readonly before: unknown;
	readonly compaction: NonNullable<PolicyLayer["compaction"]>;
	readonly pin_task: boolean;
	readonly strategy?: StrategyOfCall;
}

function compact({ before, compaction, pin_task, strategy }: Given): Promise<CompactOutcome> {
	const policy = policyOf({ locale: "en", compaction, guard: { pin_task }, tokens: { encoding: "o200k_base" } });
	const named = { kind: "built_in", name: policy.compaction.strategy } as CompactRequest["strategy"];
	return compactConversation({
		conversation: before,
		policy,
		strategy: strategy ?? named,
		answer: { kind: "summariser", summariser: standInSummariser() },
		force: true,
	});
}

/** What holds of every compaction, whoever planned it. */
function checkOutcome({ format, document }: GeneratedConversation, outcome: CompactOutcome): void {
	const { conversation: after, edits, report } = outcome;
	expect(json(after)).toEqual(applyPlainly(document, edits));
	expect(added(looseEnds(document, format), looseEnds(after, format))).toEqual([]);
	const system = (of: unknown) => readRaw(of, format).flatMap(({ isSystem, value }) => (isSystem ? [value] : []));
	expect(system(after)).toEqual(system(document));
	const tokens = (of: unknown) => sumTokens(of, format, 4, countTokens);
	expect(report.tokens).toEqual({ before: tokens(document), after: tokens(after) });
	expect(report.changed).toBe(edits.length > 0);
	if (edits.length === 0) expect(after).toBe(document);
}

/** Values of the list that no edit names are the very same objects, in their order. */
function checkUntouched(document: unknown, { conversation: after, edits }: CompactOutcome): void {
	const touched = new Set(
		edits.flatMap(({ kind, path }) => {
			const index = Array.isArray(document) ? path.split("/")[1] : path.split("/")[2];
			const isBeside = kind === "insert" && path.split("/").length === (Array.isArray(document) ? 2 : 3);
			return isBeside ? [] : [Number(index)];
		}),
	);
	const before = rawList(document);
	const kept = before.filter((_, index) => !touched.has(index));
	const known = new Set(before);
	expect(rawList(after).filter((value) => known.has(value))).toEqual(kept);
}

/** A summary stands after all that the message says, between its own lines. */
function checkOwnText(document: unknown, edits: CompactOutcome["edits"]): void {
	for (const { message = -1, reason, replacement } of edits) {
		if (reason !== "merge") continue;
		const { role, content } = rawList(document)[message] as { role?: unknown; content?: unknown };
		expect(role).toBe("user");
		const lead = content === "" ? "" : `${content}\n\n`;
		expect(String(replacement).startsWith(`${lead}[Summary of`)).toBe(true);
	}
}

test.prop([conversations, compactions, pins], { numRuns: numberOfCases(400) })(
	"any built-in strategy with any numbers keeps calls and results together, saves tokens, and its edits produce the result",
	async (conversation, compaction, pin_task) => {
		const before = deepFreeze(conversation.document);
		const outcome = await compact({ before, compaction, pin_task });
		expect(outcome.error).toBeUndefined();
		checkOutcome(conversation, outcome);
		checkUntouched(before, outcome);
		const { report, edits } = outcome;
		if (report.result === "unchanged") {
			seen.unchanged += 1;
			return;
		}
		expect(report.tokens.after).toBeLessThan(report.tokens.before);
		seen[report.result as "hidden" | "summarised"] += 1;
		if (report.result === "hidden") {
			expect(rawList(outcome.conversation)).toHaveLength(rawList(before).length);
			return;
		}
		seen.removed += edits.filter((edit) => edit.kind === "remove").length;
		// A summary that joins a message leaves what it says: `checkOwnText`.
		const stays = ({ kind, reason }: (typeof edits)[number]) => kind === "insert" || reason === "merge";
		const gone = new Set(edits.flatMap((edit) => (stays(edit) ? [] : [edit.message ?? -1])));
		checkOwnText(before, edits);
		const movable = readRaw(before, conversation.format).filter(({ isSystem }) => !isSystem);
		const last = compaction.keep_last_messages ? movable.slice(-compaction.keep_last_messages) : [];
		expect(last.filter(({ index }) => gone.has(index))).toEqual([]);
		const task = movable.find(({ role }) => role === "user");
		if (pin_task && task) expect(gone.has(task.index)).toBe(false);
	},
);

test.prop([conversations, compactions, pins], { numRuns: numberOfCases(100) })(
	"the result shrinks each round, and is stable after at most four",
	async ({ document }, compaction, pin_task) => {
		let before = document;
		for (let round = 0; ; round += 1) {
			const { conversation, report } = await compact({ before, compaction, pin_task });
			if (report.result === "unchanged") return;
			expect(round).toBeLessThan(4);
			expect(report.tokens.after).toBeLessThan(report.tokens.before);
			before = conversation;
			seen.rounds += 1;
		}
	},
);

type Act = "keep" | "turn" | "drop" | "again" | "shorten" | "move";

/** What a careless strategy does to single messages; to all others, nothing. */
const mishaps = fc.dictionary(
	fc.integer({ min: 0, max: 30 }).map(String),
	fc.constantFrom<Act>("turn", "turn", "turn", "shorten", "shorten", "drop", "again", "move"),
	{ minKeys: 1, maxKeys: 5 },
);

const isResult = (message: unknown) => /"(tool_result|role":"tool)"/.test(JSON.stringify(message));

function careless(acts: Readonly<Record<string, Act>>): CompactionStrategy {
	return {
		compact({ history }) {
			const moved: unknown[] = [];
			let isInTurn = false;
			const kept = history.flatMap((message, index) => {
				isInTurn = isInTurn && isResult(message);
				const act = acts[index] ?? "keep";
				if (act === "turn" && !isResult(message)) isInTurn = true;
				if (isInTurn || act === "drop") return [];
				if (act === "again") return [message, message];
				if (act === "shorten") return [{ ...(message as object), content: "short" }];
				if (act !== "move") return [message];
				moved.push(message);
				return [];
			});
			return [...kept, ...moved];
		},
	};
}

test.prop([conversations, compactions, pins, mishaps], { numRuns: numberOfCases(350) })(
	"the result of a careless strategy is complete, or refused with the original unchanged",
	async (conversation, compaction, pin_task, acts) => {
		const before = deepFreeze(conversation.document);
		const strategy = { kind: "external", name: "careless", strategy: careless(acts) } as const;
		const outcome = await compact({ before, compaction, pin_task, strategy }).catch((error) => {
			expect(error.code).toBe("strategy_failed");
			return undefined;
		});
		if (!outcome || outcome.error) {
			if (outcome) expect(outcome).toMatchObject({ error: { code: "strategy_failed" }, edits: [] });
			if (outcome) expect(outcome.conversation).toBe(before);
			seen.refused += 1;
			return;
		}
		checkOutcome(conversation, outcome);
		expect(outcome.report.tokens.after).toBeLessThanOrEqual(outcome.report.tokens.before);
		if (outcome.report.result === "rewritten") seen.rewritten += 1;
	},
);

afterAll(() => {
	process.stderr.write(`${JSON.stringify(seen)}\n`);
	expect(seen.hidden).toBeGreaterThan(leastOfCases(50));
	expect(seen.summarised).toBeGreaterThan(leastOfCases(35));
	expect(seen.removed).toBeGreaterThan(leastOfCases(250));
	expect(seen.rounds).toBeGreaterThan(leastOfCases(30));
	expect(seen.refused).toBeGreaterThan(leastOfCases(40));
	expect(seen.rewritten).toBeGreaterThan(leastOfCases(15));
});
