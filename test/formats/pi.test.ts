import { describe, expect, it } from "vitest";
import { locateMessages } from "../../src/formats/detect.ts";
import { pi } from "../../src/formats/pi.ts";
import { guardConversation } from "../../src/operations/guard.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { sentIn } from "../support/transcripts.ts";

type Json = Readonly<Record<string, unknown>>;
const masking = policyOf({ mask: { window_turns: 1 } });
const dropping = policyOf({
	guard: { ladder: ["drop"], keep_last_messages: 1, reserve_tokens: 0, pin_task: false },
});

const session = { type: "session", id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" };
const entry = (message: Json): Json => ({ type: "message", message });
const user = (text: string) => entry({ role: "user", content: [{ type: "text", text }] });
const call = (id: string) =>
	entry({ role: "assistant", content: [{ type: "toolCall", id, name: "bash", arguments: { command: "ls" } }] });
const result = (id: string, content: unknown, more: Json = {}) =>
	entry({ role: "toolResult", toolCallId: id, toolName: "bash", content, isError: false, ...more });
const text = (written: string) => [{ type: "text", text: written }];
const turn = (id: string, written: string) => [call(id), result(id, text(written))];

/** Ties records to each other as newer versions do: each to the one before it, unless it says otherwise. */
const tied = (records: readonly Json[]): Json[] =>
	records.map((record, index) => ({
		id: `e${index}`,
		parentId: index === 0 ? null : `e${index - 1}`,
		...record,
	}));

const textsOf = (records: readonly unknown[]) =>
	sentIn(records).messages.flatMap(({ counted, results }) => [
		...counted,
		...results.flatMap(({ texts }) => texts.map((node) => node.text)),
	]);

describe("pi sessions", () => {
	it("reads messages from their records; other records are not messages", async () => {
		const model = { type: "model_change", provider: "p", modelId: "m" };
		const conversation = [session, model, user("Go."), ...turn("a", outputOf("a")), ...turn("b", "ok")];
		const { messages } = sentIn(conversation);
		expect(messages.map(({ role, paths }) => [role, paths])).toEqual([
			["user", [[2]]],
			["assistant", [[3]]],
			["tool", [[4]]],
			["assistant", [[5]]],
			["tool", [[6]]],
		]);
		expect(messages[1]).toMatchObject({ calls: [{ id: "a", name: "bash" }], counted: ["bash", '{"command":"ls"}'] });
		const outcome = await maskConversation({ conversation, policy: masking });
		expect(outcome.edits).toMatchObject([
			{ path: "/4/message/content", replacement: [{ type: "text", text: expect.stringMatching(/^\[Observation/) }] },
		]);
	});

	it("thinking is tied to its place when signed", () => {
		const content = [
			{ type: "thinking", thinking: "Hm.", thinkingSignature: "c2ln" },
			{ type: "thinking", thinking: "Ah." },
			{ type: "text", text: "Yes.", textSignature: "x" },
		];
		const [message] = sentIn([session, entry({ role: "assistant", content })]).messages;
		expect(message?.counted).toEqual(["Hm.", "Ah.", "Yes."]);
		expect(message?.thinking).toEqual([
			{ path: [1, "message", "content", 0], text: "Hm.", bound: true },
			{ path: [1, "message", "content", 1], text: "Ah.", bound: false },
		]);
	});

	it("an image in a result is kept, described and counted", () => {
		const image = { type: "image", data: "AAAA", mimeType: "image/png" };
		const { messages } = sentIn([session, call("a"), result("a", [...text("Read image"), image])]);
		expect(messages[1]?.results[0]).toMatchObject({
			whole: undefined,
			texts: [{ text: "Read image" }],
			media: [{ kind: "image", mediaType: "image/png", bytes: 3 }],
		});
		expect(messages[1]?.mediaTokens).toBeGreaterThan(500);
	});

	it("failures are flagged; details that repeat the output are masked too", async () => {
		const failed = result("a", text(outputOf("a")), { isError: true });
		expect(sentIn([session, call("a"), failed]).messages[1]?.results[0]?.isError).toBe(true);
		const output = outputOf("cut");
		const details = {
			truncation: { content: `${output}\nmore`, truncated: true },
			fullOutputPath: "/tmp/some/long/path.log",
		};
		const conversation = [session, call("a"), result("a", text(output), { details }), ...turn("b", "ok")];
		const outcome = await maskConversation({ conversation, policy: masking });
		expect(outcome.edits.map(({ path }) => path)).toEqual([
			"/2/message/content",
			"/2/message/details/truncation/content",
		]);
	});

	it("reads pi's own user messages: user commands, extension messages, branch summaries", () => {
		const records = [
			session,
			entry({ role: "bashExecution", command: "ls", output: "a.txt", exitCode: 0 }),
			entry({ role: "bashExecution", command: "cat secret", output: "hidden", excludeFromContext: true }),
			{ type: "custom_message", customType: "x", content: "From an extension.", display: true },
			{ type: "custom", customType: "x", data: { state: 1 } },
			{ type: "branch_summary", fromId: "e1", summary: "Tried and left." },
			{ type: "branch_summary", fromId: "e2", summary: "" },
		];
		expect(textsOf(records)).toEqual(["ls", "a.txt", "From an extension.", "Tried and left."]);
		expect(new Set(sentIn(records).messages.map(({ role }) => role))).toEqual(new Set(["user"]));
	});

	it("the branch that ends in the last record is the conversation", async () => {
		const records = [
			session,
			...tied([user("Go."), ...turn("a", outputOf("left")), { ...user("Again."), parentId: "e0" }, ...turn("b", "ok")]),
		];
		expect(sentIn(records).messages.flatMap(({ paths }) => paths)).toEqual([[1], [4], [5], [6]]);
		const label = { type: "label", id: "l", parentId: "e2", targetId: "e1", label: "here" };
		expect(sentIn([...records, label]).messages.flatMap(({ paths }) => paths)).toEqual([[1], [2], [3]]);
	});

	describe("compaction", () => {
		const records = [user("One."), ...turn("a", "first"), user("Two."), ...turn("b", outputOf("second"))];
		const compaction = { type: "compaction", summary: "One was done.", tokensBefore: 9 };

		it("the first versions give the position of the first kept record, counting the header", () => {
			const session1 = [session, ...records, { ...compaction, firstKeptEntryIndex: 4 }, user("Three.")];
			expect(textsOf(session1).slice(0, 1)).toEqual(["Two."]);
			expect(textsOf(session1).at(-1)).toBe("Three.");
			expect(sentIn(session1).surroundings).toEqual(["One was done."]);
		});

		it.each<[unknown, string]>([
			["e3", "Two."],
			["e0", "One."],
			[null, "Three."],
			["gone", "Three."],
		])("newer ones name it: %j", (firstKeptEntryId, first) => {
			const session2 = [session, ...tied([...records, { ...compaction, firstKeptEntryId }, user("Three.")])];
			expect(textsOf(session2)[0]).toBe(first);
		});

		it("Letta Code keeps the message with the summary beside the summary, which is then read once", () => {
			const { message } = user(`{"type":"system_alert","message":"${compaction.summary}"}`);
			const conversation = [session, ...tied([...records, { ...compaction, message, firstKeptEntryId: null }])];
			const { messages, surroundings } = sentIn(conversation);
			expect([messages.map(({ role }) => role), surroundings]).toEqual([["user"], []]);
		});

		it("when the first kept record is dropped, the compaction names the next one that stays", async () => {
			const more = [...turn("c", outputOf("third")), user("Three.")];
			const conversation = [session, ...tied([...records, { ...compaction, firstKeptEntryId: "e3" }, ...more])];
			const before = sentIn(conversation).messages.length;
			const kept = new Set<unknown>();
			for (let contextWindow = 20; contextWindow < 1_500; contextWindow += 20) {
				const outcome = await guardConversation({ conversation, policy: dropping, contextWindow });
				expect(outcome.error).toBeUndefined();
				const after = outcome.conversation as Json[];
				const dropped = new Set(outcome.edits.flatMap(({ kind, message }) => (kind === "remove" ? [message] : [])));
				expect(sentIn(after).messages).toHaveLength(before - dropped.size);
				kept.add(after.find(({ type }) => type === "compaction")?.firstKeptEntryId);
			}
			expect([...kept]).toEqual(["e6", "e4", "e3"]);
		});
	});

	it("an edit of the context removes a message or replaces its content", async () => {
		const output = outputOf("replaced");
		const edits = [
			{ type: "context_edit", targetId: "e0", replacement: null },
			{ type: "context_edit", targetId: "e2", replacement: { content: text(output) } },
		];
		const conversation = [
			session,
			...tied([user("Secret."), ...turn("a", outputOf("raw")), ...edits, ...turn("b", "ok")]),
		];
		expect(textsOf(conversation)).toEqual(["bash", '{"command":"ls"}', output, "bash", '{"command":"ls"}', "ok"]);
		const outcome = await maskConversation({ conversation, policy: masking });
		expect(outcome.error).toBeUndefined();
		expect(outcome.edits.map(({ path }) => path)).toEqual(["/5/replacement/content"]);
	});

	it.each([
		["messages without records around them", [{ role: "user", content: "Hi" }]],
		["items of the Responses API", [{ type: "message", role: "user", content: "Hi" }]],
		["records without any message", [session]],
		["a record whose message has no role", [session, entry({ content: "Hi" })]],
		["nothing", []],
	])("does not match %s", (_, records) => {
		expect(pi.probe(locateMessages(records)).fit).toBe("none");
	});
});
