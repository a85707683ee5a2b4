import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { codexRollout } from "../../src/formats/codex.ts";
import { locateMessages, readConversation } from "../../src/formats/detect.ts";
import { compact } from "../../src/library.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { sentIn } from "../support/transcripts.ts";

type Json = Readonly<Record<string, unknown>>;

const masking = policyOf({ mask: { window_turns: 1 } });

const line = (type: string, payload: Json) => ({ timestamp: "2026-01-01T00:00:00.000Z", type, payload });

const item = (payload: Json) => line("response_item", payload);

const event = (payload: Json) => line("event_msg", payload);

const meta = line("session_meta", { id: "s", cwd: "/", base_instructions: { text: "You are Codex." } });

const said = (role: string, text: string): Json => ({
	type: "message",
	role,
	content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
});

const reasoning: Json = {
	type: "reasoning",
	summary: [{ type: "summary_text", text: "Look first." }],
	encrypted_content: "A".repeat(2_000),
};

const call = (id: string): Json => ({
	type: "function_call",
	name: "exec_command",
	arguments: '{"cmd":"ls"}',
	call_id: id,
});

const output = (id: string, content: unknown): Json => ({ type: "function_call_output", call_id: id, output: content });

const turn = (id: string, content: unknown) => [item(call(id)), item(output(id, content))];

const rolesOf = (records: readonly unknown[]) => sentIn(records).messages.map(({ role }) => role);

const textsOf = (records: readonly unknown[]) => sentIn(records).messages.flatMap(({ counted }) => counted);

const firstResult = (...records: readonly unknown[]) =>
	sentIn([meta, ...records]).messages.flatMap(({ results }) => results)[0];

describe("Codex rollouts", () => {
	const records = [
		meta,
		item(said("developer", "Be careful.")),
		line("turn_context", { model: "some-model" }),
		item(said("user", "Look around.")),
		event({ type: "user_message", message: "Look around." }),
		item(reasoning),
		event({ type: "agent_message", message: "I look." }),
		item(said("assistant", "I look.")),
		item(call("a")),
		item({ type: "custom_tool_call", call_id: "b", name: "apply_patch", input: "*** Begin Patch" }),
		item(output("a", outputOf("one"))),
		item({ type: "custom_tool_call_output", call_id: "b", output: outputOf("two") }),
		...turn("c", "ok"),
	];

	it("reasoning, text and calls of one answer are one message; the instructions are sent with each request", () => {
		const { messages, surroundings } = sentIn(records);
		expect(surroundings).toEqual(["You are Codex."]);
		expect(messages.map(({ role, paths }) => [role, paths.map(([index]) => index)])).toEqual([
			["system", [1]],
			["user", [3]],
			["assistant", [5, 7, 8, 9]],
			["tool", [10]],
			["tool", [11]],
			["assistant", [12]],
			["tool", [13]],
		]);
		expect(messages[2]?.calls).toEqual([
			{ id: "a", name: "exec_command" },
			{ id: "b", name: "apply_patch" },
		]);
		expect(messages[2]?.counted).toEqual([
			"Look first.",
			"I look.",
			"exec_command",
			'{"cmd":"ls"}',
			"apply_patch",
			"*** Begin Patch",
		]);
		expect(messages[2]?.thinking).toEqual([{ path: [5, "payload"], text: "Look first.", bound: false, fixed: true }]);
		expect(messages[2]?.mediaTokens).toBe(Math.ceil((1_500 - 650) / 4));
	});

	it("masks the outputs of old answers, and keeps all other records identical", async () => {
		const { conversation, edits } = await maskConversation({ conversation: records, policy: masking });
		expect(edits.map(({ path }) => path)).toEqual(["/10/payload/output", "/11/payload/output"]);
		(conversation as unknown[]).forEach((record, index) => {
			if (index !== 10 && index !== 11) expect(record).toBe(records[index]);
		});
	});

	it("drops an answer with its reasoning, its calls and their outputs", async () => {
		const policy = policyOf({ guard: { ladder: ["drop"], keep_last_messages: 1, reserve_tokens: 0 } });
		const outcome = await guardConversation({ conversation: records, policy, contextWindow: 70 });
		expect(outcome.error).toBeUndefined();
		expect(rolesOf(outcome.conversation as unknown[])).toEqual(["system", "user", "assistant", "tool"]);
		expect(outcome.conversation).toContain(records[6]);
	});

	it("reads other calls: local shell, tool search, and opaque tools of the provider", () => {
		const { messages } = sentIn([
			meta,
			item({ type: "local_shell_call", id: "l1", call_id: null, status: "completed", action: { command: ["ls"] } }),
			item({ type: "tool_search_call", call_id: "s1", arguments: { query: "pull requests" } }),
			item({ type: "web_search_call", status: "completed", action: { type: "search", query: "x" } }),
			item({ type: "ghost_snapshot", ghost_commit: { id: "abc" } }),
			item(output("l1", "a.txt")),
			item({ type: "tool_search_output", call_id: "s1", tools: [{ name: "get_pull_request" }] }),
		]);
		expect(messages[0]?.calls).toEqual([
			{ id: "l1", name: "local_shell" },
			{ id: "s1", name: "tool_search" },
		]);
		expect(messages[0]?.counted.at(-1)).toBe('{"type":"search","query":"x"}');
		expect(messages[2]).toMatchObject({ counted: ['[{"name":"get_pull_request"}]'] });
		expect(messages[2]?.results[0]).toMatchObject({ callId: "s1", texts: [], whole: undefined });
		expect(messages).toHaveLength(3);
	});

	it("separates adjacent answers by events; a late output ends none", () => {
		const [end, late] = [event({ type: "token_count", info: null }), item(output("gone", "late"))];
		const pathsOf = (...lines: unknown[]) => sentIn([meta, ...lines]).messages.map(({ paths }) => paths.flat());
		const text = item(said("assistant", "I look."));
		expect(pathsOf(text, item(call("a")))).toEqual([[1, 2]]);
		expect(pathsOf(text, end, item(call("a")))).toEqual([[1], [3]]);
		expect(pathsOf(text, late, item(call("a")))).toEqual([[1, 3], [2]]);
	});

	describe("outputs", () => {
		const text = outputOf("text");
		const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
		const writeOf = (content: unknown) => firstResult(...turn("a", content))?.whole?.write("short");

		it.each<[string, unknown, unknown, unknown]>([
			["a string", text, "short", undefined],
			["a string of JSON", JSON.stringify({ output: text, metadata: { exit_code: 1 } }), "short", undefined],
			["parts", [{ type: "input_text", text, x: 1 }], [{ type: "input_text", text: "short", x: 1 }], undefined],
			["an object with `content`", { content: text, success: false }, "short", true],
			["an object with `output`", { output: text, metadata: { exit_code: 0 } }, "short", false],
			["an object of another kind", { rows: [1] }, undefined, undefined],
			["null", null, undefined, undefined],
		])("%s", (_, content, written, isError) => {
			expect(writeOf(content)).toEqual(written);
			expect(firstResult(...turn("a", content))?.isError).toBe(isError);
		});

		it("an image among them is kept, described and counted", () => {
			const { messages } = sentIn([meta, ...turn("a", [{ type: "input_text", text }, image])]);
			const [result] = messages[1]?.results ?? [];
			expect(result).toMatchObject({ whole: undefined, texts: [{ text }] });
			expect(result?.media).toMatchObject([{ kind: "image", mediaType: "image/png", bytes: 3 }]);
			expect(result?.media[0]?.write("gone")).toEqual({ type: "input_text", text: "gone" });
			expect(messages[1]?.mediaTokens).toBe(result?.media[0]?.tokens);
		});

		it("the end event of a call repeats the output and says whether it failed", async () => {
			const ended = event({
				type: "exec_command_end",
				call_id: "a",
				command: ["npm", "test", "--", "a-long-argument-of-the-call"],
				stdout: text,
				stderr: "",
				aggregated_output: text,
				formatted_output: text,
				exit_code: 0,
			});
			const result = firstResult(item(call("a")), ended, item(output("a", `Exit code: 0\n${text}`)));
			expect(result?.copies.map(({ path }) => path.join("/"))).toEqual([
				"2/payload/stdout",
				"2/payload/aggregated_output",
				"2/payload/formatted_output",
			]);
			expect(result?.isError).toBe(false);
			const conversation = [meta, item(call("a")), ended, item(output("a", text)), ...turn("b", "ok")];
			const outcome = await maskConversation({ conversation, policy: masking });
			expect(outcome.error).toBeUndefined();
			expect(JSON.stringify(outcome.conversation)).not.toContain("text line");
		});

		it("an event belongs to the nearest output, before or after it, since ids are reused", () => {
			const ended = (stdout: string) => event({ type: "exec_command_end", call_id: "a", stdout, exit_code: 0 });
			const [one, two] = [outputOf("one"), outputOf("two")];
			const { messages } = sentIn([
				meta,
				item(call("a")),
				ended(one),
				item(output("a", one)),
				...turn("a", two),
				ended(two),
			]);
			const copies = messages.flatMap(({ results }) =>
				results.map((result) => result.copies.map(({ path }) => path[0])),
			);
			expect(copies).toEqual([[2], [6]]);
		});

		it.each<[Json, boolean]>([
			[{ type: "patch_apply_end", call_id: "a", stdout: "", stderr: "no", success: false }, true],
			[{ type: "mcp_tool_call_end", call_id: "a", result: { Err: "closed" } }, true],
			[{ type: "mcp_tool_call_end", call_id: "a", result: { Ok: { content: [], isError: true } } }, true],
			[{ type: "mcp_tool_call_end", call_id: "a", result: { Ok: { content: [], isError: false } } }, false],
		])("reads failure from %j", (payload, isError) => {
			expect(firstResult(item(call("a")), event(payload), item(output("a", text)))?.isError).toBe(isError);
		});
	});

	describe("history that was replaced", () => {
		const before = [meta, item(said("user", "Go.")), ...turn("a", outputOf("old"))];

		it("a compaction's history replaces everything before it, and is edited in its record", async () => {
			const history = [
				said("user", "Go."),
				call("k"),
				output("k", outputOf("kept")),
				{ type: "compaction", encrypted_content: "" },
			];
			const compacted = line("compacted", { message: "", replacement_history: history });
			const conversation = [...before, compacted, ...turn("b", "ok")];
			expect(rolesOf(conversation)).toEqual(["user", "assistant", "tool", "system", "assistant", "tool"]);
			expect(pairResults(sentIn(conversation)).map(({ caller }) => caller)).toEqual([1, 4]);
			const { edits } = await maskConversation({ conversation, policy: masking });
			expect(edits.map(({ path }) => path)).toEqual(["/3/payload/output", "/4/payload/replacement_history/2/output"]);
		});

		it("an older compaction keeps all but the assistant's messages, and its summary is sent with each request", () => {
			const conversation = [...before, line("compacted", { message: "Looked." }), ...turn("b", "ok")];
			expect(rolesOf(conversation)).toEqual(["user", "assistant", "tool"]);
			expect(sentIn(conversation).surroundings).toEqual(["You are Codex.", "Looked."]);
		});

		it("a rollback removes turns, counted by user messages", () => {
			const rollback = event({ type: "thread_rolled_back", num_turns: 1 });
			const context = item(said("user", "<environment_context>…</environment_context>"));
			const second = [item(said("user", "Wrong.")), ...turn("b", "no"), context];
			expect(textsOf([...before, ...second, rollback, item(said("user", "Right."))])).toEqual([
				"Go.",
				"exec_command",
				'{"cmd":"ls"}',
				"Right.",
			]);
		});

		it("the header of the forked session is not a second header", () => {
			expect(sentIn([meta, ...before]).surroundings).toEqual(["You are Codex."]);
		});
	});

	it("the first versions wrote items without records around them", () => {
		const header = { id: "s", timestamp: "2025-05-01T00:00:00Z", instructions: "You are Codex." };
		const bare = [header, { record_type: "state" }, said("user", "Go."), call("a"), output("a", "ok")];
		const { format, transcript } = readConversation(bare);
		expect(format).toBe(codexRollout);
		expect(transcript.surroundings).toEqual(["You are Codex."]);
		expect(transcript.messages.map(({ role, paths }) => [role, paths])).toEqual([
			["user", [[2]]],
			["assistant", [[3]]],
			["tool", [[4]]],
		]);
	});

	it.each([
		["items of the API itself", [said("user", "Hi"), call("a")]],
		["a record without `payload`", [meta, said("user", "Hi")]],
		["only records of other types", [{ type: "span", payload: {} }]],
		["nothing", []],
	])("does not match %s", (_, records) => {
		expect(codexRollout.probe(locateMessages(records)).fit).toBe("none");
	});
});

describe("compacted", () => {
	const line = (type: string, payload: object) => ({ timestamp: "t", type, payload });
	const item = (payload: object) => line("response_item", payload);
	const said = (role: string, text: string) => ({
		type: "message",
		role,
		content: [{ type: role === "user" ? "input_text" : "output_text", text }],
	});
	const call = (id: string) => ({ type: "function_call", name: "exec", arguments: "{}", call_id: id });
	const output = (id: string, text: string) => ({ type: "function_call_output", call_id: id, output: text });
	const turn = (id: string) => [item(call(id)), item(output(id, outputOf(id)))];

	const history = [said("user", "Go."), said("user", outputOf("asked")), said("user", "So far: a listing.")];
	const session = [
		line("session_meta", { id: "s", instructions: "Be careful." }),
		item(said("user", "Go.")),
		...turn("a"),
		line("compacted", { message: "", replacement_history: history }),
		...turn("b"),
		...turn("c"),
	];
	const text = "All of it, in short.";

	/** What would be sent of a session: the role of each message and whether it holds the summary. */
	function sentOf(conversation: unknown) {
		const { messages } = readConversation(conversation).transcript;
		const sent = messages.filter((message) => message.sent !== false);
		return sent.map(({ role, counted }) => [role, counted.some((one) => one.includes(text))]);
	}

	describe("a summary of a Codex session that was compacted before", () => {
		it.each([1, 2, 4])(
			"is sent instead of the messages it summarises, with the last %i messages kept",
			async (kept) => {
				const { conversation, report, error } = await compact(session, {
					summary: text,
					policy: { compaction: { strategy: "llm-summary", keep_last_messages: kept } },
				});
				expect(error).toBeUndefined();
				const sent = sentOf(conversation);
				expect(sent.slice(0, 2)).toEqual([
					["user", false],
					["user", true],
				]);
				expect(sent.length).toBeLessThan(sentOf(session).length);
				expect(report.tokens.after).toBe((await compact(conversation, { force: false })).report.tokens.before);
			},
		);

		it("is an item of the compaction's own history", async () => {
			const { conversation } = await compact(session, {
				summary: text,
				policy: { compaction: { strategy: "llm-summary", keep_last_messages: 5 } },
			});
			const { payload } = conversation[4] as { payload: { replacement_history: unknown[] } };
			expect(payload.replacement_history[0]).toBe(history[0]);
			expect(payload.replacement_history[1]).toEqual(said("user", expect.stringContaining(text)));
		});
	});
});
