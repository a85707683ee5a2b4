import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { outputOf } from "../support/sample-text.ts";

const messages = [
	{ role: "user", content: "Go." },
	{ role: "assistant", content: "", tool_calls: [{ id: "c", function: "bash", arguments: {}, type: "function" }] },
	{ role: "tool", content: outputOf("ls"), tool_call_id: "c", function: "bash" },
];
const sample = (id: number) => ({ id, epoch: 1, messages });

describe("a log with a list of steps next to its conversation", () => {
	it.each([
		["plan", { steps: [{ solver: "a" }], config: {} }],
		[
			"run",
			{
				steps: [
					{ id: 1, took: 3 },
					{ id: 2, took: 4 },
				],
			},
		],
		["stats", { usage: { items: [{ tokens: 3 }] } }],
	])("is read as that conversation: %s", (key, value) => {
		const { format, located } = readConversation({ version: 2, [key]: value, samples: [sample(1)] });
		expect([format.name, located.base]).toEqual(["inspect", ["samples", 0, "messages"]]);
	});

	it("names the conversations if there are several", () => {
		const log = { plan: { steps: [{ solver: "a" }] }, samples: [sample(1), sample(2)] };
		expect(() => readConversation(log)).toThrow(/Found 2 conversations/);
	});

	it("reads a list of records deep in a document as before", () => {
		const query = [{ role: "user", content: "Go." }];
		const step = { action: "ls", observation: outputOf("ls"), response: "I look.", thought: "", query };
		expect(readConversation({ run: { trajectory: [step, step] } }).format.name).toBe("swe-agent");
	});
});
