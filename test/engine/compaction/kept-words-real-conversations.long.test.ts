import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { usersTexts } from "../../../src/engine/compaction/users-words.ts";
import { applyPlan } from "../../../src/engine/conversation/apply.ts";
import { measure } from "../../../src/engine/conversation/measure.ts";
import type { Message } from "../../../src/engine/conversation/transcript.ts";
import { groupMessages, pairResults } from "../../../src/engine/conversation/turns.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { compactConversation } from "../../../src/operations/compact.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { policyOf } from "../../support/policy-of.ts";
import { chosenFiles, hasRealData, realDataFolder } from "../../support/real-conversations.ts";
import { standInSummariser } from "../../support/stand-in-summariser.ts";

const root = join(realDataFolder, "conversations");
const folders = hasRealData ? readdirSync(root) : [];
const countTokens = await loadCounter("o200k_base");
const rounds = 6;

const policy = policyOf({ locale: "en", compaction: { keep_user_tokens: 1_000_000 } });

const dropping = policyOf({
	preset: "balanced",
	mask: { observations: "auto" },
	guard: { ladder: ["drop"], reserve_tokens: 0 },
	compaction: { keep_user_tokens: 1_000_000 },
});

interface Cost {
	conversations: number;
	summarised: number;
	texts: number;
	tokens: number;
	words: number;
	/** Conversations whose words take more than 4 % of a window of 200 000 tokens. */
	over: number;
}

const costs = new Map<string, Cost>();

afterAll(() => {
	const all = [...costs.values()];
	const sum = (key: keyof Cost) => all.reduce((total, one) => total + one[key], 0);
	const row = (name: string, of: Record<keyof Cost, number>) =>
		[
			name.padEnd(28),
			of.conversations,
			of.summarised,
			of.texts,
			of.tokens,
			of.words,
			`${((100 * of.words) / of.tokens).toFixed(1)} %`,
			of.over,
		].join("\t");
	const total = Object.fromEntries(
		(["conversations", "summarised", "texts", "tokens", "words", "over"] as const).map((key) => [key, sum(key)]),
	) as unknown as Cost;
	const heading = [
		"recording".padEnd(28),
		"files",
		"summarised",
		"texts",
		"tokens",
		"of words",
		"share",
		"over 8 000",
	].join("\t");
	process.stdout.write(
		`${[heading, ...Array.from(costs, ([name, of]) => row(name, of)), row("all", total)].join("\n")}\n`,
	);
});

describe.skipIf(!hasRealData)("real conversations in six rounds", () => {
	it.each(folders)("%s keep every text that a person wrote", async (folder) => {
		const cost: Cost = { conversations: 0, summarised: 0, texts: 0, tokens: 0, words: 0, over: 0 };
		costs.set(folder, cost);
		for (const name of chosenFiles(readdirSync(join(root, folder)))) {
			const document: unknown = JSON.parse(readFileSync(join(root, folder, name), "utf8"));
			const source = readConversation(document, "auto");
			const { after, summarised } = await compactedInRounds(document);
			const said = saidIn(after);
			const texts = usersTexts(source).flat();
			for (const text of [...texts, ...plainTexts(document)])
				expect(said.includes(text), `${name}: ${text.length}`).toBe(true);
			const words = texts.reduce((total, text) => total + countTokens(text), 0);
			cost.conversations += 1;
			cost.summarised += summarised > 0 ? 1 : 0;
			cost.texts += texts.length;
			cost.tokens += measure(source.transcript, { countTokens, messageOverhead: 4 }).total.tokens;
			cost.words += words;
			cost.over += words > 8_000 ? 1 : 0;
		}
		expect(cost.conversations).toBeGreaterThan(0);
	});
});

describe.skipIf(!hasRealData)("real conversations that a guard drops messages of", () => {
	it.each(folders)("%s keep every text that a person wrote", async (folder) => {
		for (const name of chosenFiles(readdirSync(join(root, folder)))) {
			const document: unknown = JSON.parse(readFileSync(join(root, folder, name), "utf8"));
			const source = readConversation(document, "auto");
			const { tokens } = measure(source.transcript, { countTokens, messageOverhead: 4 }).total;
			let conversation = document;
			for (const share of [2, 3]) {
				const contextWindow = Math.ceil(tokens / share);
				const outcome = await guardConversation({ conversation, policy: dropping, contextWindow });
				expect(outcome.error, `${name} at 1/${share}`).toBeUndefined();
				conversation = outcome.conversation;
				const said = saidIn(conversation);
				for (const text of [...usersTexts(source).flat(), ...plainTexts(document)]) {
					expect(said.includes(text), `${name} at 1/${share}: ${text.length}`).toBe(true);
				}
			}
		}
	});
});

/** The conversation grows by a sixth, is compacted until nothing changes, and so on. */
async function compactedInRounds(document: unknown) {
	const { located, transcript } = readConversation(document, "auto");
	const records = located.messages;
	const depth = located.base.length;
	const cuts = new Set(records.map((_, index) => index));
	for (const { messages } of groupMessages(transcript, pairResults(transcript))) {
		const places = messages.flatMap(
			(index) => transcript.messages[index]?.paths.map((path) => Number(path[depth])) ?? [],
		);
		for (let at = Math.min(...places) + 1; at <= Math.max(...places); at += 1) cuts.delete(at);
	}
	const starts = Array.from({ length: rounds }, (_, round) => {
		const wanted = Math.floor((records.length * round) / rounds);
		return round === 0 ? 0 : ([...cuts].find((at) => at >= wanted) ?? records.length);
	});
	let kept: readonly unknown[] = [];
	let summarised = 0;
	let after = document;
	for (const [round, start] of starts.entries()) {
		const next = records.slice(start, starts[round + 1] ?? records.length);
		if (next.length === 0) continue;
		after = withRecords(document, located.base, [...kept, ...next]);
		for (let step = 0; step < 3; step += 1) {
			const outcome = await compactConversation({
				conversation: after,
				policy,
				strategy: { kind: "built_in", name: "hiding-then-summary" },
				answer: { kind: "summariser", summariser: standInSummariser("## Task\nGo on.") },
				force: true,
			});
			expect(outcome.error).toBeUndefined();
			after = outcome.conversation;
			if (outcome.report.result === "summarised") summarised += 1;
			if (outcome.report.result === "unchanged") break;
		}
		kept = readConversation(after, "auto").located.messages;
	}
	return { after, summarised };
}

function withRecords(document: unknown, path: readonly (string | number)[], replacement: readonly unknown[]): unknown {
	const size = { chars: 0, tokens: 0 };
	const edit = { kind: "replace", reason: "relink", message: -1, before: size, after: size } as const;
	return applyPlan(document, [{ ...edit, path, replacement }]);
}

function saidIn(document: unknown): string {
	const { messages } = readConversation(document, "auto").transcript;
	return messages.flatMap(({ role, counted }) => (role === "user" ? counted : [])).join("\n\n");
}

/** Texts of user messages without any mark of a host, found without the code that is tested. */
function plainTexts(document: unknown): string[] {
	const { located, transcript } = readConversation(document, "auto");
	const recordOf = ({ paths: [path = []] }: Message) => located.messages[Number(path[located.base.length])];
	return transcript.messages
		.filter(
			({ role, sent, calls, results }) => role === "user" && sent !== false && calls.length + results.length === 0,
		)
		.filter((message) => (recordOf(message) as { readonly isMeta?: boolean }).isMeta !== true)
		.flatMap(({ counted }) => counted)
		.filter((text) => /^[\p{L}\p{N}]/u.test(text) && !/[<>]/.test(text))
		.filter((text) => !/^(?:This session is being continued|Caveat: )/.test(text))
		.map((text) => text.trim());
}
