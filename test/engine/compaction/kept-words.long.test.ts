import { afterAll, describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { compactConversation } from "../../../src/operations/compact.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { isWhole } from "../../support/breadth.ts";
import { policyOf } from "../../support/policy-of.ts";
import { standInSummariser } from "../../support/stand-in-summariser.ts";
import {
	documentOf,
	formatNames,
	messagesOf,
	type RuledConversation,
	roundOf,
	ruledConversations,
} from "./ruled-conversations.ts";

const counted = [1, 3, 6];

/** In all languages; `npm run test:all` takes all sixty. */
const conversations = ruledConversations.filter((_, at) => isWhole || at % 8 === 0);

/** By row and round, the rules that are kept and those that were stated. */
const table = new Map<string, Map<number, { kept: number; stated: number }>>();

afterAll(() => {
	const share = ({ kept, stated }: { kept: number; stated: number }) => `${kept} of ${stated}`.padEnd(12);
	const rows = Array.from(table, ([name, rounds]) => `${name.padEnd(34)}${[...rounds.values()].map(share).join("")}`);
	const heading = `${"rules kept after … rounds".padEnd(34)}${counted.map((round) => String(round).padEnd(12)).join("")}`;
	process.stdout.write(`${[heading, ...rows].join("\n")}\n`);
});

const forgetful = () => ({ kind: "summariser", summariser: standInSummariser("## Task\nGo on.") }) as const;

type FormatName = (typeof formatNames)[number];

/** Six rounds, each compacted until nothing changes; yields the conversation after each. */
async function* roundsOf(
	format: FormatName,
	{ locale, written }: RuledConversation,
	compaction: NonNullable<PolicyLayer["compaction"]>,
) {
	const policy = policyOf({ locale, guard: { pin_task: false }, compaction });
	let document = documentOf(format, []);
	for (const [round, texts] of written.entries()) {
		document = documentOf(format, [...messagesOf(format, document), ...roundOf(format, round, texts)]);
		for (let step = 0; step < 3; step += 1) {
			const outcome = await compactConversation({
				conversation: document,
				policy,
				strategy: { kind: "built_in", name: "hiding-then-summary" },
				answer: forgetful(),
				force: true,
			});
			expect(outcome.error).toBeUndefined();
			document = outcome.conversation;
			if (outcome.report.result === "unchanged") break;
			if (outcome.report.result === "summarised")
				expect(outcome.report.tokens.after).toBeLessThan(outcome.report.tokens.before);
		}
		yield { round, said: saidIn(document), document };
	}
}

/** What stands in the user's messages. */
function saidIn(document: unknown): string {
	const { messages } = readConversation(document, "auto").transcript;
	return messages.flatMap(({ role, counted }) => (role === "user" ? counted : [])).join("\n\n");
}

function count(row: string, round: number, rules: readonly string[], said: string): void {
	const rounds = table.get(row) ?? new Map(counted.map((one) => [one, { kept: 0, stated: 0 }]));
	table.set(row, rounds);
	const cell = rounds.get(round);
	if (!cell) return;
	cell.stated += rules.length;
	cell.kept += rules.filter((rule) => said.includes(rule)).length;
}

describe.each(formatNames)("conversations in %s, and a model that forgets", (format) => {
	it("keep every text word for word and in order", async () => {
		for (const conversation of conversations) {
			for await (const { round, said } of roundsOf(format, conversation, {})) {
				count(format, round + 1, conversation.rules.slice(0, round + 1).flat(), said);
				expectInOrder(said, conversation.written.slice(0, round + 1).flat());
			}
		}
	});

	it("keep every rule past the ceiling, and its revocation after it", async () => {
		for (const conversation of conversations) {
			let last = "";
			for await (const { round, said } of roundsOf(format, conversation, { keep_user_tokens: 100 })) {
				const stated = conversation.rules.slice(0, round + 1).flat();
				count(`${format}, ceiling of 100`, round + 1, stated, said);
				expectInOrder(said, stated);
				const all = conversation.written.slice(0, round + 1).flat();
				expectInOrder(said, [...all.slice(0, 1), ...all.slice(-3)]);
				last = said;
			}
			// There each summary stays as a part of the first message, with a ceiling of its own.
			if (format === "gemini" || format === "bedrock") continue;
			expect(last).toMatch(/\[… \d+ /);
			expect(last).not.toContain(conversation.written[1]?.[0]);
		}
	});
});

it("without it a summary loses the rules", async () => {
	for (const conversation of ruledConversations.slice(0, 20)) {
		for await (const { round, said } of roundsOf("openai-chat", conversation, { keep_user_text: false })) {
			count("openai-chat, not kept", round + 1, conversation.rules.slice(0, round + 1).flat(), said);
		}
	}
	expect(table.get("openai-chat, not kept")?.get(6)?.kept).toBe(0);
});

function expectInOrder(said: string, texts: readonly string[]): void {
	let from = 0;
	for (const text of texts) {
		const at = said.indexOf(text, from);
		expect(at, text.slice(0, 60)).toBeGreaterThanOrEqual(from);
		from = at;
	}
}

describe.each(formatNames)("successive guards in %s that drop", (format) => {
	it("keep every text word for word, or its rules past the ceiling", async () => {
		for (const [at, conversation] of ruledConversations.entries()) {
			if (at % 4 > 0) continue;
			const most = at % 8 === 0 ? 100_000 : 100;
			const policy = policyOf({
				preset: "balanced",
				locale: conversation.locale,
				compaction: { keep_user_tokens: most },
				guard: { ladder: ["truncate", "drop"], reserve_tokens: 0 },
			});
			let document = documentOf(format, []);
			let dropped = 0;
			for (const [round, texts] of conversation.written.entries()) {
				const messages = [...messagesOf(format, document), ...roundOf(format, round, texts)];
				const contextWindow = 2_400 + 600 * round;
				const outcome = await guardConversation({ conversation: documentOf(format, messages), policy, contextWindow });
				expect(outcome.error).toBeUndefined();
				document = outcome.conversation;
				dropped += outcome.report.dropped_messages;
				const said = saidIn(document);
				expectInOrder(said, conversation.rules.slice(0, round + 1).flat());
				if (most === 100) expect(outcome.report.fits).toBe(true);
				if (most > 100) expectInOrder(said, conversation.written.slice(0, round + 1).flat());
			}
			expect(dropped).toBeGreaterThan(10);
		}
	});
});

it("a custom strategy that loses pinned words is refused", async () => {
	const conversation = documentOf("openai-chat", roundOf("openai-chat", 0, ["Never push.", "Go on."]));
	const forget = { compact: ({ history }: { readonly history: readonly unknown[] }) => history.slice(1) };
	const compact = (keep_user_text: boolean | "summaries") =>
		compactConversation({
			conversation,
			policy: policyOf({ compaction: { keep_user_text } }),
			strategy: { kind: "external", name: "forget", strategy: forget },
			answer: { kind: "none" },
			force: true,
		});
	const { error, conversation: after } = await compact(true);
	expect(error).toMatchObject({ code: "strategy_failed", message: expect.stringContaining("users_words_kept") });
	expect(after).toBe(conversation);
	expect((await compact("summaries")).error).toBeUndefined();
});
