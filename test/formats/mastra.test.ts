import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { mastra } from "../../src/formats/mastra.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";

const invocation = (id: string) => ({
	state: "result",
	toolCallId: id,
	toolName: "read_file",
	args: { path: `${id}.txt` },
	result: outputOf(id),
});
const part = (id: string) => ({ type: "tool-invocation", toolInvocation: invocation(id) });
const stored = (role: string, parts: readonly object[], more: object = {}) => ({
	id: `${role}-1`,
	role,
	threadId: "thread-1",
	resourceId: "resource-1",
	createdAt: "2026-01-02T03:04:05.678Z",
	content: { format: 2, parts, ...more },
});
const thread = {
	thread: { id: "thread-1", title: "Files" },
	messages: [
		stored("user", [{ type: "text", text: "Read them." }], { content: "Read them." }),
		stored(
			"assistant",
			[
				{ type: "step-start" },
				{ type: "reasoning", reasoning: "Hm.", details: [{ type: "text", text: "Hm." }] },
				part("a"),
				{ type: "step-start" },
				part("b"),
				{ type: "step-start" },
				{ type: "text", text: "Both are read." },
			],
			{ toolInvocations: [invocation("a"), invocation("b")] },
		),
	],
};

describe("messages of Mastra's storage", () => {
	it("reads each step of an answer as a message, with the time of its record", () => {
		const { format, transcript } = readConversation(thread);
		expect(format).toBe(mastra);
		expect(
			transcript.messages.map(({ role, calls, results, time }) => [role, calls.length, results.length, time]),
		).toEqual(
			[
				["user", 0, 0],
				["assistant", 1, 1],
				["assistant", 1, 1],
				["assistant", 0, 0],
			].map((one) => [...one, Date.parse("2026-01-02T03:04:05.678Z")]),
		);
		expect(transcript.messages.map(({ paths: [path] }) => path)).toEqual([
			["messages", 0],
			["messages", 1, "content", "parts", 0],
			["messages", 1, "content", "parts", 3],
			["messages", 1, "content", "parts", 5],
		]);
	});

	it("masks a result and its copy in `toolInvocations`, and restores every byte", async () => {
		const text = JSON.stringify(thread, null, "\t");
		const policy = policyOf({ mask: { window_turns: 1 } });
		const { outcome, masked, restored } = await thereAndBack(text, policy);
		expect(outcome.report.masked_tool_results).toBe(1);
		expect(masked.split("[Observation masquée")).toHaveLength(3);
		expect(masked).not.toContain(JSON.stringify(outputOf("a")));
		expect(masked.split(JSON.stringify(outputOf("b")))).toHaveLength(3);
		expect(restored).toBe(text);
	});

	it("refuses rows of its tables, which hold JSON as text, and says how to parse them", () => {
		const rows = thread.messages.map(({ content, threadId, ...row }) => ({
			...row,
			thread_id: threadId,
			content: JSON.stringify(content),
		}));
		expect(() => readConversation(rows)).toThrow(/got texts of JSON.*Parse them first: jq/);
		const parsed = rows.map((row) => ({ ...row, content: JSON.parse(row.content) }));
		expect(readConversation(parsed).format).toBe(mastra);
		const quoting = [{ role: "user", content: rows[0]?.content }];
		expect(readConversation(quoting).transcript.messages).toHaveLength(1);
	});

	describe("what a tool's `toModelOutput` made of its result", () => {
		const png = pngOf(800, 600, 3_000);
		const shot = { ...invocation("shot"), result: { text: outputOf("shot"), image: png } };
		const written = (modelOutput: object) => [
			stored("user", [{ type: "text", text: "Look." }]),
			stored(
				"assistant",
				[
					{ type: "tool-invocation", toolInvocation: shot, providerMetadata: { mastra: { modelOutput } } },
					{ type: "step-start" },
					part("b"),
				],
				{ toolInvocations: [shot, invocation("b")] },
			),
		];
		const policy = policyOf({ media: "mask", mask: { window_turns: 1 } });

		it("is sent: it is masked with the result and every copy of it", async () => {
			const messages = written({ type: "text", value: outputOf("shot") });
			const [result] = readConversation(messages).transcript.messages[1]?.results ?? [];
			expect(result?.texts.map(({ text }) => text)).toEqual([outputOf("shot")]);
			const text = JSON.stringify(messages, null, 2);
			const { masked, restored } = await thereAndBack(text, policy);
			expect(masked).not.toContain(JSON.stringify(outputOf("shot")).slice(1, -1));
			expect(restored).toBe(text);
		});

		it("has its images masked, with those of the result", async () => {
			const value = [
				{ type: "text", text: outputOf("shot") },
				{ type: "media", mediaType: "image/png", data: png },
			];
			const text = JSON.stringify(written({ type: "content", value }), null, 2);
			const { masked } = await thereAndBack(text, policy);
			expect(masked).not.toContain(png);
		});
	});
});
