import { describe, expect, it } from "vitest";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { calls, results, toolTurn, user, writeMessages } from "../support/script.ts";

const harmless = outputOf("nothing that sounds like a failure");

const failed = (id: string) => [calls({ id, name: "run" }), results({ id, content: harmless, isError: true })];

const write = (...entries: Parameters<typeof writeMessages>[1][]) =>
	writeMessages("anthropic-messages", [user("Go."), ...entries.flat()]);

/** Whether the first result is masked. */
async function isMasked(conversation: unknown, error_detection: "words" | "structural"): Promise<boolean> {
	const policy = policyOf({ mask: { window_turns: 1, error_detection } });
	const { edits } = await maskConversation({ conversation, policy });
	return edits.some(({ tool_call_id }) => tool_call_id === "a");
}

describe("a result flagged as an error by the format", () => {
	const unsettled = write(failed("a"), toolTurn("b", harmless, "look"), toolTurn("c", "ok", "look"));
	const settled = write(failed("a"), toolTurn("b", harmless, "run"), toolTurn("c", "ok", "look"));

	it("always stays under the word rules, with any text", async () => {
		expect(await isMasked(unsettled, "words")).toBe(false);
		expect(await isMasked(settled, "words")).toBe(false);
	});

	it("stays by the structural rules until the same call succeeds", async () => {
		expect(await isMasked(unsettled, "structural")).toBe(false);
		expect(await isMasked(settled, "structural")).toBe(true);
	});
});
