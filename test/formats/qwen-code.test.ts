import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { compact, guard, mask } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";

const record = (index: number, type: string, message: object, fields: object = {}) => ({
	uuid: `q${index}`,
	parentUuid: index === 0 ? null : `q${index - 1}`,
	sessionId: "s",
	timestamp: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
	type,
	message,
	...fields,
});

const turn = (index: number) => {
	const text = outputOf(`o${index}`);
	const response = { id: `c${index}`, name: "run_shell_command", response: { output: text } };
	return [
		record(index, "assistant", {
			role: "model",
			parts: [{ functionCall: { ...response, response: undefined, args: {} } }],
		}),
		record(
			index + 1,
			"tool_result",
			{ role: "user", parts: [{ functionResponse: response }] },
			{ toolCallResult: { callId: `c${index}`, resultDisplay: text } },
		),
	];
};

const session = [
	record(0, "user", { role: "user", parts: [{ text: "Go." }] }),
	...[1, 3, 5, 7].flatMap(turn),
	record(9, "user", { role: "user", parts: [{ text: "Well?" }] }),
];

describe("a session of Qwen Code", () => {
	it("has calls and results in records of their own, with a copy of the shown text", () => {
		const { format, transcript } = readConversation(session);
		expect(format.name).toBe("qwen-code");
		expect(transcript.messages.map(({ role }) => role).slice(0, 3)).toEqual(["user", "assistant", "user"]);
		expect(transcript.messages[2]?.results[0]?.copies).toHaveLength(1);
	});

	it("is masked with the copies", async () => {
		const policy = { mask: { window_turns: 1 } };
		const masked = await mask(session, { policy });
		expect(masked.report.masked_tool_results).toBe(3);
		expect(JSON.stringify(masked.conversation)).not.toContain(outputOf("o1").slice(0, 60));
	});

	it("stays linked after messages are dropped", async () => {
		const policy = { guard: { ladder: ["drop" as const], reserve_tokens: 0 } };
		const { conversation } = await guard(session, { contextWindow: 900, policy });
		const records = conversation as typeof session;
		expect(records.length).toBeLessThan(session.length);
		records.forEach(({ parentUuid }, index) => {
			expect(parentUuid).toBe(index === 0 ? null : records[index - 1]?.uuid);
		});
	});

	it("sends after a compaction the messages of its record and all later ones", async () => {
		const compressedHistory = [
			{ role: "user", parts: [{ text: outputOf("summary") }] },
			{ role: "model", parts: [{ text: outputOf("plan") }] },
		];
		const compaction = record(10, "system", {}, { subtype: "chat_compression", systemPayload: { compressedHistory } });
		const { message, ...note } = compaction;
		const later = [...session, note, record(11, "user", { role: "user", parts: [{ text: "Go on." }] })];
		const { transcript } = readConversation(later);
		const sent = transcript.messages.filter((one) => one.sent !== false);
		expect(sent.map(({ counted }) => counted.join(""))).toEqual([outputOf("summary"), outputOf("plan"), "Go on."]);
		const given = { strategy: "llm-summary" as const, force: true, summary: "In short.", contextWindow: 64_000 };
		const policy = { compaction: { keep_last_messages: 1 } };
		const { conversation, error } = await compact(later, { ...given, policy });
		expect(error).toBeUndefined();
		expect(readConversation(conversation).format.name).toBe("qwen-code");
	});

	it("has notes of any kind between its messages", () => {
		const note = (index: number, type: string, fields: object) => ({
			uuid: `n${index}`,
			sessionId: "s",
			type,
			...fields,
		});
		const noted = [
			note(0, "session_title", { title: outputOf("title") }),
			...session,
			{ ...note(1, "file_history", { files: [outputOf("file")] }), parentUuid: "q9" },
		];
		const { format, transcript } = readConversation(noted);
		expect(format.name).toBe("qwen-code");
		expect(transcript.messages).toHaveLength(session.length);
	});

	it("is not read as a session of Claude Code, nor the other way round", () => {
		const claude = [
			{ type: "user", uuid: "a", parentUuid: null, sessionId: "s", message: { role: "user", content: "Go." } },
		];
		expect(readConversation(claude).format.name).toBe("claude-code");
	});
});
