import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { compact } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";
import { assistant, openaiMessages, toolTurn, user } from "../support/script.ts";
import { standInSummariser } from "../support/stand-in-summariser.ts";

const policy = { locale: "en" } as const;

describe("a conversation with very little between the task and the last messages", () => {
	const conversation = openaiMessages(user("Go."), toolTurn("a", "ok"), assistant("Done."), user("Thanks."));
	const options = { policy, strategy: "llm-summary", force: true } as const;

	it("stays unchanged, and no model is asked for a summary that could not be shorter", async () => {
		const summariser = standInSummariser();
		for (const given of [{ summariser }, {}]) {
			const outcome = await compact(conversation, { ...options, ...given });
			expect(outcome.conversation).toBe(conversation);
			expect(outcome.request).toBeUndefined();
			expect(outcome.report).toMatchObject({ result: "unchanged", changed: false });
		}
		expect(summariser.requests).toEqual([]);
	});

	it("is summarised from about a hundred tokens on", async () => {
		const longer = conversation.with(2, { ...conversation[2], content: outputOf("a", 15) });
		const { report } = await compact(longer, { ...options, summariser: standInSummariser() });
		expect(report.result).toBe("summarised");
	});

	it("accepts a summary from the caller though compaction is not due", async () => {
		const longer = conversation.with(2, { ...conversation[2], content: outputOf("a", 15) });
		const given = { policy, contextWindow: 100_000, reserveTokens: 0 };
		const { report: before } = await compact(longer, given);
		expect(before).toMatchObject({ trigger: "not_due", result: "unchanged" });
		const { report } = await compact(longer, { ...given, summary: "Read a." });
		expect(report).toMatchObject({ trigger: "forced", result: "summarised" });
	});

	it("refuses a summary from the caller that is not shorter", async () => {
		const refused = compact(conversation, { ...options, summary: "Read a." });
		await expect(refused).rejects.toMatchObject({ code: "summary_refused" });
	});
});

describe("a session that was compacted before", () => {
	const record = (uuid: string, parentUuid: string | null, role: string, content: unknown, more = {}) => ({
		type: role,
		uuid,
		parentUuid,
		sessionId: "s",
		message: { role, content },
		...more,
	});
	const turns = (names: string, parent: string, lines: number) =>
		Array.from(names).flatMap((name, index) => [
			record(`a-${name}`, index ? `r-${names[index - 1]}` : parent, "assistant", [
				{ type: "tool_use", id: name, name: "Bash", input: {} },
			]),
			record(`r-${name}`, `a-${name}`, "user", [
				{ type: "tool_result", tool_use_id: name, content: outputOf(name, lines) },
			]),
		]);
	const session = [
		record("u0", null, "user", "Go."),
		...turns("abcdefgh", "u0", 40),
		{ type: "system", subtype: "compact_boundary", uuid: "b", parentUuid: null, logicalParentUuid: "r-h" },
		record("s", "b", "user", "So far: listings.", { isCompactSummary: true }),
		...turns("uvwxy", "s", 30),
	];

	it("has only unsent results left to hide, so it is summarised", async () => {
		const { transcript } = readConversation(session);
		expect(transcript.messages.some(({ sent }) => sent === false)).toBe(true);
		const summariser = standInSummariser();
		const outcome = await compact(session, { policy, summariser, force: true });
		expect(outcome.error).toBeUndefined();
		expect(outcome.report.result).toBe("summarised");
		const hidden = await compact(session, { policy, strategy: "tool-result-hiding", force: true });
		expect(hidden.conversation).toBe(session);
	});
});
