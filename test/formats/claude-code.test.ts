import { describe, expect, it } from "vitest";
import { valueAt } from "../../src/engine/conversation/paths.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { claudeCode } from "../../src/formats/claude-code.ts";
import { locateMessages } from "../../src/formats/detect.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
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
