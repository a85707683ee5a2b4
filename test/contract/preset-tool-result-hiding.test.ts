import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, openaiMessages, results, toolTurn, user } from "../support/script.ts";

const policy = policyOf({ preset: "tool-result-hiding" });
const hidden = "历史 tool_call已隐藏";
const turns = (count: number) =>
	Array.from({ length: count }, (_, index) => toolTurn(`call_${index}`, outputOf(`turn ${index}`))).flat();

describe("Preset `tool-result-hiding` (docs/compaction.md#tool-result-hiding)", () => {
	it("keeps the last 5 tool-call groups, placeholder `历史 tool_call已隐藏`", async () => {
		const outcome = await maskConversation({ conversation: openaiMessages(turns(7)), policy });
		const contents = resultContents(outcome.conversation);
		expect(contents.slice(0, 2)).toEqual([hidden, hidden]);
		expect(contents.slice(2)).toEqual(Array.from({ length: 5 }, (_, index) => outputOf(`turn ${index + 2}`)));
	});

	it("parallel tool calls are one group, kept or hidden together", async () => {
		const parallel = [
			calls({ id: "a", name: "ls" }, { id: "b", name: "cat" }),
			results({ id: "b", content: outputOf("b") }, { id: "a", content: outputOf("a") }),
		];
		const kept = await maskConversation({ conversation: openaiMessages(parallel, turns(4)), policy });
		expect(kept.report.masked_tool_results).toBe(0);
		const gone = await maskConversation({ conversation: openaiMessages(parallel, turns(5)), policy });
		expect(resultContents(gone.conversation).slice(0, 3)).toEqual([hidden, hidden, outputOf("turn 0")]);
	});

	it("no error exception: errors are hidden too", async () => {
		const failed = toolTurn("failed", `Traceback\n${outputOf("trace")}`);
		const outcome = await maskConversation({ conversation: openaiMessages(failed, turns(5)), policy });
		expect(resultContents(outcome.conversation)[0]).toBe(hidden);
	});

	it.each([0, 1, 5])("changes nothing with %i groups", async (count) => {
		const conversation = openaiMessages(user("Go."), turns(count));
		const outcome = await maskConversation({ conversation, policy });
		expect(outcome.conversation).toBe(conversation);
		expect(outcome.report.changed).toBe(false);
	});

	it("changes nothing the second time", async () => {
		const once = await maskConversation({ conversation: openaiMessages(turns(8)), policy });
		const twice = await maskConversation({ conversation: once.conversation, policy });
		expect(twice.conversation).toBe(once.conversation);
	});

	it("changes only the content: call ids, user and assistant messages stay", async () => {
		const conversation = openaiMessages(user("Go."), turns(6), user("More."));
		const outcome = await maskConversation({ conversation, policy });
		expect(outcome.conversation).toEqual(conversation.with(2, { ...conversation[2], content: hidden }));
	});

	it("counts groups by tool calls, with any user messages between (docs/compaction.md#tool-groups)", async () => {
		const chatter = Array.from({ length: 20 }, (_, index) => user(`injected ${index}`));
		const outcome = await maskConversation({ conversation: openaiMessages(turns(1), chatter, turns(5)), policy });
		expect(outcome.report.masked_tool_results).toBe(1);
	});
});
