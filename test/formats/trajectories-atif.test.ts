import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { atif } from "../../src/formats/trajectories.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";

const masking = policyOf({ mask: { window_turns: 1 } });
const step = (number: number, given: object) => ({ step_id: number, source: "agent", message: "", ...given });
const call = (id: string, name = "bash_command") => ({
	tool_call_id: id,
	function_name: name,
	arguments: { keystrokes: "ls\n" },
});
const trajectory = (steps: readonly object[]) => ({
	schema_version: "ATIF-v1.6",
	session_id: "s",
	agent: { name: "terminus-2", version: "2", tool_definitions: [{ type: "function" }] },
	steps: [{ step_id: 1, timestamp: "2026-01-02T03:04:05Z", source: "user", message: "List the files." }, ...steps],
	final_metrics: { total_steps: steps.length + 1 },
});

describe("trajectories of Harbor", () => {
	it("reads a step as an answer with its thoughts, its calls and their results", () => {
		const one = step(2, {
			message: "I look.",
			reasoning_content: "Hm.",
			tool_calls: [call("a"), call("b", "read")],
			observation: {
				results: [
					{ source_call_id: "b", content: "two" },
					{ source_call_id: "a", content: "one" },
				],
			},
		});
		const { format, transcript } = readConversation(trajectory([one]));
		expect(format).toBe(atif);
		expect(transcript.messages[0]).toMatchObject({ role: "user", time: Date.parse("2026-01-02T03:04:05Z") });
		expect(transcript.messages[1]).toMatchObject({
			role: "assistant",
			counted: ["Hm.", "I look.", "bash_command", '{"keystrokes":"ls\\n"}', "read", '{"keystrokes":"ls\\n"}'],
			calls: [
				{ id: "a", name: "bash_command" },
				{ id: "b", name: "read" },
			],
			results: [
				{ callId: "b", texts: [{ path: ["steps", 1, "observation", "results", 0, "content"], text: "two" }] },
				{ callId: "a", texts: [{ path: ["steps", 1, "observation", "results", 1, "content"], text: "one" }] },
			],
		});
	});

	it("masks the terminal output of all calls of a step, and of unreadable calls", async () => {
		const shown = (text: string) => ({ results: [{ content: text }] });
		const text = JSON.stringify(
			trajectory([
				step(2, { tool_calls: [call("c1"), call("c2")], observation: shown(outputOf("a")) }),
				step(3, { message: "{broken", observation: shown(outputOf("b")) }),
				step(4, { tool_calls: [call("c3")], observation: shown(outputOf("c")) }),
			]),
			null,
			2,
		);
		const { outcome, masked, restored } = await thereAndBack(text, masking);
		expect(outcome.report).toMatchObject({ format: "atif", tool_turns: 3, masked_tool_results: 2 });
		expect(masked).toContain("outil=bash_command");
		expect(masked).toContain(JSON.stringify(outputOf("c")));
		expect(restored).toBe(text);
	});

	it("masks the result that its program had, with the one of the trajectory", async () => {
		const kept = (id: string) => ({
			tool_result_metadata: { raw_tool_result: { content: outputOf(id), is_error: false } },
		});
		const observed = (id: string, more: object) => ({
			results: [{ source_call_id: id, content: outputOf(id), ...more }],
		});
		const text = JSON.stringify(
			trajectory([
				step(2, { tool_calls: [call("a")], observation: observed("a", {}), extra: kept("a") }),
				step(3, { tool_calls: [call("b")], observation: observed("b", { extra: kept("b") }) }),
				step(4, { tool_calls: [call("c")], observation: observed("c", {}) }),
			]),
		);
		const { outcome, masked, restored } = await thereAndBack(text, masking);
		expect(outcome.report.masked_tool_results).toBe(2);
		expect(masked).not.toContain(JSON.stringify(outputOf("a")));
		expect(masked).not.toContain(JSON.stringify(outputOf("b")));
		expect(restored).toBe(text);
	});

	it("pairs results without ids by their place, and counts observations without a call", () => {
		const { messages } = readConversation(
			trajectory([
				step(2, {
					tool_calls: [call("a"), call("b")],
					observation: { results: [{ content: "1" }, { content: null }] },
				}),
				{ step_id: 3, source: "system", message: "Compacted.", observation: { results: [{ content: "Summary" }] } },
			]),
		).transcript;
		expect(messages[1]?.results.map(({ callId }) => callId)).toEqual(["a", "b"]);
		expect(messages[2]).toMatchObject({ role: "system", counted: ["Compacted.", "Summary"], results: [] });
	});
});
