import { describe, expect, it } from "vitest";
import { inFrame } from "../../src/engine/conversation/transcript.ts";
import { callArguments, pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { outputOf } from "../support/sample-text.ts";
import { protocolConversation, protocolSamples } from "../support/text-protocols.ts";

const output = outputOf("fox");

/** The observations of one exchange. */
function observed(words: string, ...texts: readonly string[]) {
	const parts = texts.map((text) => ({ type: "text", text }));
	const messages = [
		{ role: "user", content: "Task." },
		{ role: "assistant", content: words },
		{ role: "user", content: parts },
	];
	return pairResults(readConversation(messages).transcript).map(({ result, call }) => ({
		tool: call?.name,
		isError: result.isError,
		...result.texts[0],
	}));
}

describe("text protocols", () => {
	it.each(protocolSamples)("$name: each observation is the result of the action before it", (sample) => {
		const conversation = protocolConversation(sample);
		const { transcript } = readConversation(conversation);
		const pairs = pairResults(transcript);
		expect(pairs.map(({ message, caller }) => [caller, message])).toEqual(
			[1, 3, 5, 7, 9, 11].map((caller) => [caller, caller + 1]),
		);
		for (const [turn, { result, call, caller }] of pairs.entries()) {
			expect(call).toMatchObject({ id: `${sample.tool}#1`, name: sample.tool });
			expect(result).toMatchObject({ callId: `${sample.tool}#1`, isError: undefined });
			const [text, ...others] = result.texts;
			expect(others).toEqual([]);
			expect(text?.text).toContain(outputOf(`turn ${turn}`));
			const texts = sample.observation(`f${turn}.py`, outputOf(`turn ${turn}`));
			expect(texts).toContain(text && inFrame(text, text.text));
			expect(result.whole?.write("…")).toBe(text && inFrame(text, "…"));
			const [input] = callArguments(transcript.messages[caller ?? 0] as never);
			if (sample.input) expect(input).toContain(sample.input);
			if (sample.name !== "Aider, files") expect(input).toContain(`f${turn}`);
		}
	});

	it.each(protocolSamples)("$name: everything is counted", ({ action, observation }) => {
		const [, , message] = readConversation(protocolConversation({ action, observation }, [output])).transcript.messages;
		const all = [
			...(message?.counted ?? []),
			...(message?.results.flatMap(({ texts }) => texts) ?? []).map((one) => one.text),
		];
		expect(all.join("")).toHaveLength(observation("f0.py", output).join("").length);
	});

	it.each(protocolSamples)("$name: is recognised by its marks alone once its text is another", (sample) => {
		const first = readConversation(protocolConversation(sample)).transcript;
		const second = readConversation(
			protocolConversation(
				sample,
				Array.from({ length: 6 }, () => "[masked]"),
			),
		).transcript;
		expect(second.messages.map(({ calls, results }) => [calls.length, results.length])).toEqual(
			first.messages.map(({ calls, results }) => [calls.length, results.length]),
		);
	});

	it("an exit code other than 0 is an error, and stays in view", () => {
		const [one] = observed("```bash\nls\n```", `<returncode>2</returncode>\n<output>\n${output}</output>`);
		expect(one).toMatchObject({ isError: true, frame: { before: "<returncode>2</returncode>\n", after: "" } });
		const timeOut = `The last command <command>sleep 9</command> timed out and has been killed.\nThe output of the command was:\n<output>\n${output}\n</output>`;
		expect(observed("```bash\nsleep 9\n```", timeOut)).toMatchObject([{ isError: true, tool: "bash" }]);
	});

	it("a failure that Cline wraps is an error", () => {
		const text = `[execute_command for 'make'] Result:\nThe tool execution failed with the following error:\n<error>\n${output}\n</error>`;
		expect(observed("<execute_command>\n<command>make</command>\n</execute_command>", text)).toMatchObject([
			{ isError: true },
		]);
	});

	it("a failed edit of Aider is an error", () => {
		const text = `# 2 SEARCH/REPLACE blocks failed to match!\n\n${output}`;
		expect(observed("<<<<<<< SEARCH", text)).toMatchObject([{ isError: true, tool: "edit" }]);
	});

	it("commands of several lines may hold brackets", () => {
		const text = `[execute_command for 'cat <<E\n[a] Result: no\nE'] Result:\n${output}`;
		expect(observed("<execute_command>", text)).toMatchObject([{ text: output, tool: "execute_command" }]);
	});
});

describe("the words of a person in an observation of Cline or Roo Code", () => {
	const header = "[read_file for 'a'] Result:";

	it.each([
		[
			"feedback",
			"The user approved this operation and provided the following context:\n<feedback>\nUse tabs.\n</feedback>",
		],
		[
			"feedback with files",
			"<feedback>\nLike 'b' (see below for file content)\n</feedback>\n\n<file_content path=\"b\">\nb\n</file_content>",
		],
		["the state of the editor", "<environment_details>\n# Current Time\nnow\n</environment_details>"],
		["a message", "New instructions for task continuation:\n<user_message>\nGo on.\n</user_message>"],
	])("%s after it stays", (_, words) => {
		const together = observed("<read_file>", `${header}\n${output}\n\n${words}`);
		expect(together).toMatchObject([{ text: `${output}\n`, frame: { before: `${header}\n`, after: `\n${words}` } }]);
		const apart = observed("<read_file>", header, `${output}\n\n${words}`, words);
		expect(apart).toMatchObject([{ text: `${output}\n`, frame: { before: "", after: `\n${words}` } }]);
	});

	it.each([
		["an answer", "[ask_followup_question for 'Which?'] Result:", `<answer>\n${output}\n</answer>`],
		["an answer without a tag", "[ask_followup_question for 'Which?'] Result:", output],
		["feedback on the result", "[attempt_completion] Result:", output],
		["a refusal with a reason as JSON", header, `{"status":"denied","feedback":"${"No, not that one. ".repeat(50)}"}`],
		["the state of the editor alone", header, `<environment_details>\n${output}\n</environment_details>`],
	])("%s is not an observation", (_, first, second) => {
		expect(observed("<tool>", first, second)).toEqual([]);
		expect(observed("<tool>", `${first}\n${second}`)).toEqual([]);
	});

	it("a text next to it stays", () => {
		const [one, ...others] = observed(
			"<read_file>",
			header,
			output,
			"And now the other one.",
			"[TASK RESUMPTION] It was interrupted.",
		);
		expect(one).toMatchObject({ text: output });
		expect(others).toEqual([]);
	});
});

describe("long texts take linear time", () => {
	const many = 100_000;

	it.each([
		["elements that are not closed", "<b>".repeat(many), "[a for 'x'] Result:\nfox"],
		["parameters that are not closed", `<function=a>${"<parameter=b>".repeat(many)}`, "Observation: fox"],
		["many headers", "", `[a ${"] Result: ".repeat(many)}`],
		["lines that could open feedback", "", `[a] Result:\n${"x:\n".repeat(many)}`],
		["prompts", "", `${"(Open file: a)\n".repeat(many)}bash-$`],
	])("%s", (_, words, text) => {
		expect(observed(`\`\`\`\nls\n\`\`\`${words}`, text).length).toBeLessThan(2);
	});
});

describe("no observation", () => {
	it.each([
		["words of a person", "Result of the vote: it was close.\n"],
		["a question about an observation", `Why is there an Observation: in it? ${output}`],
		["a quoted result", `I saw this:\n[read_file for 'a'] Result:\n${output}`],
		["a prompt inside a text", `bash-$ ls\n${output}`],
		[
			"the task of SWE-agent",
			`We're currently solving the following issue.\nISSUE:\n${output}\n(Open file: n/a)\n(Current directory: /r)\nbash-$`,
		],
	])("%s", (_, text) => {
		expect(observed("```\nsubmit\n```", text)).toEqual([]);
	});

	it("an `Observation:` after words without an action", () => {
		expect(observed("How are the stars?", `Observation: ${output}`)).toEqual([]);
	});

	it("nothing before the first words of the assistant", () => {
		const messages = [
			{ role: "user", content: `<returncode>0</returncode>\n${output}` },
			{ role: "assistant", content: "```\nls\n```" },
		];
		expect(pairResults(readConversation(messages).transcript)).toEqual([]);
	});
});
