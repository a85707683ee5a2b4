import { describe, expect, it } from "vitest";
import { openArchive } from "../../src/index.ts";
import { rescueConversation } from "../../src/operations/rescue.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const policy = policyOf({ preset: "balanced" });
const recordsOf = (text: string) =>
	text
		.split("\n")
		.filter((line) => line !== "")
		.map((line) => JSON.parse(line));
const session = recordsOf(claudeCodeSession(20));

describe("rescueConversation", () => {
	it("masks before it drops, archives removed parts, and reaches the share of the window", async () => {
		const archive = await openArchive({ where: "memory" });
		const { report, conversation } = await rescueConversation({
			conversation: session,
			policy,
			archive,
			contextWindow: 16_000,
			target: 0.5,
		});
		expect(report).toMatchObject({ fits: true, budget_tokens: 8_000, dropped_messages: 0 });
		expect(report.masked_tool_results).toBeGreaterThan(5);
		const refs = JSON.stringify(conversation).match(/#\w+\]/g) ?? [];
		expect(refs.length).toBe(report.masked_tool_results);
		await archive?.close();
	});

	it("drops where that is not enough, and never a call without its result", async () => {
		const texts = agentConversation(30).map((message) =>
			message.role === "assistant"
				? { ...message, content: `I look further. ${"Because of this. ".repeat(60)}` }
				: message,
		);
		const { report, conversation } = await rescueConversation({
			conversation: texts,
			policy,
			contextWindow: 8_000,
			target: 0.5,
		});
		expect(report.fits).toBe(true);
		expect(report.dropped_messages).toBeGreaterThan(0);
		expect(report.masked_tool_results).toBeGreaterThan(0);
		const left = conversation as { tool_calls?: { id: string }[]; tool_call_id?: string }[];
		const calls = left.flatMap(({ tool_calls: made }) => made?.map(({ id }) => id) ?? []);
		expect(left.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(calls);
	});

	it("counts by the usage that the session recorded", async () => {
		const usage = { input_tokens: 60_000, output_tokens: 5 };
		const used = session.map((record, index) =>
			index === session.length - 2 ? { ...record, message: { ...record.message, usage } } : record,
		);
		const rescue = (conversation: unknown) => rescueConversation({ conversation, policy, target: 0.2 });
		const [plain, counted] = [await rescue(session), await rescue(used)];
		expect(plain.report).toMatchObject({ context_window: 200_000, fits: true, changed: false });
		expect(counted.report.tokens.before).toBeGreaterThan(55_000);
		expect(counted.report).toMatchObject({ fits: true, changed: true, method: "calibrated" });
		expect(counted.report.tokens.after).toBeLessThan(40_000);
	});

	it("counts the text where a proxy sent less than the session holds", async () => {
		const assistants = session.flatMap((record, index) => (record.type === "assistant" ? [index] : []));
		const first = 6_000;
		/** What is billed if only every call after the tenth is sent masked. */
		const usedBy = (sentOf: (call: number) => number) =>
			session.map((record, index) => {
				const call = assistants.indexOf(index);
				const usage = { input_tokens: sentOf(call), output_tokens: 5 };
				return call === -1 ? record : { ...record, message: { ...record.message, usage } };
			});
		const sizes = async (conversation: unknown) =>
			(await rescueConversation({ conversation, policy, target: 0.5, contextWindow: 200_000 })).report.tokens.before;
		const text = (await sizes(session)) / assistants.length;
		const whole = await sizes(usedBy((call) => Math.round(first + call * text)));
		const masked = await sizes(usedBy((call) => Math.round(first + Math.min(call, 10) * text * (call > 10 ? 0.3 : 1))));
		expect(whole).toBeGreaterThan(first + assistants.length * text * 0.9);
		expect(masked / whole).toBeGreaterThan(0.8);
		expect(masked / whole).toBeLessThan(1.25);
		const fromStart = await sizes(usedBy((call) => Math.round(500 + call * 20)));
		expect(fromStart).toBeGreaterThan(assistants.length * text * 0.9);
	});

	it("counts a result once in the usage that Gemini CLI records twice", async () => {
		const result = (id: string) => [
			{ functionResponse: { id, name: "read_file", response: { output: outputOf(id, 80) } } },
		];
		const answer = (id: string, input: number) => ({
			id: `g${id}`,
			type: "gemini",
			content: "I look.",
			tokens: { input, cached: 0 },
			toolCalls: [{ id, name: "read_file", args: {}, result: result(id) }],
		});
		const chat = [{ id: "u", type: "user", content: "Look." }].flatMap((user) => [
			user,
			...Array.from({ length: 20 }, (_, index) => [
				answer(`c${index}`, 10 + 900 * index),
				{ id: `r${index}`, type: "user", content: result(`c${index}`) },
			]).flat(),
		]);
		const { report } = await rescueConversation({ conversation: chat, policy, contextWindow: 40_000, target: 0.5 });
		// 20 results of 900 tokens, twice.
		expect(report.tokens.before).toBeGreaterThan(33_000);
		expect(report).toMatchObject({ fits: true, changed: true });
	});

	it("says that it does not fit, and needs a window", async () => {
		const { report } = await rescueConversation({ conversation: session, policy, contextWindow: 300, target: 0.5 });
		expect(report.fits).toBe(false);
		const nameless = session.map(({ message, ...record }) => ({
			...record,
			message: { ...message, model: undefined },
		}));
		await expect(rescueConversation({ conversation: nameless, policy, target: 0.5 })).rejects.toMatchObject({
			code: "context_window_unknown",
		});
	});
});
