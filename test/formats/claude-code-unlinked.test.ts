import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { guard, mask } from "../../src/library.ts";
import { outputOf } from "../support/sample-text.ts";

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
