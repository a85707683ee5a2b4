import { describe, expect, it } from "vitest";
import { resolvePolicy } from "../../../src/engine/policy/layers.ts";
import { wordings } from "../../../src/engine/policy/wordings.ts";
import { planTruncate } from "../../../src/engine/truncation/truncate-results.ts";
import { roughCount } from "../../support/rough-count.ts";
import { textOfLength } from "../../support/sample-text.ts";
import { assistant, type Entry, openaiMessages, results, toolTurn, user } from "../../support/script.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

const limits = { maxChars: 100, headChars: 20, tailChars: 10, marker: "<{omitted_chars}>" };

const plan = (...messages: readonly (Entry | readonly Entry[])[]) =>
	planTruncate({ transcript: transcriptFrom(openaiMessages(...messages)), limits, countTokens: roughCount });

describe("planTruncate", () => {
	it("cuts every result text over the limit, and nothing else", () => {
		const text = textOfLength(500);
		const edits = plan(user(text), assistant(text), toolTurn("a", text), toolTurn("b", text.slice(0, 100)));
		expect(edits).toEqual([
			{
				kind: "replace",
				reason: "truncate",
				path: [3, "content"],
				message: 3,
				replacement: `${text.slice(0, 20)}<470>${text.slice(-10)}`,
				before: { chars: 500, tokens: 125 },
				after: { chars: 35, tokens: 9 },
				result: { toolCallId: "a", toolName: "read_file" },
			},
		]);
	});

	it("cuts texts inside a list separately; an image next to them stays", () => {
		const parts = [
			{ type: "text", text: textOfLength(500) },
			{ type: "image_url", image_url: { url: "data:" } },
			{ type: "text", text: textOfLength(400) },
		];
		expect(plan(toolTurn("a", parts)).map((edit) => edit.path)).toEqual([
			[1, "content", 0, "text"],
			[1, "content", 2, "text"],
		]);
	});

	it("cuts orphans too: their size counts like any other", () => {
		const [edit] = plan(results({ id: "ghost", content: textOfLength(500) }));
		expect(edit?.result).toEqual({ toolCallId: "ghost", toolName: undefined });
	});

	it("keeps a text when cutting would increase its tokens", () => {
		const countTokens = (text: string) => (text.includes("<") ? 1_000 : 1);
		const transcript = transcriptFrom(openaiMessages(toolTurn("a", textOfLength(500))));
		expect(planTruncate({ transcript, limits, countTokens })).toEqual([]);
	});

	it("cuts a remembered text again when the limit, the strategy or the reference changed", () => {
		const lines = Array.from({ length: 90 }, (_, line) => `${line} ${textOfLength(line % 7)}`).join("\n");
		const transcript = transcriptFrom(openaiMessages(toolTurn("a", lines)));
		const { notices } = wordings(resolvePolicy([{ locale: "en" }]));
		const cut = (maxChars: number, strategy: "auto" | "log", ref?: string) => {
			const archiving = ref === undefined ? undefined : { refOf: () => ref, jsonAt: () => "" };
			const byStrategy = { strategy, wording: notices };
			const [edit] = planTruncate({
				transcript,
				limits: { ...limits, maxChars },
				byStrategy,
				countTokens: roughCount,
				archiving,
			});
			return edit?.replacement as string;
		};
		const short = cut(200, "log");
		const long = cut(300, "log");
		expect(long.length).toBeGreaterThan(short.length);
		expect(cut(300, "log", "ref-1")).toContain("ref-1");
		expect(cut(300, "log", "ref-2")).toContain("ref-2");
		expect([cut(200, "log"), cut(300, "log")]).toEqual([short, long]);
	});
});
