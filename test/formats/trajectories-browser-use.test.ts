import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { browserUse } from "../../src/formats/trajectories.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";

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
	step([{ go_to_url: { url: "https://example.org/" } }, { extract: { query: "x" } }], [extracted("a"), extracted("b")]),
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
