import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, type JsonMessage, openaiMessages, results, toolTurn } from "../support/script.ts";

async function maskedResults(messages: readonly JsonMessage[], k: number | null, window = 1): Promise<boolean[]> {
	const policy = policyOf({ mask: { window_turns: window, keep_last_k_per_tool: k } });
	const { conversation } = await maskConversation({ conversation: messages, policy });
	const before = resultContents(messages);
	return resultContents(conversation).map((content, index) => content !== before[index]);
}

const reads = (count: number, name: string) =>
	Array.from({ length: count }, (_, index) => toolTurn(`${name}_${index}`, outputOf(`${name} ${index}`), name)).flat();

describe("The last K results of each tool stay (docs/strategies.md#last-results-of-each-tool)", () => {
	it("keeps the last K results of each tool, also outside the window", async () => {
		const messages = openaiMessages(reads(3, "cat"), reads(3, "ls"), reads(3, "grep"));
		expect(await maskedResults(messages, 2)).toEqual([true, false, false, true, false, false, true, false, false]);
	});

	it("counts the results inside the window among the last K", async () => {
		const messages = openaiMessages(reads(5, "cat"));
		expect(await maskedResults(messages, 2, 2)).toEqual([true, true, true, false, false]);
		expect(await maskedResults(messages, 3, 2)).toEqual([true, true, false, false, false]);
	});

	it.each([[0], [null]])("%s: off", async (k) => {
		const messages = openaiMessages(reads(3, "cat"), reads(1, "ls"));
		expect(await maskedResults(messages, k)).toEqual([true, true, true, false]);
	});

	it("a K larger than the number of results keeps all", async () => {
		expect(await maskedResults(openaiMessages(reads(4, "cat")), 100)).not.toContain(true);
	});

	it("uses the name of the nearest call when another tool reuses an id", async () => {
		const messages = openaiMessages(
			toolTurn("same", outputOf("one"), "cat"),
			toolTurn("same", outputOf("two"), "ls"),
			toolTurn("other", outputOf("three"), "cat"),
			toolTurn("last", "ok", "done"),
		);
		expect(await maskedResults(messages, 1)).toEqual([true, false, false, false]);
	});

	it("counts parallel results of one tool separately", async () => {
		const messages = openaiMessages(
			calls({ id: "a", name: "cat" }, { id: "b", name: "cat" }),
			results({ id: "a", content: outputOf("a") }, { id: "b", content: outputOf("b") }),
			toolTurn("last", "ok", "done"),
		);
		expect(await maskedResults(messages, 1)).toEqual([true, false, false]);
	});

	it("reports how many results it kept for this reason", async () => {
		const policy = policyOf({ mask: { window_turns: 1, keep_last_k_per_tool: 2 } });
		const { report } = await maskConversation({ conversation: openaiMessages(reads(4, "cat")), policy });
		// Of the last two, one stands in the window already.
		expect(report.kept.last_of_its_tool).toBe(1);
	});
});
