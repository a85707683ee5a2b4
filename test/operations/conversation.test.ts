import { describe, expect, it } from "vitest";
import type { Path } from "../../src/engine/conversation/paths.ts";
import type { Edit } from "../../src/engine/conversation/plan.ts";
import type { Message } from "../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../src/formats/detect.ts";
import type { LocatedMessages } from "../../src/formats/format.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { applyAndVerify } from "../../src/operations/conversation.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { deepFreeze } from "../support/deep-freeze.ts";
import { roughCount } from "../support/rough-count.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../support/script.ts";

const document = deepFreeze(openaiMessages(user("secret task"), toolTurn("a", outputOf("a")), toolTurn("b", "ok")));

const source = readConversation(document);

const sizes = { before: { chars: 1_000, tokens: 300 }, after: { chars: 3, tokens: 1 } };

const replace = (path: Path): Edit => ({
	kind: "replace",
	reason: "mask",
	path,
	message: Number(path[0]),
	replacement: "[x]",
	...sizes,
});

const remove = (message: number): Edit => ({
	kind: "remove",
	reason: "drop",
	path: [message],
	message,
	...sizes,
	after: { chars: 0, tokens: 0 },
});

describe("applyAndVerify", () => {
	it("returns the same document for an empty plan", () => {
		expect(applyAndVerify({ source, plan: [], meter: { countTokens: roughCount, messageOverhead: 0 } })).toEqual({
			document,
		});
		expect(applyAndVerify({ source, plan: [], meter: { countTokens: roughCount, messageOverhead: 0 } }).document).toBe(
			document,
		);
	});

	it("returns the edited document when every promise holds", () => {
		const applied = applyAndVerify({
			source,
			plan: [replace([2, "content"])],
			meter: { countTokens: roughCount, messageOverhead: 0 },
		});
		expect(applied.error).toBeUndefined();
		expect(applied.document).toEqual(document.with(2, { ...document[2], content: "[x]" }));
	});

	it.each<[string, Edit[], RegExp]>([
		["an orphaned call", [remove(2)], /pairing_kept/],
		[
			"an edited user message",
			[replace([0, "content"])],
			/only_tool_results_edited \(\/0\/content is not a tool result\), so/,
		],
		["a missing path", [replace([9, "content"])], /^The plan could not be applied/],
		["a result that can no longer be read", [replace([1, "role"])], /the conversation is unchanged/],
	])("keeps the original and gives the reason: %s", (_, plan, message) => {
		const applied = applyAndVerify({ source, plan: plan, meter: { countTokens: roughCount, messageOverhead: 0 } });
		expect(applied).toMatchObject({ error: { code: "broken_promise" } });
		expect(applied.document).toBe(document);
		expect(applied.error?.message).toMatch(message);
		expect(applied.error?.cause === undefined).toBe(/have broken/.test(applied.error?.message ?? ""));
		expect(applied.error?.message).toMatch(/so the conversation is unchanged\. Please report this\.$/);
		expect(applied.error?.message).not.toMatch(/secret|fox/);
	});

	it("names five violations and counts the rest", () => {
		const many = openaiMessages(Array.from({ length: 9 }, (_, index) => user(`${index}`)));
		const applied = applyAndVerify({
			source: readConversation(many),
			plan: many.map((_, index) => replace([index, "content"])),
			meter: { countTokens: roughCount, messageOverhead: 0 },
		});
		expect(applied.error?.message).toMatch(/have broken (?:\w+ \([^)]*\)(?:, )?){5} and 4 more, so /);
	});

	it("detects an unread result, even one that was unread before", () => {
		const { value } = readTextDocument(claudeCodeSession(3), "the session");
		const whole = readConversation(value);
		const without = (messages: readonly Message[]) =>
			messages.filter(({ results }) => results[0]?.callId !== "toolu_1");
		const losesOne = (located: LocatedMessages) => {
			const transcript = whole.format.read(located);
			return { ...transcript, messages: without(transcript.messages) };
		};
		const lossy = { ...whole, format: { ...whole.format, read: losesOne }, transcript: losesOne(whole.located) };
		const plan = [replace([2, "message", "content", 0, "content"])].map((edit) => ({ ...edit, message: 2 }));
		const kept = applyAndVerify({ source: whole, plan, meter: { countTokens: roughCount, messageOverhead: 0 } });
		expect(kept.error).toBeUndefined();
		const applied = applyAndVerify({ source: lossy, plan, meter: { countTokens: roughCount, messageOverhead: 0 } });
		expect(applied).toMatchObject({ error: { code: "broken_promise" }, document: value });
		expect(applied).toHaveProperty("error.message", expect.stringContaining("pairing_kept (call in message 3,"));
	});
});
