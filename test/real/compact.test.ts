import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type BuiltInStrategy, builtInStrategies } from "../../src/engine/policy/names.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import type { CompactOutcome, CompactRequest } from "../../src/operations/compaction-request.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { atLeast } from "../support/breadth.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { policyOf } from "../support/policy-of.ts";
import { chosenConversations, conversationsFolder, hasRealData } from "../support/real-conversations.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";
import { checkText } from "../support/there-and-back.ts";
import { archivedValues, brokenCompaction } from "./compaction-checks.ts";

const files = chosenConversations();

// The oracle here knows results by the structure of a format, not by the words of a text protocol.
const policy = policyOf({ locale: "en", tokens: { encoding: "o200k_base" }, mask: { observations: false } });
const countTokens = await loadCounter("o200k_base");
const mostRounds = 4;

interface Counts {
	compactions: number;
	hidden: number;
	summarised: number;
	unchanged: number;
	/** Messages that summaries stand for. */
	archived: number;
	edits: number;
}

const seen = new Map<string, Counts>();
let rounds = 0;

type Given = Partial<CompactRequest> & Pick<CompactRequest, "conversation">;

function compact(name: BuiltInStrategy, given: Given): Promise<CompactOutcome> {
	const answer = { kind: "summariser", summariser: standInSummariser() } as const;
	return compactConversation({ policy, strategy: { kind: "built_in", name }, answer, ...given });
}

describe.skipIf(!hasRealData)("every real conversation at half its size", () => {
	it.each(files)("%s", async (file) => {
		const document = readTextDocument(readFileSync(join(conversationsFolder, file), "utf8"), "a real conversation");
		const conversation = deepFreeze(document.value);
		const { report: whole } = await compact("llm-summary", { conversation, contextWindow: 1e9 });
		expect(whole.trigger).toBe("not_due");
		const contextWindow = Math.floor(whole.tokens.before / 2);
		const { format } = document.value as { format: string };
		const count = seen.get(format) ?? { compactions: 0, hidden: 0, summarised: 0, unchanged: 0, archived: 0, edits: 0 };
		seen.set(format, count);

		// Only an API writes the summary of `provider`.
		for (const name of builtInStrategies.filter((one) => one !== "provider")) {
			const archive = (await openArchive({ where: "memory" })) as Archive;
			const outcome = await compact(name, { conversation, contextWindow, reserveTokens: 0, archive });
			const { report } = outcome;
			count.compactions += 1;
			expect(outcome.error).toBeUndefined();
			expect(report.trigger).toBe("tokens");
			expect(report.changed).toBe(report.result !== "unchanged");
			if (report.result === "unchanged") {
				expect(outcome.conversation).toBe(conversation);
				count.unchanged += 1;
				continue;
			}
			expect(brokenCompaction({ before: conversation, outcome, policy, countTokens })).toEqual([]);
			checkText(document, outcome);
			count.edits += outcome.edits.length;
			count[report.result as "hidden" | "summarised"] += 1;
			if (report.result !== "summarised") continue;
			const { text } = await archive.get(report.summary?.ref ?? "");
			expect(JSON.parse(text)).toEqual(archivedValues(conversation, outcome.edits));
			count.archived += report.summary?.messages ?? 0;
		}
	});

	it.each(files)("%s: becomes smaller round by round, then stays the same", async (file) => {
		let conversation: unknown = JSON.parse(readFileSync(join(conversationsFolder, file), "utf8"));
		let tokens = Number.POSITIVE_INFINITY;
		for (let round = 1; ; round += 1) {
			const outcome = await compact("hiding-then-summary", { conversation, force: true });
			if (outcome.report.result === "unchanged") return;
			expect(round).toBeLessThan(mostRounds);
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.tokens.before).toBeLessThanOrEqual(tokens);
			expect(outcome.report.tokens.after).toBeLessThan(outcome.report.tokens.before);
			tokens = outcome.report.tokens.after;
			conversation = outcome.conversation;
			rounds += 1;
		}
	});

	afterAll(() => {
		for (const [format, counts] of seen) process.stderr.write(`${format}: ${JSON.stringify(counts)}\n`);
		const sum = (name: keyof Counts) => Array.from(seen.values()).reduce((total, counts) => total + counts[name], 0);
		expect(seen.size).toBe(13);
		expect(sum("compactions")).toBe(3 * files.length);
		expect(sum("hidden")).toBeGreaterThan(atLeast(200));
		expect(sum("summarised")).toBeGreaterThan(atLeast(200));
		expect(sum("archived")).toBeGreaterThan(atLeast(8_000));
		expect(sum("edits")).toBeGreaterThan(atLeast(15_000));
		expect(rounds).toBeGreaterThan(atLeast(250));
		// That of Bedrock has next to nothing between the task and the last messages, nor have some of other formats.
		const summarised = Array.from(seen).flatMap(([format, counts]) => (counts.summarised > 0 ? [format] : []));
		expect(summarised.length).toBeGreaterThanOrEqual(11);
	});
});
