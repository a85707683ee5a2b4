import { describe, expect, it } from "vitest";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import type { Policy } from "../../src/engine/policy/schema.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { outputOf } from "../support/sample-text.ts";
import { openaiMessages, toolTurn } from "../support/script.ts";
import { type ProtocolSample, protocolConversation, protocolSamples } from "../support/text-protocols.ts";

type Observations = Policy["mask"]["observations"];

function pairsOf(document: unknown, observations?: Observations) {
	return pairResults(readConversation(document, observations).transcript).map(({ result, call, caller, message }) => ({
		from: caller,
		to: message,
		id: result.callId,
		tool: call?.name,
		text: result.texts[0]?.text,
	}));
}

const sample = protocolSamples.find(({ name }) => name === "mini-swe-agent") as ProtocolSample;
const output = outputOf("fox");
const text = (value: string) => ({ type: "text", text: value });
const use = (id: string, name: string) => ({ type: "tool_use", id, name, input: { path: id } });

describe("whether observations are read (docs/strategies.md#observations)", () => {
	const native = openaiMessages(toolTurn("call_a", output));
	const spoken = protocolConversation(sample, [output]);

	it.each<[string, readonly unknown[], Observations, number]>([
		["`auto`, in a conversation without other results", spoken, "auto", 1],
		["`auto`, with other results after the first observation", [...spoken, ...native], "auto", 2],
		["`auto`, with a result before the first observation", [...native, ...spoken], "auto", 1],
		["`true`, with a result before the first observation", [...native, ...spoken], true, 2],
		["`false`", spoken, false, 0],
		["a list of patterns, which adds to the known ones", [...native, ...spoken], [], 2],
	])("%s", (_, document, observations, count) => {
		expect(pairsOf(document, observations)).toHaveLength(count);
	});

	it.each(protocolSamples)("`true`, with a result before: only marks that no person writes ($name)", (one) => {
		const found = pairsOf([...native, ...protocolConversation(one, [output])], true);
		expect(found).toHaveLength(/ReAct|Aider|XML|before/.test(one.name) ? 1 : 2);
	});

	it("by default as `auto`", () => {
		expect(pairsOf(spoken)).toEqual(pairsOf(spoken, "auto"));
	});

	it("no later message changes which of the earlier ones are observations", () => {
		const all = [...protocolConversation(sample), ...native, ...spoken];
		for (const observations of ["auto", true] as const) {
			const whole = pairsOf(all, observations);
			for (let length = 1; length <= all.length; length += 1) {
				const some = pairsOf(all.slice(0, length), observations);
				expect(some).toEqual(whole.slice(0, some.length));
			}
		}
	});

	it("an action that nothing answers is not a call", () => {
		const { transcript } = readConversation([...spoken, { role: "assistant", content: sample.action("g.py") }]);
		expect(transcript.messages.map(({ calls }) => calls.length)).toEqual([0, 1, 0, 0]);
	});
});

describe("where observations are read", () => {
	const messages = protocolConversation(sample, [output]);

	it.each<[string, unknown, string]>([
		["a list of messages", messages, "openai-chat"],
		["a request body", { model: "m", messages }, "openai-chat"],
		[
			"a run of SWE-agent",
			{ environment: "e", trajectory: [{ action: "ls", observation: output }], history: messages, info: {} },
			"openai-chat",
		],
		[
			"blocks of Anthropic",
			messages.map((one) => ({ ...one, content: [text(one.content as string)] })),
			"anthropic-messages",
		],
		[
			"parts of Gemini",
			{
				contents: messages.map(({ role, content }) => ({
					role: role === "user" ? role : "model",
					parts: [{ text: content }],
				})),
			},
			"gemini",
		],
		[
			"items of OpenAI Responses",
			{
				input: messages.map(({ role, content }) => ({
					type: "message",
					role,
					content: [{ type: role === "user" ? "input_text" : "output_text", text: content }],
				})),
			},
			"openai-responses",
		],
		[
			"messages of Bedrock",
			{
				system: [{ text: "s" }],
				messages: messages.map(({ role, content }) => ({ role, content: [{ text: content }] })),
			},
			"bedrock-converse",
		],
	])("%s", (_, document, format) => {
		const read = readConversation(document);
		expect(read.format.name).toBe(format);
		expect(pairResults(read.transcript)).toMatchObject([
			{ result: { texts: [{ text: `<output>\n${output}\n</output>` }] } },
		]);
	});
});

describe("pairing by position", () => {
	it("an observation answers the call of the API that has no result: by name, else in order", () => {
		const conversation = [
			{ role: "user", content: [text("Task.")] },
			{
				role: "assistant",
				content: [text("I look."), use("a", "list_files"), use("b", "read_file"), use("c", "read_file")],
			},
			{
				role: "user",
				content: [
					text("[read_file for 'b'] Result:"),
					text(outputOf("b")),
					text("[list_files for 'a'] Result:"),
					text(outputOf("a")),
					text("[other for 'c'] Result:"),
					text(outputOf("c")),
				],
			},
		];
		expect(pairsOf(conversation).map(({ id }) => id)).toEqual(["b", "a", "c"]);
	});

	it("16 calls with 6 results: each result has its own call, in the middle and at the end", () => {
		const calls = Array.from({ length: 16 }, (_, index) => [
			{ role: "assistant", content: [use(`id_${index}`, "read_file")] },
			{
				role: "user",
				content:
					index % 3 === 1 || index === 15
						? [text("[read_file for 'x'] Result:"), text(outputOf(`${index}`))]
						: [text("Go on.")],
			},
		]);
		const found = pairsOf([{ role: "user", content: [text("Task.")] }, ...calls.flat()]);
		expect(found.map(({ id }) => id)).toEqual([1, 4, 7, 10, 13, 15].map((index) => `id_${index}`));
	});

	it("a call that its API answered is not answered again", () => {
		const conversation = [
			{ role: "user", content: [text("Task.")] },
			{ role: "assistant", content: [use("a", "read_file"), use("b", "read_file")] },
			{
				role: "user",
				content: [
					{ type: "tool_result", tool_use_id: "a", content: output },
					text("[read_file for 'b'] Result:"),
					text(outputOf("b")),
				],
			},
		];
		expect(pairsOf(conversation, true).map(({ id }) => id)).toEqual(["a", "b"]);
		expect(pairsOf(conversation, "auto").map(({ id }) => id)).toEqual(["a"]);
	});

	it("several calls in the words of one message are numbered by tool", () => {
		const conversation = [
			{ role: "user", content: [text("Task.")] },
			{
				role: "assistant",
				content: "<read_file>\n<path>a</path>\n</read_file>\n<read_file>\n<path>b</path>\n</read_file>",
			},
			{ role: "user", content: ["a", "b"].map((name) => text(`[read_file for '${name}'] Result:\n${outputOf(name)}`)) },
		];
		expect(pairsOf(conversation).map(({ id }) => id)).toEqual(["read_file#1", "read_file#2"]);
		const [, assistant] = readConversation(conversation).transcript.messages;
		expect(assistant?.calls.map(({ input }) => input)).toEqual(['{"path":"a"}', '{"path":"b"}']);
	});

	it("other messages of the user may come between", () => {
		const [task, action, observation] = protocolConversation(sample, [output]);
		expect(pairsOf([task, action, { role: "user", content: "One moment." }, observation])).toMatchObject([
			{ from: 1, to: 3 },
		]);
	});

	it("the demonstrations of SWE-agent and the task after them stay", () => {
		const prompt = "\n(Open file: n/a)\n(Current directory: /r)\nbash-$";
		const run = [
			{ role: "assistant", content: "```\nls\n```", action: "ls", is_demo: true },
			{ role: "user", content: output + prompt, message_type: "observation", is_demo: true },
			{ role: "assistant", content: "```\nsubmit\n```", is_demo: true },
			{ role: "user", content: `Solve this issue.\n${output}${prompt}`, message_type: "observation" },
			{ role: "assistant", content: "```\nls\n```", action: "ls" },
			{ role: "user", content: output + prompt, message_type: "observation" },
		];
		expect(pairsOf(run)).toMatchObject([{ from: 4, to: 5, text: output }]);
	});

	it("SWE-agent's own mark is enough", () => {
		const run = [
			{ role: "assistant", content: "I run ls.", action: "ls" },
			{ role: "user", content: output, message_type: "observation" },
		];
		expect(pairsOf(run)).toMatchObject([{ from: 0, to: 1, text: output }]);
	});
});

describe("patterns of one's own", () => {
	const turn = (words: string, answer: string) => [
		{ role: "user", content: "Task." },
		{ role: "assistant", content: words },
		{ role: "user", content: answer },
	];

	it("`before` takes a name and anything in a line; `after` stays", () => {
		const answer = `### Output of grep (took 3 s)\n${output}\n### Next?`;
		const pattern = { before: "### Output of {tool} (*)\n", after: "\n### Next?" };
		expect(pairsOf(turn("Run grep.", answer), [pattern])).toMatchObject([{ id: "grep#1", tool: "grep", text: output }]);
		expect(pairsOf(turn("Run grep.", answer))).toEqual([]);
	});

	it("`action` and `tool`", () => {
		const pattern = { before: "$ ", action: "RUN:", tool: "shell" };
		expect(pairsOf(turn("RUN: ls", `$ ${output}`), [pattern])).toMatchObject([{ tool: "shell", text: output }]);
		expect(pairsOf(turn("I like $.", `$ ${output}`), [pattern])).toEqual([]);
	});

	it("without an `after` in the text, the observation ends with it", () => {
		const pattern = { before: "OUT ", after: "END" };
		expect(pairsOf(turn("Go.", `OUT ${output}`), [pattern])).toMatchObject([{ text: output }]);
	});

	it("the other characters match themselves", () => {
		const pattern = { before: "a.b+(c)[d]{2}|^$\\/-? " };
		expect(pairsOf(turn("Go.", `a.b+(c)[d]{2}|^$\\/-? ${output}`), [pattern])).toMatchObject([{ text: output }]);
		expect(pairsOf(turn("Go.", `axb+(c)[d]{2}|^$\\/-? ${output}`), [pattern])).toEqual([]);
	});
});
