import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { atif, browserUse, sweAgent } from "../../src/formats/trajectories.ts";
import { maskConversation } from "../../src/operations/mask.ts";
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

describe("browser use", () => {
	const masking = policyOf({ mask: { window_turns: 1 } });
	const step = (action: readonly object[], result: readonly object[], more: object = {}) => ({
		model_output: { thinking: "Hm.", memory: "Looked.", next_goal: "Look.", action },
		result,
		state: {
			url: "https://example.org/",
			title: "x",
			tabs: [],
			interacted_element: [null],
			screenshot: "A".repeat(2_000),
		},
		metadata: { step_start_time: 1_770_000_000.5, step_end_time: 1_770_000_003, step_number: 1, input_tokens: 9 },
		...more,
	});
	const extracted = (id: string) => ({
		extracted_content: outputOf(id),
		long_term_memory: outputOf(id).slice(0, 200),
		error: null,
	});
	const history = [
		step(
			[{ go_to_url: { url: "https://example.org/" } }, { extract: { query: "x" } }],
			[extracted("a"), extracted("b")],
		),
		step([{ click: { index: 1 }, done: null }], [{ extracted_content: null, error: "No such element." }]),
		step([{ extract: {} }, { extract: {} }, { click: {} }], [extracted("c")]),
		{ model_output: null, result: [{ error: "The browser closed." }], state: {}, metadata: null },
	];

	describe("browser-use histories", () => {
		it("pairs actions and results by their place, and reads errors, times and steps without an answer", () => {
			const { format, transcript } = readConversation({ history });
			expect(format).toBe(browserUse);
			const { messages } = transcript;
			expect(messages.map(({ role, results }) => `${role} ${results.length}`)).toEqual([
				...["assistant 2", "assistant 1", "assistant 1"],
				"user 0",
			]);
			expect(messages[1]?.results).toMatchObject([{ callId: "click#1", isError: true }]);
			expect(messages[2]?.calls.map(({ id }) => id)).toEqual(["extract#1", "extract#2", "click#1"]);
			expect(messages[0]).toMatchObject({ time: 1_770_000_000_500, endTime: 1_770_000_003_000 });
			expect(messages.flatMap(({ counted }) => counted).join()).not.toContain("AAAA");
		});

		it("reads steps of the first versions, with one action and one result", () => {
			const old = (id: string) => ({
				model_output: { action: { extract: {} } },
				result: { extracted_content: outputOf(id) },
			});
			const { messages } = readConversation({ history: [old("a"), old("b")] }).transcript;
			expect(messages[1]?.results).toMatchObject([
				{ callId: "extract#1", texts: [{ path: ["history", 1, "result", "extracted_content"] }] },
			]);
		});

		it("masks an extracted content with its memory, and restores both to the byte", async () => {
			const text = JSON.stringify({ history }, null, 2);
			const { outcome, masked, restored } = await thereAndBack(text, masking);
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.masked_tool_results).toBe(2);
			expect(masked).not.toContain(JSON.stringify(outputOf("a").slice(0, 200)).slice(0, -1));
			expect(restored).toBe(text);
		});
	});
});

describe("swe agent", () => {
	const masking = policyOf({ mask: { window_turns: 1 } });
	const step = (thought: string, action: string, observation: string) => ({
		action,
		observation,
		response: `${thought}\n\`\`\`\n${action}\`\`\``,
		state: '{"open_file": "n/a", "working_dir": "/repo"}\n',
		thought,
	});
	const steps = [
		step("I look around.\n", "find . -name '*.py'\n", outputOf("a")),
		step("I open the first one.\n", "open ./a.py\n", outputOf("b")),
		step("I change it.\n", "edit 1:2\nx = 1\nend_of_edit\n", "[File: /repo/a.py (2 lines total)]"),
	];
	const file = { environment: "swe_main", trajectory: steps, info: { exit_status: "submitted" } };

	describe("a SWE-agent trajectory without a history", () => {
		it("reads a step as an answer with its command and the observation", () => {
			const { format, transcript } = readConversation(file);
			expect(format).toBe(sweAgent);
			expect(transcript.messages[1]).toMatchObject({
				role: "assistant",
				paths: [["trajectory", 1]],
				counted: ["I open the first one.\n", "bash", "open ./a.py\n"],
				calls: [{ name: "bash" }],
				results: [{ texts: [{ path: ["trajectory", 1, "observation"], text: outputOf("b") }] }],
			});
		});

		it("masks observations under every policy for text protocols, and restores every byte", async () => {
			const policy = policyOf({ mask: { window_turns: 1, observations: false } });
			const text = `${JSON.stringify(file, null, 2)}\n`;
			const { outcome, masked, restored } = await thereAndBack(text, policy);
			expect(outcome.report.masked_tool_results).toBe(2);
			const { trajectory } = JSON.parse(masked) as typeof file;
			expect(trajectory).toEqual([
				{ ...steps[0], observation: expect.stringMatching(/^\[Observation masquée.*outil=bash/) },
				{ ...steps[1], observation: expect.stringMatching(/^\[Observation masquée/) },
				steps[2],
			]);
			expect(restored).toBe(text);
		});

		it("reads the same steps as a list", async () => {
			const { report } = await maskConversation({ conversation: steps, policy: masking });
			expect([report.format, report.masked_tool_results]).toEqual(["swe-agent", 2]);
		});

		it("reads the answer where there is no thought, an action without an observation, and one without words", () => {
			const { messages } = readConversation([
				{ ...steps[0], thought: "" },
				{ ...steps[1], observation: null },
				{ ...steps[2], response: "", thought: "" },
				{ action: "", observation: "Your output was not formatted correctly.", response: "Hm.", thought: "Hm." },
				{ action: "", observation: "Exited.", response: "", thought: "" },
			]).transcript;
			expect(messages.map(({ role, calls, results }) => [role, calls.length, results.length])).toEqual([
				["assistant", 1, 1],
				["assistant", 1, 0],
				["assistant", 1, 1],
				["assistant", 1, 1],
				["user", 0, 0],
			]);
			expect(messages[0]?.counted[0]).toBe(steps[0]?.response);
		});
	});
});
