import { describe, expect, it } from "vitest";
import { spellingsOf, writeEdits } from "../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { readJsonTexts } from "../../src/formats/parts.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { restoreConversation, restoreText } from "../../src/storage/restore/restore.ts";
import { policyOf } from "../support/policy-of.ts";
import { resultContents } from "../support/raw-conversation.ts";
import { outputOf } from "../support/sample-text.ts";
import { toolTurn, writeMessages } from "../support/script.ts";

const cutting = policyOf({
	guard: { max_tool_result_chars: 400, truncate_head_chars: 100, truncate_tail_chars: 100, reserve_tokens: 0 },
});

describe("results that contain a program's return value", () => {
	it.each(["openai-chat", "anthropic-messages"] as const)("in %s the guard cuts long texts inside", async (format) => {
		const content = [{ query: "a.txt", result: outputOf("one"), success: true }];
		const conversation = writeMessages(format, toolTurn("a", content));
		const outcome = await guardConversation({ conversation, policy: cutting, contextWindow: 200 });
		expect(outcome.report).toMatchObject({ truncated_tool_results: 1, dropped_messages: 0, fits: true });
		const [after] = resultContents(outcome.conversation, format);
		expect(after).toEqual([{ query: "a.txt", result: expect.stringMatching(/^one line 0/), success: true }]);
	});

	it("restores a long text inside that was cut to a short one", async () => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const content = [{ query: "a.txt", result: outputOf("one"), success: true }];
		const conversation = writeMessages("openai-chat", toolTurn("a", content));
		const cut = await guardConversation({ conversation, policy: cutting, contextWindow: 200, archive });
		expect(JSON.stringify(cut.conversation).length).toBeLessThan(600);
		const { conversation: restored } = await restoreConversation({ ...cut, policy: cutting, archive });
		expect(restored).toEqual(conversation);
	});

	it("keeps base64 data complete, since a part of it is useless", () => {
		const data = Buffer.from(outputOf("data")).toString("base64");
		const value = { data, url: `data:image/png;base64,${data}`, text: outputOf("text") };
		const { texts, counted } = readJsonTexts(value, [], () => undefined);
		expect(texts).toEqual([{ path: ["text"], text: outputOf("text") }]);
		expect(counted.join("")).toContain(data);
	});
});

/** Results that are JSON, and no text. */
const jsonResults = {
	"a long text beside an exit code": { stdout: outputOf("one"), exit_code: 0 },
	"many short members": { rows: Array.from({ length: 80 }, (_, row) => ({ row, name: `name ${row}` })), next: 1.5 },
	"an object inside an object": { output: { stdout: outputOf("two"), truncated: false } },
	"a list of records": [
		{ title: "a", snippet: outputOf("three") },
		{ title: "b", snippet: "short" },
	],
};

type Turns = readonly (readonly [id: string, result: unknown])[];

/** How formats whose results are any JSON write tool turns, and how they write a text in place of all of a result. */
const jsonFormats = {
	gemini: {
		write: (turns: Turns) => ({
			contents: turns.flatMap(([id, response]) => [
				{ role: "user", parts: [{ text: `Step ${id}` }] },
				{ role: "model", parts: [{ functionCall: { id, name: "run", args: {} } }] },
				{ role: "user", parts: [{ functionResponse: { id, name: "run", response } }] },
			]),
		}),
		inPlace: (text: unknown) => ({ output: text }),
	},
	"vercel-model": {
		write: (turns: Turns) =>
			turns.flatMap(([toolCallId, value]) => [
				{ role: "assistant", content: [{ type: "tool-call", toolCallId, toolName: "run", input: {} }] },
				{
					role: "tool",
					content: [{ type: "tool-result", toolCallId, toolName: "run", output: { type: "json", value } }],
				},
			]),
		inPlace: (text: unknown) => ({ type: "json", value: text }),
	},
	"bedrock-converse": {
		write: (turns: Turns) =>
			turns.flatMap(([toolUseId, json]) => [
				{ role: "user", content: [{ text: `Step ${toolUseId}` }] },
				{ role: "assistant", content: [{ toolUse: { toolUseId, name: "run", input: {} } }] },
				{ role: "user", content: [{ toolResult: { toolUseId, content: [{ json }], status: "success" } }] },
			]),
		inPlace: (text: unknown) => ({ content: [{ text }], status: "success" }),
	},
	"otel-genai": {
		write: (turns: Turns) =>
			turns.flatMap(([id, response]) => [
				{ role: "assistant", parts: [{ type: "tool_call", id, name: "run", arguments: {} }] },
				{ role: "tool", parts: [{ type: "tool_call_response", id, response }] },
			]),
		inPlace: (response: unknown) => ({ response }),
	},
	"pydantic-ai": {
		write: (turns: Turns) =>
			turns.flatMap(([tool_call_id, content]) => [
				{
					kind: "response",
					parts: [{ part_kind: "tool-call", tool_name: "run", args: "{}", tool_call_id }],
				},
				{ kind: "request", parts: [{ part_kind: "tool-return", tool_name: "run", content, tool_call_id }] },
			]),
		inPlace: (content: unknown) => ({ content }),
	},
};

describe.each(Object.entries(jsonFormats))("a result that is JSON in %s", (format, { write, inPlace }) => {
	const policy = policyOf({ mask: { window_turns: 1 } });

	// Bedrock takes only objects.
	const taken = Object.entries(jsonResults).filter(
		([, value]) => format !== "bedrock-converse" || !Array.isArray(value),
	);

	it.each(taken)("is masked as a whole, and comes back to the byte: %s", async (_, value) => {
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const conversation = write([
			["call_a", value],
			["call_b", { ok: true }],
		]);
		const text = JSON.stringify(conversation, null, 1).replaceAll("1.5", "1.50");
		const document = readTextDocument(text, "the text");
		const masked = await maskConversation({
			conversation: document.value,
			policy,
			archive,
			spellingsOf: (paths) => spellingsOf(document, paths),
		});
		expect(masked.report).toMatchObject({ format, masked_tool_results: 1 });
		const placeholder = /"(\[[^"]*réf=\w+[^"]*\])"/.exec(JSON.stringify(masked.conversation))?.[1];
		expect(placeholder).toBeDefined();
		for (const [key, member] of Object.entries(inPlace(placeholder))) {
			expect(JSON.stringify(masked.conversation)).toContain(`${JSON.stringify(key)}:${JSON.stringify(member)}`);
		}
		const again = await maskConversation({ conversation: masked.conversation, policy, archive });
		expect(again.report).toMatchObject({ masked_tool_results: 0, kept: { already_masked: 1 } });
		const written = writeEdits(document, masked.edits).text;
		const { text: back, report } = await restoreText({ text: written, archive, policy, name: "the text" });
		expect(back).toBe(text);
		expect(report).toMatchObject({ restored: 1, missing: [], ambiguous: [] });
	});
});

it("a failed result of Gemini is still one after its JSON was masked", async () => {
	const failed = { error: outputOf("one"), code: 7 };
	const turns = [
		["call_a", failed],
		["call_b", { ok: true }],
	] as const;
	const conversation = jsonFormats.gemini.write(turns);
	const policy = policyOf({ mask: { window_turns: 1, keep_errors: false } });
	const masked = await maskConversation({ conversation, policy });
	expect(JSON.stringify(masked.conversation)).toMatch(/"response":\{"error":"\[/);
});
