import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { guard, mask } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";

const turn = (id: string) => [
	{
		object: "response",
		id: `r-${id}`,
		model: "gpt-5",
		output: [
			{ type: "reasoning", id: `rs-${id}`, summary: [] },
			{ type: "function_call", call_id: id, name: "bash", arguments: '{"command":"ls"}' },
			{ type: "function_call", call_id: `${id}-2`, name: "bash", arguments: '{"command":"pwd"}' },
		],
		usage: { input_tokens: 900, input_tokens_details: { cached_tokens: 400 }, output_tokens: 20 },
		extra: { timestamp: 1_760_000_000 },
	},
	{ type: "function_call_output", call_id: id, output: outputOf(id) },
	{ type: "function_call_output", call_id: `${id}-2`, output: outputOf(`${id}-2`) },
];
const messages = [
	{ role: "user", content: "Go." },
	...["a", "b", "c"].flatMap(turn),
	{ role: "exit", content: "Done." },
];

describe("whole answers of OpenAI Responses among the items, as mini-swe-agent keeps them", () => {
	it("are one message each, with time and usage", () => {
		const { format, transcript } = readConversation({ trajectory_format: "mini-swe-agent-1.1", messages });
		expect(format.name).toBe("openai-responses");
		expect(transcript.messages[1]).toMatchObject({
			role: "assistant",
			paths: [["messages", 1]],
			calls: [{ id: "a" }, { id: "a-2" }],
			time: 1_760_000_000_000,
			usage: { inputTokens: 900, cachedTokens: 400, model: "gpt-5" },
		});
	});

	it("are masked, and dropped with their outputs", async () => {
		const masked = await mask({ messages }, { policy: { mask: { window_turns: 1 } } });
		expect(masked.report.masked_tool_results).toBe(4);
		const policy = { guard: { ladder: ["drop" as const], reserve_tokens: 0 } };
		const { conversation, error } = await guard({ messages }, { contextWindow: 900, policy });
		expect(error).toBeUndefined();
		const left = JSON.stringify(conversation);
		for (const id of ["a", "b", "c"]) {
			expect(left.includes(`"call_id":"${id}","name"`)).toBe(left.includes(`"call_id":"${id}","output"`));
		}
		expect(left).not.toContain('"r-a"');
	});

	it("are refused with items of other kinds", () => {
		expect(() => readConversation([{ object: "response", output: [{ type: "else" }] }])).toThrow(/fits? no format/);
	});
});
