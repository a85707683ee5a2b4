import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";

type Json = Readonly<Record<string, unknown>>;
const record = (uuid: string, parentUuid: string | null, more: Json): Json => ({
	parentUuid,
	isSidechain: false,
	sessionId: "s1",
	uuid,
	...more,
});
const attached = (uuid: string, parent: string | null, attachment: Json, more: Json = {}) =>
	record(uuid, parent, { type: "attachment", attachment, ...more });
const user = (uuid: string, parent: string | null, content: unknown) =>
	record(uuid, parent, { type: "user", message: { role: "user", content } });
const answer = (uuid: string, parent: string, block: Json) =>
	record(uuid, parent, { type: "assistant", message: { id: uuid, role: "assistant", content: [block] } });
const call = (id: string) => ({ type: "tool_use", id, name: "Bash", input: {} });
const result = (id: string, content: string) => [{ type: "tool_result", tool_use_id: id, content }];

const file = { type: "text", file: { filePath: "a.txt", content: outputOf("file"), numLines: 40 } };
const session = [
	attached("h1", null, { type: "hook_success", hookEvent: "SessionStart", content: "Be brief.", stdout: "Be brief." }),
	user("u1", "h1", "Go."),
	attached("f1", "u1", { type: "file", filename: "a.txt", content: file }),
	answer("a1", "f1", call("t1")),
	user("r1", "a1", result("t1", outputOf("one"))),
	attached("e1", "r1", { type: "edited_text_file", filename: "b.txt", snippet: outputOf("edited") }),
	attached("x1", "e1", { type: "already_read_file", content: file }),
	answer("a2", "x1", call("t2")),
	user("r2", "a2", result("t2", "ok")),
];
const read = (records: readonly Json[]) => readConversation(records).transcript.messages;
const textOf = (records: readonly Json[], index: number) => read(records)[index]?.counted.join("\n") ?? "";

describe("Claude Code: attachments", () => {
	it("counts the last snapshot of the prompt as system prompt and tools, not as a message", () => {
		const snapshot = (uuid: string, parent: string, more: Json) =>
			attached(uuid, parent, { type: "prompt_snapshot", ...more });
		const tools = [{ name: "Bash", input_schema: {} }];
		const records = [
			user("u1", null, "Go."),
			snapshot("p1", "u1", { systemPrompt: ["Old."] }),
			answer("a1", "p1", call("t1")),
			user("r1", "a1", result("t1", "ok")),
			snapshot("p2", "r1", { systemPrompt: ["Be brief."], tools }),
		];
		expect(readConversation(records).transcript.surroundings).toEqual(['["Be brief."]', JSON.stringify(tools)]);
		expect(textOf(records, 0)).toBe("Go.");
		expect(read(records)[2]?.paths).toEqual([[3], [4]]);
	});

	it("are counted with the record that they follow, leading ones with the first record", () => {
		expect(read(session).map(({ paths }) => paths)).toEqual([[[1], [0], [2]], [[3]], [[4], [5], [6]], [[7]], [[8]]]);
		expect(textOf(session, 0)).toContain("Go.");
		expect(textOf(session, 0)).toContain(outputOf("file"));
		expect(textOf(session, 0).split("Be brief.")).toHaveLength(2);
		expect(textOf(session, 2)).toContain(outputOf("edited"));
		expect(textOf(session, 2)).not.toContain(outputOf("file"));
	});

	it.each([
		["of a hook without a listener", { type: "hook_success", hookEvent: "PostToolUse", content: outputOf("hook") }],
		["for the screen", { type: "hook_system_message", content: outputOf("hook") }],
		["without a type", undefined],
	])("%s cost nothing", (_, attachment) => {
		const records = [user("u1", null, "Go."), record("x", "u1", { type: "attachment", attachment })];
		expect(read(records)[0]).toMatchObject({ counted: ["Go."], mediaTokens: 0 });
	});

	it("of other agents and abandoned branches are not part of the conversation", () => {
		const other = attached("s1", "u1", { type: "file", content: file }, { isSidechain: true });
		const rewound = attached("b1", "u1", { type: "file", content: file });
		const records = [user("u1", null, "Go."), other, rewound, answer("a1", "u1", call("t1"))];
		expect(
			read(records)
				.flatMap(({ counted }) => counted)
				.join(""),
		).not.toContain("file line");
	});

	it("with images are counted by estimate", () => {
		const image = { type: "image", file: { base64: pngOf(1_024, 1_024), type: "image/png", originalSize: 9 } };
		const [message] = read([user("u1", null, "Go."), attached("f", "u1", { type: "file", content: image })]);
		expect(message?.mediaTokens).toBe(1_399);
		expect(message?.counted.join("")).not.toContain(image.file.base64);
	});

	it("are dropped with their record, and later records are linked to the ones before", async () => {
		const policy = policyOf({ guard: { ladder: ["drop"], reserve_tokens: 0 } });
		const total = (await guardConversation({ conversation: session, policy, contextWindow: 1_000_000 })).report.tokens;
		const outcome = await guardConversation({ conversation: session, policy, contextWindow: total.before - 100 });
		expect(outcome.report).toMatchObject({ fits: true, dropped_messages: 2 });
		expect(outcome.conversation).toEqual([...session.slice(0, 3), { ...session[7], parentUuid: "f1" }, session[8]]);
	});
});
