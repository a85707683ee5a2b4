import { describe, expect, it } from "vitest";
import { guard, mask } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";

const turn = (text: string, name = "ls") => [
	{ role: "assistant", content: null, function_call: { name, arguments: "{}" } },
	{ role: "function", name, content: text },
];
const messages = [
	{ role: "user", content: "Go." },
	...["a", "b", "c"].flatMap((text) => turn(outputOf(text))),
	...turn(outputOf("d"), "read"),
];

describe("answers with `role: function`", () => {
	it("are masked, and named by their function", async () => {
		const { conversation, report } = await mask(messages, { policy: { locale: "en", mask: { window_turns: 1 } } });
		expect([report.tool_turns, report.masked_tool_results]).toEqual([4, 3]);
		expect(JSON.stringify(conversation)).toContain("tool=ls");
	});

	it("are dropped with their calls", async () => {
		const policy = { guard: { ladder: ["drop" as const], reserve_tokens: 0 } };
		const { conversation, error } = await guard(messages, { contextWindow: 700, policy });
		expect(error).toBeUndefined();
		const left = conversation as typeof messages;
		expect(left.length).toBeLessThan(messages.length);
		expect(left.filter(({ role }) => role === "function")).toHaveLength(
			left.filter(({ role }) => role === "assistant").length,
		);
	});
});
