import { describe, expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { readRecording } from "../../src/formats/recording.ts";

const stream = (...events: readonly (readonly [string, unknown])[]) =>
	events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join("");
const messagesOf = (text: string) => readConversation(readRecording(text)?.conversation).transcript.messages;

describe("event streams", () => {
	it("puts the pieces of messages together, and pairs results without an id", () => {
		const call = { name: "look", args: { path: "a" }, id: "" };
		const text = stream(
			["message_chunk", { id: "u", role: "user", content: "Look." }],
			["message_chunk", { id: "m", role: "assistant", content: "Let me " }],
			["message_chunk", { id: "m", role: "assistant", content: "see." }],
			["tool_calls", { id: "m", role: "assistant", tool_calls: [call], tool_call_chunks: [{ args: '{"path":"a"}' }] }],
			["tool_call_result", { id: "r", role: "assistant", content: "found", tool_call_id: "" }],
		);
		expect(readRecording(text)?.kind).toBe("event stream");
		const messages = messagesOf(`: a comment\n\n${text}data: [DONE]\n\n`);
		expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
		expect(messages[1]).toMatchObject({ counted: ["look", '{"path":"a"}', "Let me see."] });
		expect(messages[2]?.results[0]?.callId).toBe(messages[1]?.calls[0]?.id);
	});

	it("joins the messages that each node added, without messages of other graphs", () => {
		const call = { name: "look", args: {}, id: "a", type: "tool_call" };
		const text = stream(
			["metadata", { run_id: "r" }],
			["updates", { model: { messages: [{ type: "ai", content: "I look.", tool_calls: [call] }] } }],
			["updates|tools:1", { model: { messages: [{ type: "ai", content: "Elsewhere." }] } }],
			["updates", { tools: { messages: [{ type: "tool", content: "found", tool_call_id: "a" }] }, other: null }],
		);
		const messages = messagesOf(text);
		expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool"]);
		expect(messages[1]?.results).toMatchObject([{ callId: "a" }]);
	});

	it("joins the arguments of a call that come in chunks, and pairs results by their id", () => {
		const chunk = (args: string) =>
			["tool_call_chunks", { id: "m", role: "assistant", tool_call_chunks: [{ args }] }] as const;
		const text = stream(
			[
				"tool_calls",
				{
					id: "m",
					role: "assistant",
					tool_calls: [{ name: "look", args: {}, id: "a" }],
					tool_call_chunks: [{ args: "" }],
				},
			],
			chunk('{"path":'),
			chunk('"a"}'),
			["tool_call_result", { role: "assistant", content: "found", tool_call_id: "a" }],
		);
		const [answer, result] = messagesOf(text);
		expect(answer).toMatchObject({
			calls: [{ id: "a", name: "look" }],
			counted: expect.arrayContaining(['{"path":"a"}']),
		});
		expect(result?.results).toMatchObject([{ callId: "a" }]);
	});

	it("reads the last state, or the messages that a LangGraph server sends", () => {
		const human = { type: "human", content: "Look.", id: "h" };
		const ai = (content: string) => ({ type: "ai", content, id: "m" });
		const states = stream(
			["values", { messages: [human] }],
			["values", { messages: [human, ai("Done.")] }],
			["end", null],
		);
		const partial = stream(
			["messages/complete", [human]],
			["messages/partial", [ai("Do")]],
			["messages/partial", [ai("Done.")]],
		);
		const pieces = stream(["messages", [human, {}]], ["messages", [ai("Do"), {}]], ["messages", [ai("ne."), {}]]);
		for (const text of [states, partial, pieces]) {
			expect(messagesOf(text).map(({ counted }) => counted)).toEqual([["Look."], ["Done."]]);
		}
	});

	it.each(["", "plain text", "{", '{"data": 1}', "event: x\ndata: y\n\n", "key: value\n"])("%j is none", (text) => {
		expect(readRecording(text)).toBeUndefined();
	});
});

const history = `
# aider chat started at 2026-01-02 03:04:05

> Aider v0.86.0
> Main model: m with diff edit format

#### Rename it.  
#### Then test it.

Here is the change:

\`\`\`
a.py
\`\`\`

> Applied edit to a.py
> Commit 1234567 feat: rename

# aider chat started at 2026-01-03 03:04:05

#### /run pytest

> 2 passed
> Add command output to the chat?

#### Good?

Yes.
`;

describe("Aider's chat history", () => {
	it("has the words of user and model, over all chats of the file", () => {
		const messages = [
			{ role: "user", content: "Rename it.  \nThen test it." },
			{ role: "assistant", content: "\nHere is the change:\n\n```\na.py\n```\n" },
			{ role: "user", content: "/run pytest" },
			{ role: "user", content: "Good?" },
			{ role: "assistant", content: "\nYes.\n" },
		];
		const expected = { kind: "Aider chat history", conversation: { messages } };
		expect(readRecording(history)).toEqual(expected);
		expect(readRecording(history.replaceAll("\n", "\r\n"))).toEqual(expected);
	});

	it("does not include other Markdown", () => {
		expect(readRecording("# Notes\n\n#### Go.\n")).toBeUndefined();
		expect(readRecording(`Intro.\n${history}`)).toBeUndefined();
		expect(readRecording("# aider chat started at 2026-01-02 03:04:05\n")).toEqual({
			kind: "Aider chat history",
			conversation: { messages: [] },
		});
	});
});

const messages = [
	{ role: "user", content: `Look: "quoted" \\ 'single' \u{1f600} é\n\nand on. ${"word ".repeat(40)}` },
	{ role: "assistant", content: "Done." },
];
const body = JSON.stringify({ model: "some-model", messages });
const short = JSON.stringify({ messages: [messages[0]] });

const cassette = (...bodies: readonly string[]) =>
	[
		"---",
		"version: 2",
		"interactions:",
		...bodies.flatMap((one, id) => [
			`- id: ${id}`,
			"  request:",
			`    body: ${one}`,
			"    headers: {}",
			"  response:",
			`    body: '${JSON.stringify({ messages: [1, 2, 3, 4] })}'`,
		]),
		"",
	].join("\n");

/** A quoted scalar over several lines: each space at which it breaks is a line break. */
const wrapped = (text: string, indent = "      ") => text.replaceAll(/ (?=word)/g, `\n${indent}`);
const single = `'${body.replaceAll("'", "''")}'`;
const double = `"${body.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\u{1f600}", "\\U0001F600").replaceAll("é", "\\xE9")}"`;

describe("VCR cassettes", () => {
	it.each([
		["in single quotes", cassette(single)],
		["in single quotes over several lines", cassette(wrapped(single))],
		["in double quotes", cassette(double)],
		["in double quotes with escaped line ends", cassette(double.replaceAll(" word", " \\\n      word"))],
		["in a block", cassette(`|-\n      ${body}`)],
		["in a folded block", cassette(`>\n      ${body}\n`)],
		["plain on a line", cassette(body)],
		["of Ruby", `http_interactions:\n- request:\n    body:\n      encoding: UTF-8\n      string: ${single}\n`],
	])("reads a body %s", (_, text) => {
		expect(readRecording(text)).toEqual({ kind: "VCR cassette", conversation: JSON.parse(body) });
	});

	it("takes the longest conversation, of equals the last, and no response", () => {
		const later = JSON.stringify({ model: "later", messages });
		expect(
			readRecording(cassette(`'${short.replaceAll("'", "''")}'`, double, `'${later.replaceAll("'", "''")}'`))
				?.conversation,
		).toEqual(JSON.parse(later));
	});

	it("reads a body in which a masked secret left a single backslash", () => {
		const spoilt = `'{"messages":[{"role":"user","content":"a\\\\n \\xxxx"}]}'`;
		expect(readRecording(cassette(spoilt))?.conversation).toEqual({
			messages: [{ role: "user", content: "a\\n \\xxxx" }],
		});
	});

	it.each([
		"interactions: []\n",
		"interactions:\n- request:\n    body: 'no JSON'\n",
		'interactions:\n- request:\n    body: "open\n',
		"a: b\n",
	])("%j is none", (text) => {
		expect(readRecording(text)).toBeUndefined();
	});
});
