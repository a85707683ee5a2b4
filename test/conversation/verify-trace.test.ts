import { expect, it } from "vitest";
import { applyPlan } from "../../src/conversation/apply.ts";
import type { Plan, ReplaceEdit } from "../../src/conversation/plan.ts";
import type { Transcript } from "../../src/conversation/transcript.ts";
import { verify } from "../../src/conversation/verify.ts";
import { compareDocuments } from "../../src/conversation/verify-trace.ts";
import { roughCount } from "../support/rough-count.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";
import { transcriptFrom } from "../support/transcripts.ts";

const messages = openaiMessages(user("Go."), ...toolTurn("call_1", "one two three ".repeat(40), "ls"), user("Well?"));
const last = messages.length - 1;
const edit: ReplaceEdit = {
	kind: "replace",
	reason: "mask",
	path: [last - 1, "content"],
	message: last - 1,
	before: { chars: 560, tokens: 140 },
	after: { chars: 3, tokens: 1 },
	replacement: "[x]",
};
const before = { document: messages, transcript: transcriptFrom(messages) };

function readAs(plan: Plan, change: (transcript: Transcript) => Transcript) {
	const document = applyPlan(messages, plan);
	return { document, transcript: change(transcriptFrom(document)) };
}

it("a message that is masked in its place comes from there", () => {
	const after = readAs([edit], (transcript) => transcript);
	const trace = compareDocuments({ before, after, plan: [edit], base: [], report: expect.unreachable });
	expect(trace.origins).toEqual(messages.map((_, index) => index));
});

it("messages that are read from each other's places are noticed, though the documents differ in a result alone", () => {
	const swapped = readAs([edit], (transcript) => {
		const [first, ...others] = transcript.messages;
		const end = others.pop();
		return { ...transcript, messages: [end, ...others, first] as Transcript["messages"] };
	});
	const violations = verify(before, swapped, { plan: [edit], base: [], countTokens: roughCount });
	expect(violations.map(({ promise }) => promise)).toContain("order_kept");
});
