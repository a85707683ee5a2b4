import { describe, expect, it } from "vitest";
import { claudeCode } from "../../src/formats/claude-code.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { maskConversation } from "../../src/operations/mask.ts";
import { policyOf } from "../support/policy-of.ts";
import { outputOf } from "../support/sample-text.ts";
import { thereAndBack } from "../support/there-and-back.ts";

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
