import { expect, it } from "vitest";
import { unseenAnswer } from "../../src/masking/asked.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { early } from "../proxy/played.ts";
import { outputOf } from "../proxy/sessions.ts";

const turn = (id: string, name: string, input: object, content: string) => [
	{ role: "assistant", content: [{ type: "tool_use", id, name, input }] },
	{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
];
const keep = (id: string) => turn(id, "mask_conversation", { tool_call_ids: ["kept"], keep: true }, unseenAnswer);
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
