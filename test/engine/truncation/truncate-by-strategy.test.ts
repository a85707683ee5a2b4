import { describe, expect, it } from "vitest";
import { planTruncate, type TruncateParameters } from "../../../src/engine/truncation/truncate-results.ts";
import { noticesOf } from "../../support/notices-of.ts";
import { roughCount } from "../../support/rough-count.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const limits = { maxChars: 2_000, headChars: 100, tailChars: 100, marker: "<{omitted_chars}, {ref}>" };
const byStrategy = { strategy: "auto", wording: noticesOf("en") } as const;
const ref = "abc123";
const archiving = { refOf: () => ref, jsonAt: () => "" };
const lines = Array.from({ length: 400 }, (_, index) => `value${index} is one of many that stand here`).join("\n");

const conversation = (query: string, words: string | null = null) => [
	{ role: "user", content: "Go on." },
	{
		role: "assistant",
		content: words,
		tool_calls: [{ id: "a", type: "function", function: { name: "search", arguments: JSON.stringify({ query }) } }],
	},
	{ role: "tool", tool_call_id: "a", content: lines },
];
const plan = (messages: readonly object[], given: Partial<TruncateParameters> = {}) => {
	const transcript = transcriptFrom(messages);
	return planTruncate({ transcript, limits, byStrategy, countTokens: roughCount, ...given });
};
const textOf = (edits: ReturnType<typeof plan>) => String(edits[0]?.replacement);

describe("planTruncate with a strategy", () => {
	it("keeps text about the call's aim and the words before it, within the limit", () => {
		for (const messages of [conversation("value217"), conversation("which one", "I need value217.")]) {
			const edits = plan(messages);
			expect(edits).toHaveLength(1);
			expect(edits[0]).toMatchObject({ reason: "truncate", path: [2, "content"], before: { chars: lines.length } });
			expect(textOf(edits)).toContain("\nvalue217 is one");
			expect(textOf(edits).length).toBeLessThanOrEqual(limits.maxChars);
		}
		expect(textOf(plan(conversation("nothing of it")))).not.toContain("value217");
	});

	it("names the archived original: by a short notice in little room, by the marker when no notice fits", () => {
		expect(textOf(plan(conversation("value217"), { archiving }))).toContain(`ref=${ref}]`);
		const short = textOf(plan(conversation("value217"), { archiving, limits: { ...limits, maxChars: 300 } }));
		expect(short).toContain(`ref=${ref}]`);
		const tight = textOf(plan(conversation("value217"), { archiving, limits: { ...limits, maxChars: 100 } }));
		expect(tight).toContain(`, ${ref}>`);
		const bare = textOf(plan(conversation("value217"), { limits: { ...limits, maxChars: 300 } }));
		expect(bare).not.toContain("<");
		expect(bare.length).toBeLessThanOrEqual(300);
	});

	it("cuts JSON to JSON, and leaves placeholders unchanged", () => {
		const json = JSON.stringify(Array.from({ length: 300 }, (_, id) => ({ id, name: `row ${id}` })));
		const messages = [...conversation("row 7").slice(0, 2), { role: "tool", tool_call_id: "a", content: json }];
		expect(Array.isArray(JSON.parse(textOf(plan(messages))))).toBe(true);
		expect(plan(messages, { isPlaceholder: (text) => text === json })).toEqual([]);
	});
});
