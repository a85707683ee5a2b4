import { beforeEach, describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { spellingsOf, writeEdits } from "../../../src/formats/json-text/edit.ts";
import { readTextDocument } from "../../../src/formats/json-text/read.ts";
import { guardConversation } from "../../../src/operations/guard.ts";
import { maskConversation } from "../../../src/operations/mask.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { restoreConversation, restoreText } from "../../../src/storage/restore/restore.ts";
import { claudeCodeSession } from "../../support/claude-code-session.ts";
import { policyOf } from "../../support/policy-of.ts";
import { outputOf } from "../../support/sample-text.ts";
import { openaiMessages, toolTurn, user } from "../../support/script.ts";

let archive: Archive;

beforeEach(async () => {
	archive = (await openArchive({ where: "memory" })) as Archive;
});

const last = toolTurn("last", "done");
const masking: PolicyLayer = { media: "mask", mask: { window_turns: 1 } };
const cutting: PolicyLayer = {
	guard: { max_tool_result_chars: 500, truncate_head_chars: 50, truncate_tail_chars: 50 },
};

async function edited(text: string, layer: PolicyLayer = masking): Promise<string> {
	const document = readTextDocument(text, "the text");
	const request = {
		conversation: document.value,
		policy: policyOf(layer),
		archive,
		spellingsOf: (paths: Parameters<typeof spellingsOf>[1]) => spellingsOf(document, paths),
	};
	const { edits } = layer.guard
		? await guardConversation({ ...request, contextWindow: 100_000 })
		: await maskConversation(request);
	return writeEdits(document, edits).text;
}

async function restored(text: string) {
	return restoreText({ text, archive, policy: policyOf(), name: "the text" });
}

describe("a session that several programs write in turn", () => {
	const plain = JSON.stringify(openaiMessages(user("Go."), toolTurn("a", `é/${outputOf("a")}`), last));
	const [escaped, indented] = [plain.replaceAll("é", "\\u00e9"), plain.replaceAll("/", "\\/")];

	it("comes back in its last spelling, however often that changes", async () => {
		for (const text of [escaped, plain, escaped, indented, plain, indented, escaped]) {
			const { text: back, report } = await restored(await edited(text));
			expect(back).toBe(text);
			expect(report).toMatchObject({ restored: 1, missing: [], redacted: [] });
		}
	});

	it("is archived once more only where its spelling changes", async () => {
		const counts: number[] = [];
		for (const text of [escaped, escaped, plain, plain, plain, escaped, escaped]) {
			await edited(text);
			counts.push((await archive.stats()).originals);
		}
		const [first = 0] = counts;
		expect(counts.map((count) => count - first)).toEqual([0, 0, 1, 1, 1, 2, 2]);
	});

	it("is distinguished from another session with the same text in another place", async () => {
		const later = JSON.stringify(openaiMessages(user("Go."), user("On."), toolTurn("a", `é/${outputOf("a")}`), last));
		const [here, there] = [await edited(escaped), await edited(later)];
		expect((await restored(here)).text).toBe(escaped);
		expect((await restored(there)).text).toBe(later);
		const before = (await archive.stats()).originals;
		for (const text of [escaped, later]) await edited(text);
		expect((await archive.stats()).originals).toBe(before);
	});

	it("has each of two results of one id and one text in its own spelling", async () => {
		const turn = JSON.stringify(openaiMessages(toolTurn("a", `é${"line ".repeat(300)}`))).slice(1, -1);
		const text = `[{"role":"user","content":"Go."},${turn.replace("é", "\\u00e9")},${turn}]`;
		const cut = await edited(text, cutting);
		expect(cut.length).toBeLessThan(text.length - 2_000);
		expect((await restored(cut)).text).toBe(text);
	});

	it("has each of two results of one text in the spelling of its call after messages have moved", async () => {
		const turn = (id: string) => JSON.stringify(openaiMessages(toolTurn(id, `é${"line ".repeat(300)}`))).slice(1, -1);
		const written = (before: string) => `[${before}${turn("a").replace("é", "\\u00e9")},${turn("b")}]`;
		const cut = await edited(written(""), cutting);
		const said = '{"role":"user","content":"Go."},';
		const later = cut.replace("[", `[${said}`);
		expect((await restored(later)).text).toBe(written(said));
	});
});

describe("the values next to a result", () => {
	const line = (type: string, payload: object) => ({ timestamp: "2026-01-01T00:00:00.000Z", type, payload });
	const turn = (id: string) => [
		line("response_item", { type: "function_call", name: "exec_command", arguments: '{"cmd":"ls"}', call_id: id }),
		line("response_item", { type: "function_call_output", call_id: id, output: outputOf(id) }),
		line("event_msg", { type: "exec_command_end", call_id: id, aggregated_output: outputOf(id), exit_code: 0 }),
	];

	it("come back in a record after the result's record", async () => {
		const meta = line("session_meta", { id: "s", cwd: "/", base_instructions: { text: "You are Codex." } });
		const conversation = [meta, ...turn("a"), ...turn("b")];
		const masked = await maskConversation({ conversation, policy: policyOf(masking), archive });
		expect(JSON.stringify(masked.conversation)).not.toContain(outputOf("a").slice(0, 40));
		const back = await restoreConversation({ conversation: masked.conversation, archive, policy: policyOf() });
		expect(back.conversation).toEqual(conversation);
	});
});

describe("a redacted value", () => {
	const image = {
		type: "image_url",
		image_url: { url: `data:image/png;base64,${"A".repeat(4_000)}`, detail: "word7" },
	};
	const texts = [
		{ type: "text", text: outputOf("a"), name: "word7" },
		{ type: "text", text: outputOf("b") },
	];

	it.each([
		["an archived image", [image]],
		["the values next to an archived text", texts],
	])("is reported: %s", async (_, content) => {
		archive = (await openArchive({ where: "memory", redact: ["word\\d"] })) as Archive;
		const conversation = openaiMessages(user("Go."), toolTurn("a", content), last);
		const masked = await maskConversation({ conversation, policy: policyOf(masking), archive });
		const { ref } = masked.edits[0] ?? {};
		const back = await restoreConversation({ conversation: masked.conversation, archive, policy: policyOf() });
		expect(back.report).toMatchObject({ restored: 1, redacted: [ref], missing: [] });
		expect(back.conversation).not.toEqual(conversation);
	});

	it("is none where another session had the same text in several parts", async () => {
		const [one, two] = texts.map(({ text }) => text);
		const plain = openaiMessages(user("Go."), toolTurn("a", `${one}\n${two}`), last);
		const parted = openaiMessages(user("Go."), user("On."), toolTurn("a", texts), last);
		const policy = policyOf(masking);
		const { conversation } = await maskConversation({ conversation: plain, policy, archive });
		const other = await maskConversation({ conversation: parted, policy, archive });
		const back = await restoreConversation({ conversation, archive, policy });
		expect(back.conversation).toEqual(plain);
		expect(back.report).toMatchObject({ restored: 1, redacted: [] });
		const another = await restoreConversation({ conversation: other.conversation, archive, policy });
		expect(another.conversation).toEqual(parted);
	});
});

describe("a session that holds results more than once", () => {
	const copies = [
		(text: string) => ({ toolUseResult: { stdout: text, stderr: "" } }),
		(text: string) => ({ toolUseResult: `Error: ${text}` }),
		(text: string) => ({ toolUseResult: [{ type: "text", text }] }),
		(text: string) => ({ toolUseResult: { type: "text", file: { content: `before\n${text}\nafter` } } }),
		() => ({}),
	];
	const records = claudeCodeSession(6)
		.trim()
		.split("\n")
		.map((line) => JSON.parse(line));
	const lines = records.flatMap((record, index) => {
		const [result] = record.message.content;
		const text: string | undefined = result.content;
		if (text === undefined) return [JSON.stringify(record)];
		const copied = { ...record, ...copies[(index / 2 - 1) % copies.length]?.(text) };
		if (index !== 10) return [JSON.stringify(copied)];
		// In two parts, and its record twice.
		const parts = [text.slice(0, 900), text.slice(900)].map((part) => ({ type: "text", text: part }));
		const inParts = JSON.stringify({
			...copied,
			message: { ...record.message, content: [{ ...result, content: parts }] },
		});
		return [inParts, inParts];
	});
	const text = `${lines.join("\n")}\n`;

	it.each([
		["masked", masking],
		["cut", cutting],
	])("comes back when they were %s", async (_, layer) => {
		const short = await edited(text, layer);
		expect(short.length).toBeLessThan(text.length / 2);
		const { text: back, report } = await restored(short);
		expect(back).toBe(text);
		expect(report).toMatchObject({ missing: [], ambiguous: [], without_reference: [] });
	});
});
