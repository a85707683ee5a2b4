import { describe, expect, it } from "vitest";
import { planMask } from "../../src/masking/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { roughCount } from "../support/rough-count.ts";
import { outputOf } from "../support/sample-text.ts";
import { messageOf, transcriptOf } from "../support/transcripts.ts";

const text = outputOf("a");

const turn = (id: string) => messageOf({ calls: [{ id, name: "read" }] });

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
	const { mask, prices } = policyOf({ mask: { window_turns: 1 } });
	const { edits } = planMask({
		transcript,
		policy: mask,
		media: "keep",
		wording: { placeholder: "[masked {original_chars}]", mediaPlaceholder: "[media]", unknownTool: "?" },
		isPlaceholder: () => false,
		countTokens: roughCount,
		replaying: { meter: { countTokens: roughCount, messageOverhead: 4 }, prices },
	});
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
