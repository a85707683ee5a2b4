import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { compactConversation } from "../../src/operations/compact.ts";
import type { CompactRequest } from "../../src/operations/compaction-request.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, openaiMessages, system, toolTurn, user } from "../support/script.ts";
import { handover, standInSummariser } from "../support/stand-in-summariser.ts";

const countTokens = await loadCounter("o200k_base");

const given = (summary: string, token?: string) => ({ kind: "given", summary, token }) as const;

const compact = (conversation: unknown, layer: PolicyLayer = {}, more: Partial<CompactRequest> = {}) =>
	compactConversation({
		conversation,
		policy: policyOf({ locale: "en", ...layer }),
		strategy: { kind: "built_in", name: "llm-summary" },
		answer: given(handover),
		force: true,
		...more,
	});

const textsOf = (conversation: unknown) => (conversation as { content: string }[]).map(({ content }) => content);

const rule = "Never touch the folder legacy.";

const conversation = openaiMessages(
	system("S"),
	user("Mend it."),
	toolTurn("a", outputOf("a")),
	user(rule),
	toolTurn("b", outputOf("b")),
	assistant("Done so far."),
	user("Go on."),
	toolTurn("c", outputOf("c")),
	user("And now?"),
);

describe("a summary", () => {
	it("is followed by the words of people that it replaces, and by no others", async () => {
		const { conversation: after, report } = await compact(conversation, {
			compaction: { keep_last_messages: 1, keep_user_text: true },
		});
		const [, joined = ""] = textsOf(after);
		// An answer stays, so that the user does not speak twice in a row.
		expect(textsOf(after)).toEqual(["S", joined, "Done so far.", "And now?"]);
		expect(joined.startsWith("Mend it.\n\n[Summary of")).toBe(true);
		const summary = joined.slice("Mend it.".length);
		expect(summary.indexOf(rule)).toBeGreaterThan(summary.indexOf("Mend the parser."));
		expect(summary.indexOf("Go on.")).toBeGreaterThan(summary.indexOf(rule));
		expect(summary).not.toContain("And now?");
		expect(summary).not.toContain("Mend it.");
		expect(report.summary?.user_texts).toEqual({ kept: 2, cut: 0 });
	});

	it("has no words of people where the policy keeps none, or another strategy's", async () => {
		const keep = (keep_user_text: boolean | "summaries", name: "llm-summary" | "hiding-then-summary") =>
			compact(
				conversation,
				{ compaction: { keep_user_text, keep_last_messages: 1, keep_tool_groups: 9 } },
				{ strategy: { kind: "built_in", name } },
			);
		for (const [keeps, name, isKept] of [
			[false, "llm-summary", false],
			["summaries", "llm-summary", false],
			["summaries", "hiding-then-summary", true],
			[true, "llm-summary", true],
		] as const) {
			const { conversation: after, report } = await keep(keeps, name);
			expect(report.result).toBe("summarised");
			expect([keeps, name, textsOf(after).join().includes(rule)]).toEqual([keeps, name, isKept]);
			expect(report.summary !== undefined && "user_texts" in report.summary).toBe(isKept);
		}
	});

	it("is reported with its messages, its tokens and the lost identifiers", async () => {
		const summariser = standInSummariser();
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const { report, edits } = await compact(
			conversation,
			{ compaction: { keep_last_messages: 1, keep_user_text: true } },
			{ answer: { kind: "summariser", summariser }, archive },
		);
		const { summary } = report;
		const [first] = edits.filter(({ reason }) => reason === "merge");
		expect(summary).toMatchObject({
			by: "stand-in",
			messages: 8,
			parts: 1,
			ref: first?.ref,
			usage: { prompt_tokens: 100, completion_tokens: 10 },
			user_texts: { kept: 2, cut: 0 },
		});
		const joined = String(first?.replacement).slice("Mend it.\n\n".length);
		expect(summary?.tokens.after).toBe(countTokens(joined));
		const added = (first?.after.tokens ?? 0) - (first?.before.tokens ?? 0);
		expect(summary?.tokens.before).toBe(report.tokens.before - report.tokens.after + added);
		expect(Object.keys(summary?.lost_identifiers[0] ?? {})).toEqual(["text", "kind"]);
		expect(summary?.identifiers.found).toBeGreaterThanOrEqual(summary?.identifiers.lost ?? 0);
		expect(summaryKeys(await compact(conversation))).not.toContain("ref");
		expect(summaryKeys(await compact(conversation))).not.toContain("usage");
		expect(summariser.requests).toMatchObject([{ maxTokens: policyOf().compaction.max_summary_tokens }]);
		const ranges = JSON.parse((await archive.get(first?.ref ?? "")).text);
		expect(ranges).toEqual([...conversation.slice(2, 7), ...conversation.slice(8, -1)]);
	});

	it("is asked of the caller with a token, the size and the limit", async () => {
		const layer = { compaction: { keep_last_messages: 1, max_summary_tokens: 234 } };
		const { request, conversation: same } = await compact(conversation, layer, { answer: { kind: "caller" } });
		expect(same).toBe(conversation);
		expect(request).toMatchObject({
			summary_token: expect.stringMatching(/^2-10-[0-9a-f]{12}$/),
			max_summary_tokens: 234,
			messages: { first: 2, last: 10, count: 8 },
		});
		expect(request?.messages.tokens).toBeGreaterThan(countTokens(outputOf("a")) * 3);
		const token = request?.summary_token ?? "";
		const back = (some: string, document: unknown = conversation) =>
			compact(document, layer, { answer: given(handover, some) });
		expect((await back(token)).report.summary).toMatchObject({ by: "caller", messages: 8, parts: 1 });
		const [start, last, digest] = token.split("-");
		for (const wrong of [
			`${start}-${last}-${digest?.toUpperCase()}`,
			`${token}0`,
			` ${token}`,
			`${start}-${last}`,
			"",
		]) {
			await expect(back(wrong)).rejects.toMatchObject({ code: "invalid_argument" });
		}
		for (const wrong of [
			`3-${last}-${digest}`,
			`${start}-9-${digest}`,
			`${start}-${last}-000000000000`,
			`90-99-${digest}`,
		]) {
			await expect(back(wrong)).rejects.toMatchObject({ code: "stale_edit" });
		}
		const changed = conversation.with(10, { ...conversation[10], content: "other" });
		for (const other of [changed, conversation.slice(0, 1)]) {
			await expect(back(token, other)).rejects.toMatchObject({ code: "stale_edit" });
		}
	});

	it("replaces an earlier summary, and the model sees that text as a summary", async () => {
		const layer = { compaction: { keep_last_messages: 1, keep_user_text: false } };
		const once = await compact(conversation, layer);
		const grown = [...(once.conversation as object[]), ...openaiMessages(toolTurn("d", outputOf("d")), user("Next?"))];
		const summariser = standInSummariser("## Task\nAll is well.");
		const twice = await compact(grown, layer, { answer: { kind: "summariser", summariser } });
		expect(
			textsOf(twice.conversation)
				.join()
				.match(/\[Summary of/g),
		).toHaveLength(1);
		expect(summariser.requests[0]?.prompt).toContain("Mend the parser.");
		expect(summariser.requests[0]?.prompt).not.toContain("[Summary of");
	});
});

function summaryKeys({ report }: Awaited<ReturnType<typeof compact>>): string[] {
	return Object.keys(report.summary ?? {});
}

describe("hiding results", () => {
	it("uses the number of groups that a compaction keeps, not the window of masking", async () => {
		const turns = Array.from({ length: 6 }, (_, turn) => toolTurn(`c${turn}`, `Error: ${outputOf(`${turn}`)}`));
		const document = openaiMessages(user("Go."), turns.flat());
		const mask: PolicyLayer["mask"] = {
			...{ enabled: false, window_turns: 1, keep_errors: true, keep_last_k_per_tool: 3 },
			...{ tools: { read_file: "never" }, selection: "use", cadence: "stride" },
		} as const;
		const strategy = { kind: "built_in", name: "tool-result-hiding" } as const;
		const { report } = await compact(
			document,
			{ mask, compaction: { keep_tool_groups: 2 } },
			{ strategy, answer: { kind: "none" } },
		);
		expect(report).toMatchObject({ result: "hidden", masked_tool_results: 4, strategy: "tool-result-hiding" });
		expect("summary" in report).toBe(false);
	});
});

describe("a strategy of one's own", () => {
	const contexts: Record<string, unknown>[] = [];
	const own = (change: (history: readonly unknown[]) => unknown) =>
		compact(
			conversation,
			{ guard: { reserve_tokens: 77 } },
			{
				strategy: {
					kind: "external",
					name: "own",
					strategy: {
						compact: (context) => {
							contexts.push({ ...context });
							return change(context.history) as never;
						},
					},
				},
				answer: { kind: "none" },
				contextWindow: 50_000,
			},
		);

	it("gets the history, its size and the window", async () => {
		const { report } = await own((history) => history.slice(0, 2));
		expect(report).toMatchObject({ result: "rewritten", strategy: "own", context_window: 50_000, reserve_tokens: 77 });
		expect(contexts.at(-1)).toMatchObject({
			history: conversation,
			format: "openai-chat",
			token_count: report.tokens.before,
			max_context_size: 50_000,
			reserved_context_size: 77,
			llm: undefined,
		});
		const unchanged = await own(() => null);
		expect(unchanged.report.result).toBe("unchanged");
		expect(unchanged.conversation).toBe(conversation);
	});

	it.each<[string, () => unknown, RegExp]>([
		["throws a text", () => Promise.reject("so"), /"own" failed.* It threw a string\.$/],
		["throws an error", () => Promise.reject(new RangeError("secret")), /It threw RangeError\.$/],
		["returns a text", () => "no", /It must return messages of the format openai-chat, or null\.$/],
	])("that %s gets an error, and nothing changes", async (_, change, message) => {
		await expect(own(change)).rejects.toMatchObject({
			code: "strategy_failed",
			message: expect.stringMatching(message),
		});
	});
});
