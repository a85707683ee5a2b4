import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { spellingsOf, writeEdits } from "../../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import { listPrunable, pruneConversation } from "../../../src/operations/prune.ts";
import { type Archive, defaultRetention } from "../../../src/storage/archive/archive.ts";
import { createMemoryDriver } from "../../../src/storage/archive/memory.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { createRedact } from "../../../src/storage/archive/redact.ts";
import { createArchive } from "../../../src/storage/archive/store.ts";
import { restoreConversation, restoreText } from "../../../src/storage/restore/restore.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

async function thereAndBack(conversation: unknown, layer: PolicyLayer) {
	const policy = policyOf({ ...layer, mask: { window_turns: 1, ...layer.mask } });
	const masked = await maskConversation({ conversation, policy, archive });
	expect(masked.edits.length).toBeGreaterThan(0);
	return restoreConversation({ conversation: masked.conversation, archive, policy });
}

/** A text with old results masked, or, where the layer is of the guard, with large ones cut. */
async function editedText(text: string, layer: PolicyLayer): Promise<string> {
	const document = readTextDocument(text, "the text");
	const policy = policyOf(layer);
	const paths = { spellingsOf: (given: Parameters<typeof spellingsOf>[1]) => spellingsOf(document, given) };
	const request = { conversation: document.value, policy, archive, ...paths };
	const { edits } = layer.guard
		? await guardConversation({ ...request, contextWindow: 100_000 })
		: await maskConversation(request);
	return writeEdits(document, edits).text;
}

describe("restoring", () => {
	const last = toolTurn("last", outputOf("last"));

	it.each<[string, unknown]>([
		["a string", outputOf("a")],
		["a list of one text", [{ type: "text", text: outputOf("a"), cache_control: { type: "ephemeral" } }]],
		[
			"a list of several texts",
			[
				{ type: "text", text: outputOf("a") },
				{ type: "text", text: outputOf("b") },
			],
		],
		["lone surrogates", `\ud83d${outputOf("a")}\udd8a`],
		["a number of a text that looks like JSON", JSON.stringify({ rows: outputOf("a") })],
	])("restores %s", async (_, content) => {
		const conversation = openaiMessages(user("The task."), toolTurn("a", content), last);
		expect((await thereAndBack(conversation, {})).conversation).toEqual(conversation);
	});

	it("restores a part of which a placeholder keeps the text alone", async () => {
		const found = { file_id: "file_1", filename: "a.md", score: 0.9, text: outputOf("a") };
		const search = { type: "file_search_call", id: "f", queries: ["x"], results: [found] };
		const turn = (id: string) => [
			{ type: "function_call", call_id: id, name: "ls", arguments: "{}" },
			{ type: "function_call_output", call_id: id, output: outputOf(id) },
		];
		const conversation = { input: [{ role: "user", content: "Go." }, search, ...turn("b"), ...turn("c")] };
		const { conversation: restored, report } = await thereAndBack(conversation, {});
		expect(report.restored).toBe(2);
		expect(restored).toEqual(conversation);
	});

	it("restores a list of one part that holds its text deep inside", async () => {
		const tree = (text: string) => ({ value: { node: { children: [{ children: [{ text, line: 1 }] }] } } });
		const round = (id: string) => ({ response: "", toolCalls: [{ id, name: "ls", arguments: "{}" }] });
		const conversation = ["a", "b"].map((id) => ({
			response: [],
			result: {
				metadata: { toolCallRounds: [round(id)], toolCallResults: { [id]: { content: [tree(outputOf(id))] } } },
			},
		}));
		const { conversation: restored, report } = await thereAndBack(conversation, {});
		expect(report.restored).toBe(1);
		expect(restored).toEqual(conversation);
	});

	it("restores a list of texts that was cut as one and then masked", async () => {
		const content = ["a", "b", "c"].map((name) => ({ type: "text", text: outputOf(name), name }));
		const conversation = openaiMessages(user("The task."), toolTurn("a", content), last);
		const guard = { max_tool_result_chars: 3_000, truncate_head_chars: 500, truncate_tail_chars: 500 };
		const policy = policyOf({ guard, mask: { window_turns: 1 } });
		const thereAndBackIn = async (budget: number) => {
			const outcome = await guardConversation({ conversation, policy, archive, contextWindow: 8_192 + budget });
			const { conversation: restored } = await restoreConversation({ ...outcome, archive, policy });
			expect(restored).toEqual(conversation);
			return outcome.report;
		};
		const cut = await thereAndBackIn(10_000);
		expect(cut).toMatchObject({ truncated_tool_results: 1, masked_tool_results: 0, dropped_messages: 0 });
		const masked = await thereAndBackIn(cut.tokens.after - 1);
		expect(masked).toMatchObject({ truncated_tool_results: 0, masked_tool_results: 1, dropped_messages: 0 });
	});

	it("restores a masked image", async () => {
		const image = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(4_000)}` } };
		const content = [{ type: "text", text: outputOf("a") }, image];
		const conversation = openaiMessages(user("The task."), toolTurn("a", content), last);
		expect((await thereAndBack(conversation, { media: "mask" })).conversation).toEqual(conversation);
	});

	it("reports a result with a template without a reference", async () => {
		const conversation = openaiMessages(user("The task."), toolTurn("a", outputOf("a")), last);
		const mask = { placeholder_template: "[gone: {tool_name}]" };
		const left = await thereAndBack(conversation, { mask });
		expect(left.report).toMatchObject({ restored: 0, without_reference: ["a"] });
	});

	it("restores two results of one call", async () => {
		const conversation = openaiMessages(user("T"), toolTurn("a", outputOf("a")), toolTurn("a", outputOf("b")), last);
		expect((await thereAndBack(conversation, {})).conversation).toEqual(conversation);
	});

	it("reports missing originals, and leaves their placeholders", async () => {
		const conversation = openaiMessages(user("The task."), toolTurn("a", outputOf("a")), last);
		const policy = policyOf({ mask: { window_turns: 1 } });
		const masked = await maskConversation({ conversation, policy, archive });
		await archive.clear();
		const back = await restoreConversation({ conversation: masked.conversation, archive, policy });
		expect(back.conversation).toBe(masked.conversation);
		expect(back.report).toMatchObject({ restored: 0, missing: [masked.edits[0]?.ref] });
	});

	it("reports redactions", async () => {
		archive = (await openArchive({ where: "memory", redact: ["line 3\\b"] })) as Archive;
		const conversation = openaiMessages(user("The task."), toolTurn("a", `line 3\n${outputOf("a")}`), last);
		const { report } = await thereAndBack(conversation, {});
		expect(report.restored).toBe(1);
		expect(report.redacted).toHaveLength(1);
	});

	it("does not mistake tool output for a marker", async () => {
		const text = `x\n\n[... 12 caractères omis, réf=ve798re306ji825wo179 ...]\n\ny`;
		const conversation = openaiMessages(user("The task."), toolTurn("a", text));
		const back = await restoreConversation({ conversation, archive, policy: policyOf() });
		expect(back.conversation).toBe(conversation);
	});

	it("restores a text byte for byte in any spelling", async () => {
		const plain = JSON.stringify(openaiMessages(user("T"), toolTurn("a", `é/"${outputOf("a")}`), last), null, "\t");
		const spelled = plain.replaceAll("é", "\\u00E9").replaceAll("/", "\\/");
		// The second would come back in the spelling of the first, which is kept by then.
		for (const text of [spelled, plain]) {
			const masked = await editedText(text, { mask: { window_turns: 1 } });
			expect(masked).not.toBe(text);
			const back = await restoreText({ text: masked, archive, policy: policyOf(), name: "the text" });
			expect(back.text).toBe(text);
			expect(back.report).toMatchObject({ restored: 1, missing: [] });
		}
	});

	it("restores two results of one text, each in its own spelling", async () => {
		const turns = ["a", "b"].map((id) => toolTurn(id, `é${"line ".repeat(300)}`));
		const [one, two] = JSON.stringify(openaiMessages(user("T"), ...turns)).split('"tool_call_id":"b"') as [
			string,
			string,
		];
		const text = `${one}"tool_call_id":"b"${two.replace("é", "\\u00e9")}`;
		expect(text).toMatch(/é.*u00e9/);
		const guard = { max_tool_result_chars: 500, truncate_head_chars: 50, truncate_tail_chars: 50 };
		const cut = await editedText(text, { guard });
		expect(cut.length).toBeLessThan(text.length - 2_000);
		expect((await restoreText({ text: cut, archive, policy: policyOf(), name: "the text" })).text).toBe(text);
	});

	it("does not search for the nearest references of missing originals, which would scan the archive", async () => {
		const turns = Array.from({ length: 20 }, (_, turn) => toolTurn(`c${turn}`, outputOf(`c${turn}`)));
		const policy = policyOf({ mask: { window_turns: 1 } });
		const conversation = openaiMessages(user("The task."), ...turns, last);
		const masked = await maskConversation({ conversation, policy, archive });
		const driver = createMemoryDriver({ retention: defaultRetention, now: Date.now });
		let walks = 0;
		const hashes = () => {
			walks += 1;
			return driver.hashes();
		};
		const parts = { namespace: "other", redact: createRedact([]), now: Date.now };
		const other = createArchive({ ...parts, driver: { ...driver, hashes } });
		await other.put([{ kind: "result", text: outputOf("other") }]);
		const { report } = await restoreConversation({ conversation: masked.conversation, archive: other, policy });
		expect(report.missing).toHaveLength(20);
		expect(walks).toBe(0);
		await expect(other.get(report.missing[0] as string)).rejects.toThrow("No original is kept");
		expect(walks).toBe(1);
	});
});

describe("reasoning after restored results", () => {
	const turn = (id: string) => [
		{
			role: "assistant",
			content: [
				{ type: "thinking", thinking: `Turn ${id}.`, signature: `c2ln${id}` },
				{ type: "tool_use", id, name: "bash", input: {} },
			],
		},
		{ role: "user", content: [{ type: "tool_result", tool_use_id: id, content: outputOf(id, 900) }] },
	];
	const messages = [{ role: "user", content: "Go." }, ...["a", "b", "c"].flatMap(turn)];

	it.each([
		["claude-opus-5-5", 2],
		["claude-opus-4-8", undefined],
	])("is counted where the model binds it: %s", async (model, after) => {
		const layer = { thinking: "keep" as const, mask: { keep_errors: false } };
		const { conversation, report } = await thereAndBack({ model, messages }, layer);
		expect(conversation).toEqual({ model, messages });
		expect(report.reasoning_after).toBe(after);
	});
});

it("restores a chat though what is left of it shows its format by less than half of its text", async () => {
	const result = (text: string, key: string) => [{ functionResponse: { response: { [key]: text } } }];
	const known = { type: "gemini", toolCalls: [{ result: result(outputOf("known"), "output") }] };
	const unknown = { type: "", toolCalls: [{ result: result(outputOf("other", 30), "output") }] };
	const conversation = [known, unknown];
	const policy = policyOf({});
	const places = (await listPrunable({ conversation, policy })).map(({ place }) => place);
	const masked = await pruneConversation({ conversation, policy, archive, places });
	expect(() => readConversation(masked.conversation)).toThrow(/can be read that way/);
	expect((await restoreConversation({ conversation: masked.conversation, archive, policy })).conversation).toEqual(
		conversation,
	);
});
