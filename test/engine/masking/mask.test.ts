import { describe, expect, it } from "vitest";
import type { Transcript } from "../../../src/engine/conversation/transcript.ts";
import { planMask } from "../../../src/engine/masking/mask.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { policyOf } from "../../support/policy-of.ts";
import { turnsOf } from "../../support/replay-history.ts";
import { roughCount } from "../../support/rough-count.ts";
import { outputOf } from "../../support/sample-text.ts";
import { messageOf, transcriptFrom, transcriptOf } from "../../support/transcripts.ts";

const text = outputOf("a");

const turn = (id: string) => messageOf({ calls: [{ id, name: "read" }] });

function planOf(transcript: Transcript, more: PolicyLayer["mask"] = {}) {
	const { mask, prices } = policyOf({ mask: { window_turns: 1, ...more } });
	return planMask({
		transcript,
		policy: mask,
		media: "keep",
		wording: { placeholder: "[masked {original_chars}]", mediaPlaceholder: "[media]", unknownTool: "?" },
		isPlaceholder: (one) => one === "[masked 9]",
		countTokens: roughCount,
		replaying: { meter: { countTokens: roughCount, messageOverhead: 4 }, prices },
	});
}

function copiesMasked(...copies: readonly string[]) {
	const result = {
		callId: "a",
		texts: [{ path: [1, "content"], text }],
		whole: { path: [1, "content"], write: (one: string) => one },
		copies: copies.map((copy, index) => ({ path: [1, "copies", index], text: copy })),
		media: [],
		isError: undefined,
	};
	const transcript = transcriptOf(turn("a"), messageOf({ role: "tool", results: [result] }), turn("b"));
	const { edits } = planOf(transcript);
	return edits.filter((edit) => edit.unsent).map((edit) => edit.replacement);
}

describe("second copies of a masked result", () => {
	it("become the same placeholder", () => {
		expect(copiesMasked(text, text)).toEqual([`[masked ${text.length}]`, `[masked ${text.length}]`]);
	});

	it("too short for a placeholder are emptied, so that no output stays readable", () => {
		expect(copiesMasked("src/a.ts")).toEqual([""]);
	});

	it("that are empty stay empty", () => {
		expect(copiesMasked("")).toEqual([]);
	});
});

describe("the reasons why results stay", () => {
	it("count no error for a result that a tool's rule keeps", () => {
		const { edits, kept } = planOf(transcriptFrom(turnsOf([text, text, text])), { tools: { read: "never" } });
		expect([edits.length, ...Object.values(kept)]).toEqual([0, 0, 0, 0, 0, 0, 0]);
	});
});

describe("the moment of an edit", () => {
	const momentsOf = (...outputs: readonly string[]) => {
		const { edits, momentOf } = planOf(transcriptFrom(turnsOf(outputs)));
		return [edits[0]?.path.with(0, "elsewhere"), ...edits.map(({ path }) => path)].map((path) =>
			momentOf({ ...(edits[0] as (typeof edits)[number]), path: path ?? [] }),
		);
	};

	it("is when the result left the window; an edit that masking does not make is made now", () => {
		expect(momentsOf(text, text, "short", text)).toEqual([Number.POSITIVE_INFINITY, 6, 8]);
	});

	it("is now if the history has a placeholder of an earlier call", () => {
		expect(momentsOf("[masked 9]", text, text)).toEqual([Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]);
	});
});
