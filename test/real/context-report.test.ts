import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { reportContext } from "../../src/operations/report.ts";
import { contextText } from "../../src/operations/report-text.ts";
import { atLeast } from "../support/breadth.ts";
import { chosenConversations, conversationsFolder, hasRealData } from "../support/real-conversations.ts";

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

function* realDocuments(): Generator<{ readonly file: string; readonly document: unknown }> {
	for (const file of chosenConversations()) {
		yield { file, document: JSON.parse(readFileSync(join(conversationsFolder, file), "utf8")) };
	}
}

describe.skipIf(!hasRealData)("the context report of real conversations", () => {
	it("adds up, for every conversation of every format", { timeout: 600_000 }, async () => {
		const met = {
			formats: new Set<string>(),
			results: 0,
			targets: 0,
			used: 0,
			unused: 0,
			stale: 0,
			freeing: 0,
			unrecorded: 0,
			reports: 0,
		};
		for (const { file, document } of realDocuments()) {
			const contextWindow = 60_000;
			const report = await reportContext({ conversation: document, layers: [], contextWindow });
			const { transcript } = readConversation(document);
			const sent = transcript.messages.filter((message) => message.sent !== false);
			const results = pairResults(transcript).filter(({ message }) => transcript.messages[message]?.sent !== false);
			const told = (value: unknown) => [file, value];
			expect(told(sum(report.by_role.map(({ tokens }) => tokens)))).toEqual(told(report.tokens));
			expect(told(sum(report.by_role.map(({ messages }) => messages)))).toEqual(told(sent.length));
			expect(told(sum(report.by_tool.map((one) => one.results)))).toEqual(told(results.length));
			const ofResults = report.by_role.find(({ role }) => role === "tool")?.tokens ?? 0;
			expect(told(sum(report.by_tool.map(({ tokens }) => tokens)) <= ofResults + 1)).toEqual(told(true));
			expect(told(sum(report.by_part.map(({ tokens }) => tokens ?? 0)))).toEqual(told(report.tokens));
			expect(told(report.by_part.every(({ tokens }) => (tokens ?? 0) >= 0))).toEqual(told(true));
			const parted = report.by_part.find(({ part }) => part === "tool_results");
			expect(told(sum((parted?.groups ?? []).map(({ count }) => count)))).toEqual(told(results.length));
			expect(
				told(Math.abs(sum((parted?.groups ?? []).map(({ tokens }) => tokens)) - (parted?.tokens ?? 0)) <= 1),
			).toEqual(told(true));
			const freed = sum((parted?.groups ?? []).map(({ freed_tokens }) => freed_tokens));
			expect(told(Math.abs(freed - (report.masking?.freed_tokens ?? 0)) <= 5)).toEqual(told(true));
			met.unrecorded += report.unrecorded_tokens === null ? 0 : 1;
			const screen = contextText({ ...report, notes: [] }, { columns: 80, bars: "ascii" })
				.split("\n")
				.slice(0, -1);
			expect(told(screen.length <= 24)).toEqual(told(true));
			expect(told(screen.filter((line) => line.length > 80))).toEqual(told([]));
			expect(told(report.biggest_results.length)).toEqual(told(Math.min(10, results.length)));
			for (const one of report.biggest_results) {
				expect(told(one.tokens <= ofResults + 1 && one.age_turns >= 0)).toEqual(told(true));
				expect(told((one.target ?? "").length <= 120)).toEqual(told(true));
				// What came last cannot have been used.
				if (one.message === transcript.messages.length - 1) expect(told(one.used_since)).toEqual(told(false));
				met.targets += one.target === null ? 0 : 1;
				met[one.used_since ? "used" : "unused"] += 1;
				met.stale += one.stale ? 1 : 0;
			}
			for (const one of report.presets) {
				expect(told(one.freed_tokens)).toEqual(told(report.tokens - one.tokens_after));
				expect(told(one.rewritten_tokens <= one.tokens_after)).toEqual(told(true));
				met.freeing += one.freed_tokens > 0 ? 1 : 0;
			}
			for (const line of contextText(report, { columns: 100, bars: "blocks" }).split("\n")) {
				// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal takes for a command
				expect(told(/[\u0000-\u001f\u007f-\u009f]/.test(line))).toEqual(told(false));
			}
			met.formats.add(transcript.format);
			met.results += results.length;
			met.reports += 1;
		}
		expect(met.reports).toBeGreaterThan(atLeast(200));
		expect(met.formats.size).toBeGreaterThan(6);
		expect(met.unrecorded).toBeGreaterThan(atLeast(20));
		expect(met.results).toBeGreaterThan(atLeast(3_000));
		expect(met.targets).toBeGreaterThan(atLeast(500));
		expect(met.used).toBeGreaterThan(atLeast(500));
		expect(met.unused).toBeGreaterThan(atLeast(200));
		expect(met.stale).toBeGreaterThan(atLeast(75));
		expect(met.freeing).toBeGreaterThan(atLeast(300));
	});
});
