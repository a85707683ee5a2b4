import { describe, expect, it } from "vitest";
import { valueAt } from "../../src/engine/conversation/paths.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { claudeCode } from "../../src/formats/claude-code.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { guard, mask } from "../../src/library.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { pngOf } from "../support/media-samples.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";
import { sentIn } from "../support/transcripts.ts";

type Record_ = Readonly<Record<string, unknown>>;
const masking = policyOf({ mask: { window_turns: 1 } });

const record = (uuid: string, parentUuid: string | null, type: string, message: Record_, more: Record_ = {}) => ({
	parentUuid,
	isSidechain: false,
	sessionId: "s1",
	type,
	message,
	uuid,
	timestamp: "2026-01-01T00:00:00.000Z",
	...more,
});
const user = (uuid: string, parent: string | null, text: string, more: Record_ = {}) =>
	record(uuid, parent, "user", { role: "user", content: text }, more);
const answer = (uuid: string, parent: string | null, id: string, block: Record_, more: Record_ = {}) =>
	record(uuid, parent, "assistant", { id, role: "assistant", model: "some-model", content: [block] }, more);
const call = (id: string, input: Record_ = { command: "ls" }) => ({ type: "tool_use", id, name: "Bash", input });
const result = (uuid: string, parent: string, id: string, content: unknown, more: Record_ = {}) =>
	record(uuid, parent, "user", { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] }, more);
const progress = (uuid: string, parent: string | null, more: Record_ = {}) => ({
	parentUuid: parent,
	type: "progress",
	data: { type: "hook_progress" },
	uuid,
	...more,
});

const textsOf = (records: readonly unknown[]) => sentIn(records).messages.flatMap(({ counted }) => counted);

/** A session in which one answer makes two calls at once; the result of each hangs at the record of its call. */
const parallel = [
	{ type: "file-history-snapshot", messageId: "m", snapshot: {} },
	user("u1", null, "Look around."),
	answer("a1", "u1", "msg1", { type: "thinking", thinking: "Two at once.", signature: "c2ln" }),
	answer("a2", "a1", "msg1", call("t1")),
	answer("a3", "a2", "msg1", call("t2")),
	progress("p1", "a3"),
	result("r1", "a2", "t1", outputOf("one")),
	result("r2", "a3", "t2", outputOf("two")),
	answer("a4", "r2", "msg2", call("t3")),
	result("r3", "a4", "t3", "ok"),
	{ type: "last-prompt", lastPrompt: "Look around." },
];

describe("Claude Code sessions", () => {
	it("the records of one API message are one message, and its parallel calls one turn", () => {
		const { messages } = sentIn(parallel);
		expect(messages.map(({ role, paths }) => [role, paths])).toEqual([
			["user", [[1]]],
			["assistant", [[2], [3], [4]]],
			["user", [[6]]],
			["user", [[7]]],
			["assistant", [[8]]],
			["user", [[9]]],
		]);
		expect(messages[1]?.calls.map(({ id }) => id)).toEqual(["t1", "t2"]);
		expect(messages[1]?.thinking).toMatchObject([{ path: [2], bound: true }]);
		expect(pairResults(sentIn(parallel)).map(({ caller }) => caller)).toEqual([1, 1, 4]);
	});

	it("a branch with a result for a reused call id is read", async () => {
		const records = [
			user("u1", null, "Look around."),
			answer("a1", "u1", "msg1", call("t1")),
			result("r1", "a1", "t1", outputOf("one")),
			answer("a2", "r1", "msg2", call("t2")),
			answer("a3", "a2", "msg2", call("t1")),
			result("r2", "a3", "t1", outputOf("two")),
			result("r3", "a2", "t2", outputOf("three")),
		];
		expect(sentIn(records).messages.map(({ paths }) => paths.flat())).toEqual([[0], [1], [2], [3, 4], [5], [6]]);
		const policy = policyOf({ preset: "context-guard", guard: { reserve_tokens: 0, ladder: ["drop"] } });
		const outcome = await guardConversation({ conversation: records, policy, contextWindow: 1 });
		expect(outcome.error).toBeUndefined();
		expect(outcome.report.dropped_messages).toBe(2);
	});

	it("an answer with only reasoning has the reasoning as its own block", () => {
		expect(sentIn(parallel.slice(0, 3)).messages[1]).toMatchObject({ paths: [[2]], thinking: [{ path: [2] }] });
	});

	it("masks all results of a turn alike, and keeps other records identical", async () => {
		const { conversation, report } = await maskConversation({ conversation: parallel, policy: masking });
		expect(report.masked_tool_results).toBe(2);
		for (const index of [0, 1, 2, 3, 4, 5, 8, 9, 10]) {
			expect((conversation as unknown[])[index]).toBe(parallel[index]);
		}
	});

	it("drops an answer with all its records, and links later records to those that stay", async () => {
		const policy = policyOf({ guard: { ladder: ["drop"], keep_last_messages: 1, reserve_tokens: 0 } });
		const outcome = await guardConversation({ conversation: parallel, policy, contextWindow: 60 });
		expect(outcome.error).toBeUndefined();
		const kept = outcome.conversation as readonly Record_[];
		expect(kept.map(({ uuid, type }) => uuid ?? type)).toEqual([
			"file-history-snapshot",
			"u1",
			"p1",
			"a4",
			"r3",
			"last-prompt",
		]);
		expect(kept.find(({ uuid }) => uuid === "a4")).toMatchObject({ parentUuid: "u1" });
	});

	it("calls of one answer that ran one after the other are one turn too", () => {
		const records = [
			user("u1", null, "Go."),
			answer("a1", "u1", "msg1", call("t1")),
			result("r1", "a1", "t1", "1"),
			answer("a2", "r1", "msg1", call("t2")),
			result("r2", "a2", "t2", "2"),
		];
		expect(sentIn(records).messages.map(({ paths }) => paths)).toEqual([[[0]], [[1], [3]], [[2]], [[4]]]);
	});

	describe("branches", () => {
		it("an edited prompt and its answers are not part of the conversation", async () => {
			const records = [
				user("u1", null, "Go."),
				answer("a1", "u1", "msg1", call("t1")),
				result("r1", "a1", "t1", outputOf("taken back")),
				user("u2", "u1", "Go, but gently."),
				answer("a2", "u2", "msg2", call("t2")),
				result("r2", "a2", "t2", outputOf("kept")),
				answer("a3", "r2", "msg3", call("t3")),
				result("r3", "a3", "t3", "ok"),
			];
			expect(sentIn(records).messages.flatMap(({ paths }) => paths)).toEqual([[0], [3], [4], [5], [6], [7]]);
			const { conversation, edits } = await maskConversation({ conversation: records, policy: masking });
			expect(edits.map(({ path }) => path)).toEqual(["/5/message/content/0/content"]);
			expect((conversation as unknown[])[2]).toBe(records[2]);
		});

		it("a result answered in a chosen record is not repeated from another branch", () => {
			const records = [
				user("u1", null, "Go."),
				answer("a1", "u1", "msg1", call("t1")),
				result("r1", "a1", "t1", "interrupted"),
				result("r2", "a1", "t1", "done"),
				answer("a2", "r2", "msg2", { type: "text", text: "Done." }),
			];
			expect(sentIn(records).messages.flatMap(({ paths }) => paths)).toEqual([[0], [1], [3], [4]]);
		});

		it("a result of another branch is not the answer of a later call with its id", async () => {
			const records = [
				user("u1", null, "Go."),
				answer("a1", "u1", "msg1", call("t1")),
				result("r1", "a1", "t1", outputOf("taken back")),
				answer("a2", "u1", "msg2", call("t2")),
				result("r2", "a2", "t2", outputOf("kept")),
				answer("a3", "r2", "msg3", call("t1")),
				answer("a4", "a3", "msg3", call("t3")),
				result("r3", "a4", "t3", "ok"),
			];
			expect(sentIn(records).messages.flatMap(({ paths }) => paths)).toEqual([[0], [3], [4], [5], [6], [7]]);
			const outcome = await maskConversation({ conversation: records, policy: masking });
			expect(outcome.error).toBeUndefined();
			expect(outcome.edits.map(({ path }) => path)).toEqual(["/4/message/content/0/content"]);
		});

		it("a result with a record that no longer leads to its call is noticed", () => {
			const records = [
				user("u1", null, "Go."),
				answer("a1", "u1", "msg1", call("t1")),
				result("r1", "a1", "t1", "ok"),
				answer("a2", "a1", "msg2", call("t1")),
				result("r2", "a2", "t1", "ok"),
				result("r3", "a2", "t9", "of no call"),
			];
			const answeredBy = (count: number) => claudeCode.answeredCalls?.(locateMessages(records.slice(0, count)));
			expect([2, 3, 4, 5, 6].map(answeredBy)).toEqual([[], ["t1"], [], ["t1"], ["t1", "t9"]]);
		});

		it("a lost parent record is replaced by the previous record in the file", () => {
			const records = [user("u1", null, "Go."), progress("p9", "lost"), user("u2", "p9", "On.")];
			expect(textsOf(records)).toEqual(["Go.", "On."]);
		});

		it("a lost record does not lead back to another branch when messages are dropped", async () => {
			const records = [
				user("u1", null, "Go."),
				user("u2", "u1", "Taken back."),
				answer("a1", "u1", "msg1", { type: "text", text: outputOf("old") }),
				user("u3", "lost", outputOf("older")),
				answer("a2", "u3", "msg2", { type: "text", text: "Done." }),
			];
			expect(sentIn(records).messages.flatMap(({ paths }) => paths)).toEqual([[0], [2], [3], [4]]);
			const policy = policyOf({ guard: { ladder: ["drop"], keep_last_messages: 1, reserve_tokens: 0 } });
			const outcome = await guardConversation({ conversation: records, policy, contextWindow: 60 });
			expect(outcome.error).toBeUndefined();
			expect(textsOf(outcome.conversation as Record_[])).toEqual(["Go.", "Done."]);
			expect(outcome.conversation).toContain(records[1]);
		});

		it("a duplicate record is sent once, and edited in both places", async () => {
			const old = result("r1", "a2", "t1", outputOf("one"));
			const records = [...parallel.slice(0, 7), old, ...parallel.slice(7)];
			const once = await maskConversation({ conversation: parallel, policy: masking });
			const twice = await maskConversation({ conversation: records, policy: masking });
			expect(twice.report.tokens).toEqual(once.report.tokens);
			expect(JSON.stringify(twice.conversation)).not.toContain("one line");
		});

		it("a duplicate record stays equal to the first after any edit in it", async () => {
			const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(4_000) } };
			const parts = [outputOf("one"), "short", outputOf("two")].map((text) => ({ type: "text", text }));
			for (const content of [parts, [...parts, image], "长".repeat(60)]) {
				const old = result("r1", "a2", "t1", content, { toolUseResult: outputOf("one") });
				const resumed = { ...old, sessionId: "s2", timestamp: "2026-02-02T00:00:00.000Z" };
				const records = [...parallel.slice(0, 6), old, resumed, ...parallel.slice(7)];
				const policy = policyOf({ media: "mask", mask: { window_turns: 1 } });
				const guard = { max_tool_result_chars: 500, truncate_head_chars: 50, truncate_tail_chars: 50 };
				const small = policyOf({ guard: { ...guard, ladder: ["truncate"] } });
				for (const outcome of [
					await maskConversation({ conversation: records, policy }),
					await guardConversation({ conversation: records, policy: small, contextWindow: 100_000 }),
				]) {
					expect(outcome.error).toBeUndefined();
					const [first, second] = (outcome.conversation as Record_[]).filter(({ uuid }) => uuid === "r1");
					expect(second?.message).toEqual(first?.message);
					if (typeof content !== "string") expect(first?.message).not.toEqual(old.message);
				}
			}
		});

		describe("different records under one uuid", () => {
			const shared = [
				...parallel.slice(0, 6),
				result("r", "a2", "t1", outputOf("one")),
				result("r", "a3", "t2", outputOf("two")),
				answer("a4", "r", "msg2", call("t3")),
				result("r3", "a4", "t3", "ok"),
			];

			it("are all read, so that no call loses its result", async () => {
				expect(sentIn(shared).messages.flatMap(({ results }) => results.map(({ callId }) => callId))).toEqual([
					"t1",
					"t2",
					"t3",
				]);
				const { conversation, report, edits } = await maskConversation({ conversation: shared, policy: masking });
				expect(report.masked_tool_results).toBe(2);
				expect(edits.map(({ tool_call_id }) => tool_call_id)).toEqual(["t1", "t2"]);
				expect(JSON.stringify(conversation)).not.toMatch(/one line|two line/);
			});

			it("are all part of the conversation, with their children", () => {
				const prompts = [
					user("u", null, "Go."),
					user("u", null, "Go, please."),
					answer("a1", "u", "msg1", { type: "text", text: "First." }),
					user("x", "a1", "One way."),
					answer("a2", "u", "msg2", { type: "text", text: "Second." }),
					user("x", "a2", "Another way."),
					answer("a3", "x", "msg3", { type: "text", text: "Done." }),
				];
				const all = ["Go.", "Go, please.", "First.", "One way.", "Second.", "Another way.", "Done."];
				expect(textsOf(prompts)).toEqual(all);
				const inCircle = [user("a", "a", "One."), user("a", "a", "Two."), user("a", "a", "Three.")];
				expect(textsOf(inCircle)).toEqual(["One.", "Two.", "Three."]);
			});

			it("are not sent when a compaction replaced one", () => {
				const summary = user("s", null, "So far: nothing.", { isCompactSummary: true });
				const records = [user("u", null, "Before."), summary, user("u", "s", "After.")];
				expect(textsOf(records)).toEqual(["So far: nothing.", "After."]);
			});

			it("stay linked to each other when one is dropped", async () => {
				const policy = policyOf({ guard: { ladder: ["drop"], keep_last_messages: 1, reserve_tokens: 0 } });
				const records = [
					user("u1", null, "Go."),
					user("x", "u1", outputOf("long")),
					user("x", "u1", "Short."),
					answer("a1", "x", "msg1", { type: "text", text: "Done." }),
				];
				for (const conversation of [records, [records[0], records[2], records[1], records[3]]]) {
					const outcome = await guardConversation({ conversation, policy, contextWindow: 60 });
					expect(outcome.error).toBeUndefined();
					expect(textsOf(outcome.conversation as Record_[])).toContain("Go.");
					expect(textsOf(outcome.conversation as Record_[])).toContain("Done.");
				}
			});

			it("in large numbers take linear time", () => {
				const many = Array.from({ length: 30_000 }, (_, index) => user("same", "same", `${index}`));
				const started = performance.now();
				expect(sentIn(many).messages).toHaveLength(30_000);
				expect(performance.now() - started).toBeLessThan(15_000);
			});
		});

		it("records after a truncated head are all read", () => {
			expect(textsOf([user("u5", "gone", "Go."), user("u6", "u5", "On.")])).toEqual(["Go.", "On."]);
		});

		it("records without ids are a plain list", () => {
			const bare = [user("", null, "Go."), user("", null, "On.")].map(({ type, message, sessionId }) => ({
				type,
				message,
				sessionId,
			}));
			expect(textsOf(bare)).toEqual(["Go.", "On."]);
		});

		it("records that form a cycle are read once each", () => {
			expect(textsOf([user("a", "b", "One."), user("b", "a", "Two.")])).toEqual(["One.", "Two."]);
		});

		it("after a compaction only the summary remains", () => {
			const boundary = { type: "system", subtype: "compact_boundary", uuid: "b", parentUuid: null, content: "…" };
			const summary = user("s", "b", "So far: nothing.", { isCompactSummary: true });
			const records = [user("u1", null, "Go."), boundary, summary, user("u2", "s", "On.")];
			expect(textsOf(records)).toEqual(["So far: nothing.", "On."]);
			expect(textsOf(records.toSpliced(1, 1))).toEqual(["So far: nothing.", "On."]);
		});
	});

	it("another agent's records are ignored, except in a file of its own", () => {
		const side = { isSidechain: true };
		const records = [
			user("u1", null, "Go."),
			user("x1", null, "You are a helper.", side),
			answer("x2", "x1", "msg9", { type: "text", text: "Helped." }, side),
			user("u2", "u1", "On."),
			user("x3", "x2", "More.", side),
		];
		expect(textsOf(records)).toEqual(["Go.", "On."]);
		expect(textsOf(records.filter(({ isSidechain }) => isSidechain))).toEqual([
			"You are a helper.",
			"Helped.",
			"More.",
		]);
	});

	it("notices of failed requests are not sent; records marked as meta are", () => {
		const notice = { role: "assistant", model: "<synthetic>", content: [{ type: "text", text: "API Error: 529" }] };
		const records = [
			user("u1", null, "Go."),
			record("e1", "u1", "assistant", notice, { isApiErrorMessage: true }),
			user("u2", "e1", "Caveat: local commands.", { isMeta: true }),
		];
		expect(textsOf(records)).toEqual(["Go.", "Caveat: local commands."]);
	});

	describe("the second copy of an output", () => {
		const output = outputOf("copy");
		const copiesOf = (toolUseResult: unknown, content: unknown = output, input?: Record_) => {
			const records = [
				user("u1", null, "Go."),
				answer("a1", "u1", "msg1", call("t1", input)),
				result("r1", "a1", "t1", content, { toolUseResult }),
			];
			const copies = sentIn(records).messages[2]?.results[0]?.copies ?? [];
			for (const { path, text } of copies) expect(valueAt(records, path)).toBe(text);
			return copies.map(({ path }) => path.slice(1).join("."));
		};
		const numbered = output.replace(/^/gm, "     7→");

		it.each<[string, unknown, string, string[]]>([
			["a string", `Error: Exit code 1\n${output}`, output, ["toolUseResult"]],
			["streams", { stdout: output, stderr: "", interrupted: false }, output, ["toolUseResult.stdout"]],
			[
				"a file",
				{ type: "text", file: { filePath: "/a.txt", content: output } },
				numbered,
				["toolUseResult.file.content"],
			],
			["parts", { content: [{ type: "text", text: output }] }, output, ["toolUseResult.content.0.text"]],
			[
				"the complete file of which a part is shown",
				{ originalFile: "x\n".repeat(200) },
				"x",
				["toolUseResult.originalFile"],
			],
			[
				"names",
				{ filenames: ["src/some/long/folder/a.ts"] },
				"src/some/long/folder/a.ts",
				["toolUseResult.filenames.0"],
			],
			["an image", { type: "image", file: { base64: "A".repeat(999) } }, output, []],
			["something else", { filePath: "/home/somebody/project/a.txt", mode: "content" }, output, []],
		])("%s", (_, kept, content, copies) => {
			expect(copiesOf(kept, content)).toEqual(copies);
		});

		it("a repetition of the call's arguments is not one, since the call stays visible", () => {
			const written = outputOf("written");
			expect(copiesOf({ newString: written }, "Done.", { new_string: written })).toEqual([]);
		});

		it("endless nesting is followed to a limited depth", () => {
			let nested: unknown = output;
			for (let depth = 0; depth < 10_000; depth += 1) nested = [nested];
			expect(copiesOf(nested)).toEqual([]);
		});

		it("is masked along with the output, and costs nothing", async () => {
			const records = [...parallel];
			records[6] = result("r1", "a2", "t1", outputOf("one"), {
				toolUseResult: { stdout: outputOf("one"), stderr: "" },
			});
			const { conversation, report } = await maskConversation({ conversation: records, policy: masking });
			const plain = await maskConversation({ conversation: parallel, policy: masking });
			expect(JSON.stringify((conversation as unknown[])[6])).not.toContain("one line");
			expect(report.tokens).toEqual(plain.report.tokens);
			expect(report.masked_tool_results).toBe(2);
		});
	});

	it.each([
		["a message of the API itself", [{ role: "user", content: "Hi" }]],
		["a record whose message has no role", [record("u", null, "user", { content: "Hi" })]],
		["records of a session without any message", [{ type: "summary", summary: "…" }]],
		["a record of another agent", [{ type: "message", message: { role: "user", content: "Hi" } }]],
		["a message without any mark of a session", [{ type: "user", message: { role: "user", content: "Hi" } }]],
		["nothing", []],
	])("does not match %s", (_, records) => {
		expect(claudeCode.probe(locateMessages(records)).fit).toBe("none");
	});
});

describe("attachments", () => {
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
		attached("h1", null, {
			type: "hook_success",
			hookEvent: "SessionStart",
			content: "Be brief.",
			stdout: "Be brief.",
		}),
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
			const total = (await guardConversation({ conversation: session, policy, contextWindow: 1_000_000 })).report
				.tokens;
			const outcome = await guardConversation({ conversation: session, policy, contextWindow: total.before - 100 });
			expect(outcome.report).toMatchObject({ fits: true, dropped_messages: 2 });
			expect(outcome.conversation).toEqual([...session.slice(0, 3), { ...session[7], parentUuid: "f1" }, session[8]]);
		});
	});
});

describe("stream", () => {
	const masking = policyOf({ mask: { window_turns: 1 } });
	const calling = (id: string, more: object = {}) => ({
		type: "assistant",
		message: { id: `msg_${id}`, role: "assistant", content: [{ type: "tool_use", id, name: "Read", input: {} }] },
		...more,
	});
	const answering = (id: string, more: object = {}) => ({
		type: "user",
		message: { content: [{ type: "tool_result", tool_use_id: id, content: outputOf(id), is_error: false }] },
		...more,
	});
	const stream = [
		{ type: "system", subtype: "init", session_id: "s", tools: ["Read"] },
		calling("a"),
		{ type: "stream_event", event: { type: "content_block_delta", delta: { text: "Le" } }, session_id: "s" },
		answering("a"),
		calling("sub", { parent_tool_use_id: "a" }),
		answering("sub", { parent_tool_use_id: "a" }),
		calling("b"),
		answering("b"),
		{ type: "result", total_cost_usd: 0.1, num_turns: 3, result: "Done." },
	];

	describe("streams of the Claude Agent SDK", () => {
		it.each([
			["an array", JSON.stringify(stream, null, 2)],
			["JSON Lines", stream.map((record) => JSON.stringify(record)).join("\n")],
			[
				"records with ids",
				JSON.stringify(stream.map((record, index) => ({ ...record, session_id: "s", uuid: `u${index}` }))),
			],
		])("masks and restores %s", async (_, text) => {
			const { outcome, restored } = await thereAndBack(text, masking);
			expect(outcome.error).toBeUndefined();
			expect(outcome.report).toMatchObject({ format: "claude-code", masked_tool_results: 1, tool_results: 2 });
			expect(restored).toBe(text);
		});

		it("refuses a stream without messages", () => {
			const settings = stream.filter(({ type }) => type === "system" || type === "result");
			expect(() => readConversation(settings)).toThrow(expect.objectContaining({ code: "not_a_conversation" }));
		});

		it("takes the type of a record for a missing role, and skips pieces and other agents", () => {
			const { format, transcript } = readConversation(stream);
			expect(format).toBe(claudeCode);
			expect(transcript.messages.map(({ role }) => role)).toEqual(["assistant", "user", "assistant", "user"]);
		});

		it("masks every result of a session that is next to the stream of the same run", async () => {
			const link = (record: object, index: number) => ({
				...record,
				sessionId: "s",
				uuid: `u${index}`,
				parentUuid: index === 0 ? null : `u${index - 1}`,
			});
			const role = { role: "user" };
			const answered = (id: string) => ({ ...answering(id), message: { ...answering(id).message, ...role } });
			const session = [calling("a"), answered("a"), calling("b"), answered("b")].map(link);
			const conversation = [...session, ...stream];
			const { conversation: masked, error } = await maskConversation({ conversation, policy: masking });
			expect(error).toBeUndefined();
			expect(JSON.stringify(masked)).not.toContain(JSON.stringify(outputOf("a")));
		});

		describe("a session and the stream of the same run in one file", () => {
			const uuidOf = (record: object) => `u-${JSON.stringify(record).length}-${stream.indexOf(record as never)}`;
			const spoken = stream.filter((one) => /^(?:user|assistant)$/.test(one.type) && !("parent_tool_use_id" in one));
			const session = spoken.map((record, index) => ({
				...record,
				message: { role: record.type, ...("message" in record ? record.message : {}) },
				sessionId: "s",
				uuid: uuidOf(record),
				parentUuid: index === 0 ? null : uuidOf(spoken[index - 1] as object),
			}));
			const streamed = stream.map((record) => ({
				...record,
				...("message" in record ? { message: { role: record.type, ...record.message } } : {}),
				session_id: "s",
				uuid: uuidOf(record),
			}));
			const alternating = streamed.flatMap((record) => {
				const own = session.find(({ uuid }) => uuid === record.uuid);
				return own ? [own, record] : [record];
			});

			it.each([
				["one after the other", [...session, ...streamed]],
				["the stream first", [...streamed, ...session]],
				["in turn", alternating],
			])("%s: masks each old result in any place, and restores every byte", async (_, records) => {
				const text = records.map((record) => `${JSON.stringify(record)}\n`).join("");
				const { outcome, masked, restored } = await thereAndBack(text, masking);
				expect(outcome.error).toBeUndefined();
				const places = (of: string, id: string) => of.split(JSON.stringify(outputOf(id))).length - 1;
				expect([places(text, "a"), places(masked, "a")]).toEqual([2, 0]);
				expect([places(text, "b"), places(masked, "b")]).toEqual([2, 2]);
				expect(restored).toBe(text);
			});
		});
	});
});

describe("unlinked", () => {
	const record = (index: number, type: string, content: unknown) => ({
		type,
		uuid: `u${index}`,
		parentUuid: null,
		sessionId: "s",
		isSidechain: false,
		message: { role: type, content },
	});
	const turn = (index: number) => [
		record(index, "assistant", [{ type: "tool_use", id: `t${index}`, name: "Read", input: {} }]),
		record(index + 1, "user", [{ type: "tool_result", tool_use_id: `t${index}`, content: outputOf(`o${index}`) }]),
	];
	const session = [record(0, "user", "Go."), ...[1, 3, 5, 7].flatMap(turn), record(9, "user", "Well?")];

	describe("a session of Claude Code without any links", () => {
		it("is the list of its records", () => {
			expect(readConversation(session).transcript.messages).toHaveLength(session.length);
		});

		it("is masked, and stays without links when messages are dropped", async () => {
			expect((await mask(session, { policy: { mask: { window_turns: 1 } } })).report.masked_tool_results).toBe(3);
			const policy = { guard: { ladder: ["drop" as const], reserve_tokens: 0 } };
			const { conversation, error } = await guard(session, { contextWindow: 900, policy });
			expect(error).toBeUndefined();
			const records = conversation as typeof session;
			expect(records.length).toBeLessThan(session.length);
			expect(records.every(({ parentUuid }) => parentUuid === null)).toBe(true);
			expect(readConversation(records).transcript.messages).toHaveLength(records.length);
		});

		it("is still two branches if a prompt was only edited before the first answer", () => {
			const edited = [record(0, "user", "Go."), record(1, "user", "Go on.")];
			expect(readConversation(edited).transcript.messages).toHaveLength(1);
		});
	});

	describe("a hook whose progress comes late", () => {
		it("does not hide the turns between its call and its progress", () => {
			const linked = session.map((one, index) => ({ ...one, parentUuid: session[index - 1]?.uuid ?? null }));
			const late = { type: "progress", uuid: "p1", parentUuid: "u1", sessionId: "s", data: { type: "hook_progress" } };
			const records = [...linked, late, { ...record(11, "user", "And now?"), parentUuid: "p1" }];
			expect(readConversation(records).transcript.messages).toHaveLength(linked.length + 1);
		});
	});
});
