import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import { guardWithCompaction } from "../../src/operations/guard-with-compaction.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user } from "../support/script.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const turns = Array.from({ length: 6 }, (_, index) => toolTurn(`c${index}`, outputOf(`${index}`, 30)));
const document = openaiMessages(user("Go."), turns.flat(), assistant("Done."));

describe("a guard that may compact first", () => {
	const guarded = (guard: PolicyLayer["guard"]) =>
		guardWithCompaction({
			conversation: document,
			policy: policyOf({ guard: { reserve_tokens: 0, ...guard } }),
			contextWindow: 1e6,
			compaction: async () => ({
				strategy: { kind: "built_in", name: "llm-summary" },
				answer: { kind: "summariser", summariser: standInSummariser() },
			}),
		});

	it.each<[string, PolicyLayer["guard"]]>([
		["is turned off", { enabled: false, auto_compact: true, max_messages: 1 }],
		["does not compact", { auto_compact: false, max_messages: 1 }],
		["has no limit of messages", { auto_compact: true }],
		["has a limit above the messages", { auto_compact: true, max_messages: document.length + 1 }],
	])("leaves a small conversation unchanged if it %s", async (_, guard) => {
		const { report, conversation } = await guarded(guard);
		expect(report).not.toHaveProperty("compaction");
		expect(conversation).toBe(document);
	});

	it("compacts at the limit", async () => {
		const { report } = await guarded({ auto_compact: true, max_messages: document.length });
		expect(report.compaction).toMatchObject({ strategy: "llm-summary", result: "summarised", summary: { parts: 1 } });
		expect(report.compaction).not.toHaveProperty("request");
	});

	it("refuses a budget of nothing before a model is asked", async () => {
		const summariser = standInSummariser();
		const request = guardWithCompaction({
			conversation: document,
			policy: policyOf({ guard: { auto_compact: true, max_messages: 1, reserve_tokens: 1_000 } }),
			contextWindow: 1_000,
			compaction: async () => ({
				strategy: { kind: "built_in", name: "llm-summary" },
				answer: { kind: "summariser", summariser },
			}),
		});
		await expect(request).rejects.toMatchObject({ code: "no_budget" });
		expect(summariser.requests).toEqual([]);
	});

	it("asks the caller for a summary, and guards the whole conversation until then", async () => {
		const { report, conversation } = await guardWithCompaction({
			conversation: document,
			policy: policyOf({ guard: { auto_compact: true, max_messages: 1 }, compaction: { keep_last_messages: 1 } }),
			contextWindow: 1e6,
			compaction: async () => ({ strategy: { kind: "built_in", name: "llm-summary" }, answer: { kind: "caller" } }),
		});
		expect(conversation).toBe(document);
		expect(report.compaction).toMatchObject({
			strategy: "llm-summary",
			result: "summary_requested",
			request: { messages: { first: 1, last: document.length - 2 } },
		});
		expect(report.compaction).not.toHaveProperty("summary");
	});

	it("passes on an error that is not a refusal", async () => {
		const mistake = new TypeError("A mistake.");
		const request = guardWithCompaction({
			conversation: document,
			policy: policyOf({ guard: { auto_compact: true, max_messages: 1 } }),
			contextWindow: 1e6,
			compaction: () => Promise.reject(mistake),
		});
		await expect(request).rejects.toBe(mistake);
	});
});
