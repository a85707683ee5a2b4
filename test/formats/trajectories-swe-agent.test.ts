import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { sweAgent } from "../../src/formats/trajectories.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";

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
