import { describe, expect, it } from "vitest";
import { applyRecords } from "../support/promise-checker.ts";
import { rawServer } from "../support/raw-server.ts";
import { textOfLength } from "../support/sample-text.ts";
import { answerText, stdioSession } from "../support/stdio-session.ts";

/** A conversation of so many tool turns, with results of 10 000 characters or as long as told. */
function conversationOf(turns: number, text = textOfLength(10_000)) {
	const turn = (index: number) => [
		{
			role: "assistant",
			content: null,
			tool_calls: [{ id: `call_${index}`, type: "function", function: { name: "look", arguments: `{"at":${index}}` } }],
		},
		{ role: "tool", tool_call_id: `call_${index}`, content: `${index}: ${text}` },
	];
	return [{ role: "user", content: "Go." }, ...Array.from({ length: turns }, (_, index) => turn(index)).flat()];
}

describe("with the SDK's client", () => {
	it("a conversation of 8 MB is masked, and its edits take a few hundred kB", async () => {
		const session = await stdioSession({ inProcess: true });
		const messages = conversationOf(800);
		expect(JSON.stringify(messages).length).toBeGreaterThan(8_000_000);
		const { structuredContent, isError } = await session.call("mask_conversation", {
			messages,
			respond_with: "edits",
		});
		expect(isError).toBeUndefined();
		const { edits, report } = structuredContent as { edits: []; report: object };
		expect(report).toMatchObject({ changed: true, tool_results: 800, masked_tool_results: 792 });
		expect(edits).toHaveLength(792);
		const masked = applyRecords(messages, edits) as { role: string; content: string }[];
		expect(masked.filter(({ content }) => content?.length > 1_000)).toHaveLength(8);
		expect(masked.filter(({ role }) => role !== "tool")).toEqual(messages.filter(({ role }) => role !== "tool"));
		expect(session.protocolErrors).toEqual([]);
	});

	it("multi-byte characters and escapes arrive unchanged", async () => {
		const session = await stdioSession();
		const odd = 'é 中文 🙂 \u2028 \ud800 \\ " \u0000 \r\n';
		const messages = conversationOf(10, odd.repeat(1_000));
		const parameters = { messages, policy: { mask: { enabled: false } } };
		const { structuredContent } = await session.call("mask_conversation", parameters);
		expect(structuredContent?.messages).toEqual(messages);
		expect(session.protocolErrors).toEqual([]);
	});

	it.each([
		["a summary", "auto"],
		["the whole", "full"],
	] as const)("the text of a large answer is %s when the policy says %s", async (_what, text) => {
		const session = await stdioSession({ parameters: ["--set", `text=${text}`] });
		const messages = conversationOf(30);
		const answer = await session.call("mask_conversation", { messages, policy: { mask: { window_turns: 30 } } });
		expect(answer.structuredContent?.messages).toEqual(messages);
		expect(JSON.stringify(answer.structuredContent).length).toBeGreaterThan(256_000);
		if (text === "full") expect(JSON.parse(answerText(answer))).toEqual(answer.structuredContent);
		else
			expect(answerText(answer)).toMatch(
				/^This answer is 3\d{5} bytes of JSON.*\nThe conversation: messages 61 → 61, /,
			);
		const { report } = answer.structuredContent as { report: object };
		const small = await session.call("mask_conversation", { messages, respond_with: "report" });
		expect(JSON.parse(answerText(small))).toEqual(small.structuredContent);
		expect(Object.keys(small.structuredContent?.report as object)).toEqual(Object.keys(report));
	});

	it("the policy of a call may request the full text", async () => {
		const session = await stdioSession();
		const parameters = { messages: conversationOf(30), policy: { text: "full", mask: { enabled: false } } };
		const answer = await session.call("mask_conversation", parameters);
		expect(JSON.parse(answerText(answer))).toEqual(answer.structuredContent);
	});
});

it("a client that sends more than it reads gets every answer in order once it reads", async () => {
	const server = await rawServer();
	server.child.stdout.pause();
	const text = textOfLength(1_500_000);
	const ids = Array.from({ length: 25 }, (_, index) => index + 1);
	for (const id of ids) server.call(id, "truncate_output", { text: `${id} ${text}`, max_chars: 4_000_000 });
	server.child.stdout.resume();
	for (const id of ids) {
		const { result } = await server.answer(id);
		expect(String(result?.structuredContent?.text).startsWith(`${id} `)).toBe(true);
	}
	expect(server.lines.map((line) => JSON.parse(line).id)).toEqual([0, ...ids]);
	server.child.stdin.end();
	expect(await server.ended).toEqual({ code: 0, signal: null });
	expect(server.stderr()).toBe("");
});
