import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CompactionStrategy } from "../../src/engine/compaction/strategy.ts";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreText } from "../../src/storage/restore/restore.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { policyOf } from "../support/policy-of.ts";
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

	it("is replaced by the words of people in it when it is dropped", async () => {
		const document = [
			...openaiMessages(user("Go.")),
			...turn("a", outputOf("a", 400)),
			...turn("b", outputOf("b", 60)),
			...openaiMessages(user("And now?")),
		];
		const note = { role: "user", content: "Never touch the folder legacy." };
		const strategy = strategyOf((history) => [...history.slice(0, 1), note, ...history.slice(3)]);
		const layer: PolicyLayer = { guard: { ladder: ["drop"] }, compaction: { keep_user_text: true } };
		const outcome = await bothRounds({ document, layer, contextWindow: 400, strategy });
		check(document, outcome);
		expect(outcome.report.fits).toBe(true);
		expect(JSON.stringify(outcome.edits)).toContain(note.content);
		expect((outcome.conversation as unknown[]).length).toBe(2);
	});

	it("gets a part at its end", async () => {
		const turns = [
			{ role: "user", parts: [{ text: "Go." }] },
			{ role: "model", parts: [{ functionCall: { name: "ls", args: {} } }] },
		];
		const result = { functionResponse: { name: "ls", response: { output: outputOf("a", 90) } } };
		const document = [...turns, { role: "user", parts: [result, { text: "And now? ".repeat(90) }] }];
		const asked = { role: "user", parts: [result, { text: "And now?" }] };
		const strategy = strategyOf((history) => [...history.slice(0, 2), asked]);
		const lastResponse = { candidates: [{ finishReason: "MAX_TOKENS", content: { role: "model", parts: [] } }] };
		const outcome = await bothRounds({ document, contextWindow: 1e6, strategy, lastResponse });
		check(document, outcome);
		const request = { text: expect.stringContaining("cut off") };
		expect(outcome.conversation).toEqual([...turns, { ...asked, parts: [...asked.parts, request] }]);
	});

	it("is cut by the second round inside the record that it replaces", async () => {
		const document = claudeCodeSession(4)
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line));
		const long = outputOf("new", 40);
		const strategy = strategyOf((history) =>
			history.map((record, index) => {
				const { message, ...rest } = record as { message: { content: object[] } };
				const content = [{ ...message.content[0], content: long }];
				return index === 2 ? { ...rest, message: { ...message, content } } : record;
			}),
		);
		const layer = { guard: { max_tool_result_chars: 500, truncate_head_chars: 100, truncate_tail_chars: 100 } };
		const outcome = await bothRounds({ document, layer, contextWindow: 1e6, strategy });
		check(document, outcome);
		const [edit] = outcome.edits.filter(({ path }) => path === "/2");
		expect(edit).toMatchObject({ kind: "replace", reason: "summary", message: 2 });
		expect(JSON.stringify(edit?.replacement)).toContain("truncated");
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

	it("is archived with its text before, though its summary is dropped", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const document = [
			...openaiMessages(user("Go.")),
			...turn("a", outputOf("a", 200)),
			...turn("b", outputOf("b", 60)),
			...turn("c", "short"),
		];
		const layer: PolicyLayer = {
			compaction: { strategy: "llm-summary", keep_last_messages: 4 },
			guard: { ladder: ["drop"], pin_task: false },
		};
		const outcome = await bothRounds({ document, layer, contextWindow: 100, archive });
		check(document, outcome);
		const { report, edits } = outcome;
		const summary = report.compaction && "summary" in report.compaction ? report.compaction.summary : undefined;
		expect(JSON.stringify(outcome.conversation)).not.toContain("Mend the parser");
		const [gone] = edits.filter(({ message }) => message === 0);
		expect(gone).toMatchObject({ kind: "remove", path: "/0", ref: summary?.ref });
		expect(JSON.parse((await archive.get(summary?.ref ?? "")).text)).toEqual(document.slice(0, 3));
		expect(report.dropped_groups?.map(({ messages }) => messages)).toEqual([[0], [1, 2], [], [3, 4]]);
	});

	it("is dropped with its group when hidden, and reports its original size", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const turns = Array.from({ length: 9 }, (_, index) => turn(`c${index}`, outputOf(`${index}`, 60))).flat();
		const document = [...openaiMessages(user("Go.")), ...turns, ...openaiMessages(assistant("Done."))];
		const layer: PolicyLayer = { compaction: { strategy: "tool-result-hiding" }, guard: { ladder: ["drop"] } };
		const outcome = await bothRounds({ document, layer, contextWindow: 2_000, archive });
		check(document, outcome);
		expect(outcome.report.dropped_groups?.[0]?.messages).toEqual([1, 2]);
		expect(outcome.edits.some(({ kind, message }) => kind === "remove" && message === 2)).toBe(true);
		expect(outcome.edits.find(({ message }) => message === 2)?.before.chars).toBeGreaterThan(2_000);
	});

	it("is counted with those that the second round masks or drops, the first message too", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const turns = ["a", "b", "c", "d"].map((id) => turn(id, outputOf(id, 90)));
		const document = [...openaiMessages(user("Go.")), ...turns.flat()];
		const strategy = strategyOf((history) => [...history.slice(0, 3), ...history.slice(5)]);
		const guarded = (contextWindow: number, guard: NonNullable<PolicyLayer["guard"]>) =>
			bothRounds({ document, contextWindow, strategy, archive, layer: { guard, mask: { window_turns: 1 } } });
		const masked = await guarded(2_500, { ladder: ["mask"] });
		check(document, masked);
		expect(masked.report.masked_tool_results).toBe(2);
		const dropped = await guarded(1_000, { ladder: ["drop"], pin_task: false });
		check(document, dropped);
		expect(dropped.report.dropped_groups?.map(({ messages }) => messages)).toEqual([[3, 4], [0], [1, 2], [5, 6]]);
	});
});

it("results that move because messages before them go are restored in their own spelling", async () => {
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const turns = ["a", "b", "c", "d"].map((id) => openaiMessages(toolTurn(id, `é ${outputOf(id, 90)}`)));
	const document = [...openaiMessages(user("Go.")), ...turns.flat()];
	const text = JSON.stringify(document, null, 1).replaceAll("é", "\\u00e9");
	const given = readTextDocument(text, "the text");
	const outcome = await bothRounds({
		document: given.value,
		layer: { guard: { ladder: ["mask"] }, mask: { window_turns: 1 } },
		contextWindow: 2_500,
		strategy: { compact: ({ history }) => [...history.slice(0, 3), ...history.slice(5)] },
		archive,
		spellingsOf: (paths) => spellingsOf(given, paths),
	});
	expect(outcome.report.masked_tool_results).toBe(2);
	const written = writeEdits(given, outcome.edits).text;
	const back = await restoreText({ text: written, archive, policy: policyOf({ locale: "en" }), name: "the text" });
	const compacted = outcome.edits.filter(({ reason }) => reason === "summary");
	expect(back.text).toBe(writeEdits(given, compacted).text);
});

it("a conversation to which nothing can be appended once it is compacted is guarded without the compaction", async () => {
	const call = { type: "tool_use", input: { path: "a.txt" } };
	const exchange = (calls: number, content: string) => [
		{ role: "assistant", content: Array.from({ length: calls }, () => call) },
		{ role: "user", content: [{ type: "tool_result", content }] },
	];
	const messages = [
		...exchange(2, "row,".repeat(200)),
		...exchange(1, outputOf("a", 20)),
		...exchange(1, outputOf("b", 20)),
		{ role: "user", content: "And now?" },
	];
	const document = { model: "some-model", messages };
	const layer: PolicyLayer = { compaction: { strategy: "llm-summary", keep_last_messages: 0 } };
	const lastResponse = { role: "assistant", stop_reason: "max_tokens", content: [{ type: "text", text: "As far " }] };
	const outcome = await bothRounds({ document, layer, contextWindow: 1e6, lastResponse });
	check(document, outcome);
	expect(outcome.report.compaction).toMatchObject({ result: "failed", code: "invalid_argument" });
	expect(outcome.report.follow_up).toMatchObject({ appended: true });
});
