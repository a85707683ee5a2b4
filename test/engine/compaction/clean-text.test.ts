import { describe, expect, it } from "vitest";
import {
	cleanText,
	delimiterFor,
	hasToolCallMarkup,
	neutraliseSpecialTokens,
} from "../../../src/engine/compaction/clean-text.ts";

it("a cleaned text has plain line feeds, no control characters, and is well-formed", () => {
	expect(cleanText("a\r\nb\rc\u001b[31md\u001b[0m\u0000e\tf\ud800")).toBe("a\nb\ncde\tf\ufffd");
});

it.each([
	["a colour with several numbers", "\u001b[38;5;196m"],
	["the shape of a cursor, with a space in it", "\u001b[2 q"],
	["a reset with a mark in it", "\u001b[!!p"],
	["a title, ended by a bell", "\u001b]0;the title\u0007"],
	["a link, ended by a backslash", "\u001b]8;;https://example.com\u001b\\"],
	["an empty command", "\u001b]\u0007"],
	["a line upwards", "\u001bM"],
])("an escape sequence goes as a whole: %s", (_, sequence) => {
	expect(cleanText(`before ${sequence}after 1`)).toBe("before after 1");
});

it("texts have delimiters of their own, which they do not hold, and always the same ones", () => {
	expect(delimiterFor("one")).not.toBe(delimiterFor("two"));
	expect(delimiterFor(delimiterFor("one"))).not.toBe(delimiterFor("one"));
	// FNV-1a in base 36, as published: a prompt stays the same from version to version.
	expect(delimiterFor("")).toBe(`0${(0x811c9dc5).toString(36)}`);
	expect(delimiterFor("foobar")).toBe((0xbf9cf968).toString(36).padStart(7, "0"));
	// A text that holds the word of its own hash gets the next word, a fixed step away.
	expect(delimiterFor("021i3v9 丵鄭硄")).toBe((123_456_789 + 0x9e3779b1).toString(36));
});

it.each([
	["<|im_start|>", "< |im_start|>"],
	["<｜User｜>", "< ｜User｜>"],
	["<|a|>", "< |a|>"],
	[`<|${"a".repeat(64)}|>`, `< |${"a".repeat(64)}|>`],
	["<start_of_turn><end_of_turn>", "< start_of_turn>< end_of_turn>"],
	["<s></s><bos><eos>", "< s>< /s>< bos>< eos>"],
	["<<SYS>>x<</SYS>>", "< <SYS>>x< </SYS>>"],
	["[INST][/INST]", "[ INST][ /INST]"],
	["[AVAILABLE_TOOLS][TOOL_CALLS][/TOOL_RESULTS]", "[ AVAILABLE_TOOLS][ TOOL_CALLS][ /TOOL_RESULTS]"],
	["[SYSTEM_PROMPT][TOOL_CONTENT]", "[ SYSTEM_PROMPT][ TOOL_CONTENT]"],
])("the special token %s becomes plain text", (text, expected) => {
	expect(neutraliseSpecialTokens(text)).toBe(expected);
	expect(neutraliseSpecialTokens(`a ${text} b`)).toBe(`a ${expected} b`);
});

it.each([
	"<|a b|>",
	"<|<|>",
	"<||>",
	"<aUserb>",
	"<|User>",
	"<|User|",
	`<|${"a".repeat(65)}|>`,
	"a < b, [x], <p>, <span>, <boss>",
	"[INSTALL] and [the INST]",
])("%s is plain text already", (text) => {
	expect(neutraliseSpecialTokens(text)).toBe(text);
});

const call = '{"name": "ls", "arguments": {}}';

describe("calls of tools are found", () => {
	it.each([
		["one", call],
		["one in a fence", `\`\`\`json\n${call}\n\`\`\``],
		["one in a fence without a language", `\`\`\`\n${call}\n\`\`\``],
		["one in a fence of tildes, with white space", `~~~json  \n${call}\n  ~~~`],
		["one after a fence that never ends", `\`\`\`json\n${call}`],
		["one before a fence that never began", `${call}\n~~~`],
		["one between blank lines", `\n\n ${call} \n`],
		["several in a list", `[${call}, ${call}]`],
		["one a line, with blank lines between", `${call}\n\n${call}\n`],
		["one a line, with white space between", `${call}\n  \n${call}`],
		["two lines", `${call}\n${call}`],
	])("%s", (_, text) => {
		expect(hasToolCallMarkup(text)).toBe(true);
	});

	it.each([
		["an empty list", "[]"],
		["other JSON", '{"files": ["a"]}'],
		["a call and other JSON", `${call}\n{"files": []}`],
		["a call and a list with another thing", `[${call}, 1]`],
		["a call in a sentence", `I ran ${call}.`],
		["a sentence before a call", `I ran\n${call}`],
		["a call in a quoted text", JSON.stringify(call)],
		["broken JSON", '{"name": "ls", "arguments":'],
		["two lines of broken JSON", '{"name": "ls"\n"arguments": {}'],
		["a code block with a call in it", `So:\n\`\`\`json\n${call}\n\`\`\``],
		["two code blocks", `\`\`\`json\n${call}\n\`\`\`\n\n\`\`\`\ntext\n\`\`\``],
		["two calls with a fence between them", `${call}\n\`\`\`\n${call}`],
		["null", "null"],
		["a list with null", "[null]"],
		["no text", ""],
	])("not in %s", (_, text) => {
		expect(hasToolCallMarkup(text)).toBe(false);
	});

	it.each(["tool_calls", "toolCalls", "tool_uses", "function_call", "functionCall"])("JSON with %s", (key) => {
		expect(hasToolCallMarkup(JSON.stringify({ [key]: [] }))).toBe(true);
	});

	it.each(["tool_use", "tool_call", "tool-call", "toolCall", "function_call", "function"])(
		"JSON of the type %s",
		(type) => {
			expect(hasToolCallMarkup(JSON.stringify({ type }))).toBe(true);
			expect(hasToolCallMarkup(JSON.stringify({ kind: type, type: "text" }))).toBe(false);
		},
	);

	const argumentKeys = ["arguments", "parameters", "input", "args", "action_input", "tool_input", "params"];
	const nameKeys = ["name", "function", "tool", "tool_name", "action", "recipient_name"];
	it.each(nameKeys.flatMap((name) => argumentKeys.map((key) => [name, key] as const)))(
		"JSON with %s and %s, but not with one of them",
		(name, key) => {
			expect(hasToolCallMarkup(JSON.stringify({ [name]: "ls", [key]: {} }))).toBe(true);
			expect(hasToolCallMarkup(JSON.stringify({ [name]: "ls" }))).toBe(false);
			expect(hasToolCallMarkup(JSON.stringify({ [key]: {} }))).toBe(false);
			expect(hasToolCallMarkup(JSON.stringify({ [name]: 1, [key]: {} }))).toBe(false);
		},
	);

	it("a function within JSON", () => {
		expect(hasToolCallMarkup(`{"function": ${call}}`)).toBe(true);
		expect(hasToolCallMarkup('{"function": {"body": 1}}')).toBe(false);
	});
});

describe("markup of tool calls", () => {
	it.each([
		["<tool_call>", "<toolcall>", "</tool_calls>", "<toolcalls>"],
		["<tool_use>", "</tool_use>"],
		["<tool_response>", "<tool_responses>", "<tool_result>", "<tool_results>", "<tool_output>", "</tool_outputs>"],
		["<function_call>", "<function_calls>", "<functioncall>", "<function_result>", "<function_results>"],
		['<invoke name="x">', "</invoke>", "<INVOKE>", "<invoke>", "</x:function_calls>"],
		["<function=ls>"],
		["<|python_tag|>", "<｜python_tag｜>"],
		["<|tool|>", "<|tool_call_begin|>", "<|the_tools|>", "<｜tool▁calls▁begin｜>", "<｜my tool｜>"],
		["[TOOL_CALLS]", "[TOOL_CALL]", "[/TOOL_CALLS]", "[TOOL_RESULT]", "[TOOL_RESULTS]", "[/tool_results]"],
		["```tool_call", "```tool_calls", "~~~tool_code", "  ```tool_use", "\t```function_call", "```function_calls"],
		["Action: ls\nAction Input: .", "  Action:\n\n  Action Input:", "Action:ls\n\tAction Input:x"],
	])("is found: %s", (...texts) => {
		for (const text of texts) {
			expect(hasToolCallMarkup(text), text).toBe(true);
			expect(hasToolCallMarkup(`Done.\n${text}\nAnd so on.`), text).toBe(true);
		}
	});

	it.each([
		["<tool_caller>", "<tool_call-x>", "<tool_used>", "<tool>", "< tool_call>", "tool_call>"],
		["<1:invoke>", `<${"a".repeat(21)}:invoke>`, "<invoked>", "<function>", "</function=ls>"],
		["<|python|>", "<python_tag>", "<|python_tag>", "|python_tag|", "<python_tag|>"],
		["<tool|>", "<|tool>", "<|tool\n|>", "<|a>tool|>", "<|tool<|>", `<|tool${"x".repeat(41)}|>`],
		["TOOL_CALLS", "[TOOL_CALLER]", "[/TOOLS]"],
		["a ```tool_call", "```tool_caller", "```tool", "x~~~tool_use"],
		["The Action: ls\nAction Input: .", "Action: ls\nThe Action Input: .", "Action: ls\nso\nAction Input: ."],
		["Action: ls Action Input: ."],
	])("is not found: %s", (...texts) => {
		for (const text of texts) expect(hasToolCallMarkup(`Done. ${text}\nAnd so on.`), text).toBe(false);
	});
});
