import { expect, it, vi } from "vitest";
import { secret } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { outputOf, textOfLength } from "../support/sample-text.ts";
import { openaiMessages, system, toolTurn, user } from "../support/script.ts";
import { type StdioSession, stdioSession } from "../support/stdio-session.ts";

/** One result of 60 000 characters, then old ones enough to be dropped. */
const messages = openaiMessages(
	system("Be careful."),
	user(secret),
	toolTurn("call_0", textOfLength(60_000), "read_log"),
	Array.from({ length: 6 }, (_, turn) => toolTurn(`call_${turn + 1}`, outputOf(`${secret} ${turn}`))).flat(),
);

/** Makes the guard truncate the one and drop the others (docs/strategies.md#ladder); counts the dropped messages. */
async function guard(session: StdioSession): Promise<number> {
	const result = await session.call("guard_context", {
		messages,
		context_window: 2_000,
		reserve_tokens: 200,
		respond_with: "report",
		policy: { preset: "context-guard" },
	});
	const report = result.structuredContent?.report as Record<string, number>;
	expect(report).toMatchObject({ fits: true, truncated_tool_results: expect.any(Number) });
	expect(report.dropped_messages).toBeGreaterThan(2);
	return report.dropped_messages ?? 0;
}

/** Waits until the operator's log ends so: the answer comes through another pipe and may be there first. */
const operatorReads = (session: StdioSession, end: string) =>
	vi.waitFor(() => expect(session.stderr().endsWith(end)).toBe(true), patience);

const dropped = (count: number) =>
	expect.stringMatching(new RegExp(`^Context guard: dropped ${count} old messages \\(estimated \\d+ tokens\\)$`));

it("logs each truncation and the drops at warning, to client and operator (docs/strategies.md#log-lines)", async () => {
	const session = await stdioSession();
	await session.call("guard_context", {
		messages,
		context_window: 128_000,
		policy: { preset: "context-guard" },
	});
	const words = 'Context guard: truncated tool result for "read_log" (60000 → 4040 chars)';
	expect(session.logged).toEqual([
		{
			level: "warning",
			logger: "palimpsest",
			data: { message: words, event: "truncated", tool: "read_log", chars_before: 60_000, chars_after: 4_040 },
		},
	]);
	await operatorReads(session, `palimpsest warning: ${words}\n`);

	session.logged.length = 0;
	const count = await guard(session);
	const last = session.logged.at(-1);
	expect(last).toMatchObject({
		level: "warning",
		data: { event: "dropped", messages: count, message: dropped(count) },
	});
	await operatorReads(session, `palimpsest warning: ${last?.data.message}\n`);
	expect(session.stderr()).not.toContain(secret);
	expect(JSON.stringify(session.logged)).not.toContain(secret);
});

it("reports maskings once the client asks for debug, without changing the operator's log", async () => {
	const session = await stdioSession();
	const mask = () => session.call("mask_conversation", { messages, policy: { mask: { window_turns: 1 } } });
	await mask();
	expect(session.logged).toEqual([]);
	await session.client.setLoggingLevel("debug");
	await mask();
	expect(session.logged).toMatchObject([
		{
			level: "info",
			data: { event: "masked", results: 6, message: expect.stringMatching(/^Masked 6 old tool results/) },
		},
	]);
	await guard(session);
	expect(session.logged.at(-1)).toMatchObject({ level: "warning", data: { event: "dropped" } });
	expect(session.stderr()).not.toContain("Masked");
});

it("logs nothing to a client that asks for errors only, nor to such an operator", async () => {
	const session = await stdioSession({ parameters: ["--set", "log_level=error"] });
	await guard(session);
	expect(session.logged).toEqual([]);
	expect(session.stderr()).toBe("");
	await session.client.setLoggingLevel("warning");
	await guard(session);
	expect(session.logged.length).toBeGreaterThan(0);
	session.logged.length = 0;
	await session.client.setLoggingLevel("error");
	await guard(session);
	expect(session.logged).toEqual([]);
	expect(session.stderr()).toBe("");
});
