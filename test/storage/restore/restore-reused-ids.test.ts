import { expect, it } from "vitest";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { restoreConversation } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

const policy = policyOf({ locale: "en", mask: { window_turns: 1 } });

async function restored(conversation: unknown) {
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const masked = await maskConversation({ conversation, policy, archive });
	expect(masked.edits).toHaveLength(1);
	return restoreConversation({ conversation: masked.conversation, archive, policy });
}

it("a placeholder without a reference does not get the text of another result with the same call id", async () => {
	const unkept = "[Observation masked: old tool result (tool_call_id=a, tool=ls, chars=12)]";
	const turns = [...toolTurn("a", unkept), ...toolTurn("a", outputOf("second")), ...toolTurn("last", "done")];
	const conversation = openaiMessages([user("Go."), ...turns]);
	const { conversation: back, report } = await restored(conversation);
	expect(back).toEqual(conversation);
	expect(report).toMatchObject({ restored: 1, missing: [], without_reference: ["a"], ambiguous: [] });
});

it("a result without an id gets its truncated text back, although a call with an id has the same text", async () => {
	const own = policyOf({ guard: { ladder: ["truncate"], truncate_when: "always", max_tool_result_chars: 300 } });
	const archive = (await openArchive({ where: "memory" })) as Archive;
	const output = outputOf("same");
	const conversation = [
		{ raw_item: { type: "function_call_output", call_id: "a", output } },
		{ raw_item: { type: "function_call_output", output } },
	];
	const guarded = await guardConversation({ conversation, policy: own, contextWindow: 100_000, archive });
	expect(guarded.edits).toHaveLength(2);
	const back = await restoreConversation({ conversation: guarded.conversation, archive, policy: own });
	expect(back.conversation).toEqual(conversation);
	expect(back.report).toMatchObject({ restored: 2, missing: [], ambiguous: [] });
});
