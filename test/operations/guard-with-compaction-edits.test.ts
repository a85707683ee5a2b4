import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Archive } from "../../src/archive/archive.ts";
import { openArchive } from "../../src/archive/open.ts";
import type { CompactionStrategy } from "../../src/compaction/strategy.ts";
import type { PolicyLayer } from "../../src/policy/schema.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user } from "../support/script.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { bothRounds, check, checkBothRounds, roundsCases } from "./both-rounds.ts";

it("combines both rounds in one list of edits, in a few fixed cases of the property", async () => {
	const results: string[] = [];
	for (const one of fc.sample(roundsCases, { seed: 5, numRuns: 16 })) {
		const { report } = await checkBothRounds(one);
		results.push(report.compaction?.result ?? "none");
	}
	expect(new Set(results).size).toBeGreaterThan(2);
});

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
		expect(outcome.edits.map(({ message }) => message)).toEqual([1, 2]);
	});

	it("names no message of the input when it is dropped, and keeps its references", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const document = [
			...openaiMessages(user("Go.")),
			...turn("a", outputOf("a", 400)),
			...turn("b", outputOf("b", 40)),
			...turn("c", outputOf("c", 20)),
		];
		const note = { role: "user", content: "x ".repeat(600) };
		const strategy = strategyOf((history) => [...history.slice(0, 1), note, ...history.slice(3)]);
		const layer: PolicyLayer = { guard: { ladder: ["drop"] } };
		const outcome = await bothRounds({ document, contextWindow: 500, strategy, layer, archive });
		check(document, outcome);
		const groups = outcome.report.dropped_groups ?? [];
		expect(groups.map(({ messages }) => messages)).toEqual([[1, 2], [], [3, 4]]);
		const texts = await Promise.all(groups.map(async ({ ref }) => JSON.parse((await archive.get(ref)).text)));
		expect(texts).toEqual([document.slice(1, 3), [note], document.slice(3, 5)]);
		const refs = outcome.edits.map(({ message, ref }) => [message, ref]);
		expect(refs).toEqual([1, 2, 3, 4].map((message) => [message, groups[message < 3 ? 0 : 2]?.ref]));
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

	it("changes the links of a session, and such an edit names no message", async () => {
		const document = claudeCodeSession(9)
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		const layer: PolicyLayer = { compaction: { strategy: "tool-result-hiding" }, guard: { ladder: ["drop"] } };
		const outcome = await bothRounds({ document, layer, contextWindow: 2_500 });
		check(document, outcome);
		const links = outcome.edits.filter(({ path }) => path.endsWith("/parentUuid"));
		expect(links.length).toBeGreaterThan(0);
		for (const link of links) expect(link).not.toHaveProperty("message");
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
