import { describe, expect, it } from "vitest";
import { managedAgents } from "../../src/formats/anthropic.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const texts = (text: string) => [{ type: "text", text }];
const event = (type: string, more: object = {}) => ({ type, ...more });
const turn = (id: string, call = "agent.tool_use", result = "agent.tool_result", key = "tool_use_id") => [
	event("span.model_request_start"),
	event("agent.thinking"),
	event("agent.message", { content: texts("Let me see.") }),
	event(call, { id, name: "bash", input: { command: "ls" } }),
	event("span.model_request_end", { model_usage: { input_tokens: 10, cache_read_input_tokens: 80 } }),
	event(result, { id: `sevt_r${id}`, [key]: id, content: texts(outputOf(id)), is_error: false }),
];
const opening = event("user.define_outcome", { description: "Look.", rubric: { type: "text", content: "All." } });
const session = [
	event("session.status_running", { id: "sevt_1" }),
	opening,
	...turn("sevt_a"),
	...turn("sevt_b", "agent.mcp_tool_use", "agent.mcp_tool_result", "mcp_tool_use_id"),
	...turn("sevt_c", "agent.custom_tool_use", "user.custom_tool_result", "custom_tool_use_id"),
];

describe("Claude Managed Agents sessions", () => {
	it("reads tools of each kind, and the usage that comes after an answer", () => {
		const { format, transcript } = readConversation(session);
		expect(format).toBe(managedAgents);
		expect(transcript.messages.map(({ role }) => role)).toEqual([
			"user",
			...Array(3).fill(["assistant", "tool"]).flat(),
		]);
		expect(transcript.messages[1]).toMatchObject({
			calls: [{ id: "sevt_a", name: "bash" }],
			usage: { inputTokens: 90 },
		});
		expect(transcript.messages.flatMap(({ results }) => results.map(({ callId }) => callId))).toEqual([
			"sevt_a",
			"sevt_b",
			"sevt_c",
		]);
	});

	it("reads pages of the API, and records that hold an event in `raw`; masks both copies there", async () => {
		expect(readConversation({ data: session, next_page: null }).transcript.messages).toHaveLength(7);
		const records = session.map((raw) => {
			const [first] = "content" in raw ? (raw.content as { text: string }[]) : [];
			return { role: "agent", kind: raw.type.split(".")[1], ...(first ? { content: first.text } : {}), raw };
		});
		expect(readConversation(records).format).toBe(managedAgents);
		const { conversation, report, error } = await maskConversation({ conversation: records, policy: masking });
		expect(error).toBeUndefined();
		expect(report.masked_tool_results).toBe(2);
		expect(JSON.stringify(conversation)).not.toContain(JSON.stringify(outputOf("sevt_a")));
	});

	it("sends nothing from before the last compaction, and masks it as before", async () => {
		const conversation = [...session, event("agent.thread_context_compacted", { id: "sevt_x" }), ...turn("sevt_d")];
		const { messages } = readConversation(conversation).transcript;
		expect(messages.filter(({ sent }) => sent !== false)).toHaveLength(2);
		expect((await maskConversation({ conversation, policy: masking })).report.masked_tool_results).toBe(3);
	});
});
