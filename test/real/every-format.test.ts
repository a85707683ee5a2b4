import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { atLeast } from "../support/breadth.ts";
import { policyOf } from "../support/policy-of.ts";
import { chosenConversations, conversationsFolder, hasRealData } from "../support/real-conversations.ts";
import { checkText } from "../support/there-and-back.ts";

/** What the folder calls a format, where we call it otherwise. */
const ourNames: Readonly<Record<string, string>> = { openai: "openai-chat", anthropic: "anthropic-messages" };

const files = chosenConversations();

const settings = [0, 1, 8].flatMap((window_turns) =>
	[true, false].flatMap((keep_errors) =>
		[0, 2].map((keep_last_k_per_tool) => ({ window_turns, keep_errors, keep_last_k_per_tool })),
	),
);
/** What `matrix.test.ts` masks with every setting, and looks at more closely. */
const inMatrix = new Set(["openai", "anthropic"]);
const windows = [1_000, 8_000, 32_000];

const seen = new Map<
	string,
	{ conversations: number; results: number; masks: number; guards: number; edits: number }
>();

describe.skipIf(!hasRealData)("every real conversation, in every format", () => {
	it.each(files)("%s", async (file) => {
		const document = readTextDocument(readFileSync(join(conversationsFolder, file), "utf8"), "a real conversation");
		const { format } = document.value as { format: string };
		const count = seen.get(format) ?? { conversations: 0, results: 0, masks: 0, guards: 0, edits: 0 };
		seen.set(format, count);
		count.conversations += 1;

		for (const setting of settings) {
			if (inMatrix.has(format) && !(setting.window_turns === 1 && setting.keep_errors)) continue;
			const policy = policyOf({ mask: setting });
			const outcome = await maskConversation({ conversation: document.value, policy });
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.format).toBe(ourNames[format] ?? format);
			const again = await maskConversation({ conversation: outcome.conversation, policy });
			expect(again.edits).toEqual([]);
			count.masks += 1;
			count.edits += outcome.edits.length;
			if (setting.window_turns === 1 && setting.keep_last_k_per_tool === 0) checkText(document, outcome);
			if (setting.window_turns === 1 && setting.keep_errors) count.results += outcome.report.tool_results;
		}
		for (const contextWindow of windows) {
			// A reserve of 8 192 would leave the two smaller windows no budget at all.
			const reserveTokens = Math.min(8_192, contextWindow / 8);
			const given = { conversation: document.value, policy: policyOf({}), contextWindow, reserveTokens };
			const outcome = await guardConversation(given);
			expect(outcome.error).toBeUndefined();
			expect(outcome.report.fits).toBe(outcome.report.tokens.after <= (outcome.report.budget_tokens ?? 0));
			checkText(document, outcome);
			count.guards += 1;
			count.edits += outcome.edits.length;
		}
	});

	it("masks the observations of Roo Code, and no text next to them", async () => {
		for (const file of files.filter((one) => one.includes("roo-code"))) {
			const given = JSON.parse(readFileSync(join(conversationsFolder, file), "utf8"));
			const textsIn = ({ messages }: { messages: readonly { content: readonly { text?: string }[] }[] }) =>
				messages.flatMap(({ content }) => content.map(({ text = "" }) => text));
			const texts = textsIn(given);
			const policy = policyOf({ mask: { window_turns: 1, keep_errors: false } });
			const { conversation, report } = await maskConversation({ conversation: given, policy });
			const headers = texts.filter((text) => /^\[[\s\S]*\] Result:$/.test(text));
			expect(report.tool_results).toBe(headers.length);
			expect(report.masked_tool_results).toBeGreaterThan(0);
			const after = textsIn(conversation as typeof given);
			const changed = texts.filter((text, index) => text !== after[index]);
			expect(changed).toHaveLength(report.masked_tool_results);
			for (const text of changed) expect(texts[texts.indexOf(text) - 1]).toMatch(/\] Result:$/);

			const unread = policyOf({ mask: { window_turns: 1, observations: false } });
			const { report: none } = await maskConversation({ conversation: given, policy: unread });
			expect(none).toMatchObject({ changed: false, tool_results: 0 });
			expect(none.notes.join()).toMatch(/no tool calls or results/);
		}
	});

	afterAll(() => {
		for (const [format, counts] of seen) process.stderr.write(`${format}: ${JSON.stringify(counts)}\n`);
		const edits = Array.from(seen.values()).reduce((sum, counts) => sum + counts.edits, 0);
		expect(seen.size).toBe(13);
		expect(edits).toBeGreaterThan(atLeast(8_000));
	});
});
