import { expect, it } from "vitest";
import { unseenAnswer } from "../../src/engine/masking/asked.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { early } from "../proxy/played.ts";
import { outputOf } from "../proxy/sessions.ts";

const turn = (id: string, name: string, input: object, content: string) => [
	{ role: "assistant", content: [{ type: "tool_use", id, name, input }] },
	{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
];
const askToKeep = (id: string, answer: string) =>
	turn(id, "mask_conversation", { tool_call_ids: ["kept"], keep: true }, answer);
const keep = (id: string) => askToKeep(id, `${unseenAnswer}; start the agent program.`);
const others = Array.from({ length: 12 }, (_, at) => turn(`other ${at}`, "bash", {}, outputOf(at, 3_000)));

/** The ids of the results that are masked in a session that begins with the result to keep. */
async function maskedAfter(rest: readonly object[]): Promise<string[]> {
	const begun = [{ role: "user", content: "Go on." }, ...turn("kept", "bash", {}, outputOf(99, 3_000))];
	const { edits } = await maskConversation({ conversation: [...begun, ...rest], policy: early });
	return edits.flatMap(({ tool_call_id: id }) => id ?? []);
}

it("a result that the agent asks to keep is not masked, also where it asks twice", async () => {
	expect(await maskedAfter(others.flat())).toContain("kept");
	const once = await maskedAfter([...keep("ask 1"), ...others.flat()]);
	expect(once).not.toContain("kept");
	expect(once).toContain("other 0");
	const twice = [...keep("ask 1"), ...others.slice(0, 6).flat(), ...keep("ask 2"), ...others.slice(6).flat()];
	expect(await maskedAfter(twice)).not.toContain("kept");
});

it("is asked the same by a session whose server was of an earlier version", async () => {
	const answer =
		"This answer has not passed a proxy or plugin of Palimpsest, so nothing was looked up or masked.\nStart it.";
	expect(await maskedAfter([...askToKeep("ask", answer), ...others.flat()])).not.toContain("kept");
	expect(await maskedAfter([...askToKeep("ask", "Nothing was masked."), ...others.flat()])).toContain("kept");
});
