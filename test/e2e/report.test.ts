import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";
import { type ContextReport, reportContext } from "../../src/operations/report.ts";
import { contextText } from "../../src/operations/report-text.ts";
import { workingConversation } from "../operations/working-conversation.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { stdioSession } from "../support/stdio-session.ts";

interface ReportAnswer {
	readonly report: Readonly<Record<string, unknown>>;
	readonly context: ContextReport;
}

function answerIn({ structuredContent, isError, content }: CallToolResult): ReportAnswer {
	expect(isError, JSON.stringify(content)).toBeFalsy();
	return structuredContent as unknown as ReportAnswer;
}

const conversation = workingConversation();

describe("guard_context with a report", () => {
	it("reports the contents of the window with its result, like the library", async () => {
		const session = await stdioSession();
		await session.client.listTools();
		const given = { messages: conversation, context_window: 12_000, reserve_tokens: 1_000 };
		const { report, context } = answerIn(await session.call("guard_context", { ...given, respond_with: "report" }));
		const own = await reportContext({
			conversation,
			layers: [],
			contextWindow: 12_000,
			reserveTokens: 1_000,
			originals: "not_archived",
		});
		expect(context).toEqual(JSON.parse(JSON.stringify(own)));
		expect(context.tokens).toBe((report.tokens as { before: number }).before);
		expect(context.budget_tokens).toBe(report.budget_tokens);
		// What was done is the same, whatever is answered.
		const whole = answerIn(await session.call("guard_context", given));
		expect(whole.report).toEqual(report);
		expect(whole).not.toHaveProperty("context");
	});

	it("repeats both in its text, for hosts that show only text to their model", async () => {
		const session = await stdioSession();
		const given = { messages: conversation, context_window: 12_000, respond_with: "report" };
		const answer = await session.call("guard_context", given);
		const { report, context } = answerIn(answer);
		const text = (answer.content[0] as { text: string }).text;
		expect(text).toBe(`${contextText(context, { columns: 100, bars: "none" })}\n${JSON.stringify({ report })}`);
		expect(text).toMatch(
			/^\d[\d ]* tokens, 19 messages, 8 tool turns\ntokens counted in o200k_base\n\d+\.\d % of a window of 12 000; budget 3 808, /,
		);
		expect(text.length).toBeLessThan(6_000);
	});

	it("uses the policy of the call, and applies each preset over it", async () => {
		const session = await stdioSession({ parameters: ["--set", "guard.reserve_tokens=2000"] });
		const given = { messages: conversation, context_window: 12_000, respond_with: "report" };
		const budget = async (more: object) =>
			answerIn(await session.call("guard_context", { ...given, ...more })).context.budget_tokens;
		expect(await budget({})).toBe(10_000);
		expect(await budget({ policy: { guard: { reserve_tokens: 3_000 } } })).toBe(9_000);
		const { context } = answerIn(
			await session.call("guard_context", { ...given, policy: { preset: "context-trim", mask: { window_turns: 2 } } }),
		);
		expect(context.budget_tokens).toBe(7_600);
		const hiding = context.presets.find(({ preset }) => preset === "tool-result-hiding");
		expect(hiding?.masked).toBeGreaterThan(2);
	});

	it("finds the model of a session, so that the prompt needs only a path", async () => {
		const session = await stdioSession();
		const records = claudeCodeSession();
		await writeFile(join(session.folder, "session.jsonl"), records.map((one) => JSON.stringify(one)).join("\n"));
		const given = { path: "session.jsonl", respond_with: "report" };
		const { report, context } = answerIn(await session.call("guard_context", given));
		expect(context).toMatchObject({ model: "claude-sonnet-4-5", method: "estimated", context_window: 200_000 });
		expect(report).toMatchObject({ fits: true, context_window: 200_000 });
		expect((report.tokens as { before: number }).before).toBe(context.tokens);
		const unknown = await session.call("guard_context", { messages: conversation, respond_with: "report" });
		expect(unknown).toMatchObject({
			isError: true,
			content: [{ text: expect.stringMatching(/^\[context_window_unknown/) }],
		});
	});

	it("contains no text of the conversation, and neither do its errors", async () => {
		const session = await stdioSession();
		const given = { messages: agentConversation(12), context_window: 20_000, respond_with: "report" };
		expect(JSON.stringify(await session.call("guard_context", given))).not.toContain(secret);
		const refused = await session.call("guard_context", { ...given, messages: [{ note: secret }] });
		expect(refused.isError).toBe(true);
		expect(JSON.stringify(refused)).not.toContain(secret);
	});
});

/** The fixture as Claude Code records it. */
function claudeCodeSession(): object[] {
	const { messages } = workingConversation("anthropic-messages");
	return messages.map((message, index) => ({
		type: message.role,
		uuid: `record-${index}`,
		parentUuid: index === 0 ? null : `record-${index - 1}`,
		sessionId: "session",
		isSidechain: false,
		message: message.role === "assistant" ? { ...message, type: "message", model: "claude-sonnet-4-5" } : message,
	}));
}
