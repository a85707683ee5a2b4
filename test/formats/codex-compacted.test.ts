import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { compact } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";

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
	it.each([1, 2, 4])("is sent instead of the messages it summarises, with the last %i messages kept", async (kept) => {
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
	});

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
