import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const files = {
	"chat.json": JSON.stringify(agentConversation(2)),
	"cut-off.json": `[{"role": "user", "content": "${secret}`,
	"bare-word.json": `{"messages": ${secret}}`,
	"lines.jsonl": `{"role": "user", "content": "${secret}"}\n{"role": ${secret}}\n`,
	"empty.json": "",
	"blank.json": " \n",
	"object.json": `{"text": "${secret}"}`,
	"number.json": "7",
	"in-text.json": JSON.stringify(JSON.stringify(agentConversation(2))),
	"messages-in-text.json": JSON.stringify({ messages: JSON.stringify(agentConversation(2)) }),
	"odd-calls.json": '[{"role":"user","content":"x"},{"role":"wat","content":"q","tool_calls":[null]}]',
	"texts.json": `["${secret}"]`,
	"no-toml.toml": "[mask\n",
	"unknown-key.toml": "[mask]\nwindw_turns = 3\n[nothing]\n",
	"wrong-type.toml": 'mask = 5\nlocale = "de"\n',
	"template.toml": '[mask]\nplaceholder_template = "hidden {tool}"\n',
} as const;

let folder: string;
beforeAll(async () => {
	folder = await scratchFolder();
	await mkdir(join(folder, "folder"));
	await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text)));
});

describe("refused input exits with 1, one line on standard error and nothing on standard output", () => {
	it.each<[string, string[], RegExp]>([
		["JSON that ends too early", ["mask", "cut-off.json"], /^\[invalid_json\] .*cut-off\.json is not valid/],
		["invalid JSON", ["guard", "bare-word.json"], /^\[invalid_json\] .*bare-word\.json is not valid/],
		["JSON Lines with a bad line", ["mask", "lines.jsonl"], /^\[invalid_json\] .*lines\.jsonl is not valid at line 2/],
		["an empty file", ["mask", "empty.json"], /^\[invalid_json\] .*empty\.json is empty/],
		["a blank file", ["guard", "blank.json"], /^\[invalid_json\] .*blank\.json is empty/],
		["an object without messages", ["mask", "object.json"], /^\[not_a_conversation\] .*an object without `messages`/],
		["a number", ["guard", "number.json"], /^\[not_a_conversation\] .*got a number/],
		["JSON in a text", ["mask", "in-text.json"], /got a string\. Pass the JSON itself, not a text that holds it\.$/],
		["messages in a text", ["mask", "messages-in-text.json"], /got a string\. Pass the JSON itself, not a text/],
		[
			"a list of texts",
			["mask", "texts.json"],
			/^\[not_a_conversation\] .*The nearest is Anthropic Messages .*: message 0 /,
		],
		["one file of many", ["replay", "chat.json", "texts.json"], /^\[not_a_conversation\] texts\.json: /],
		["a folder", ["mask", "folder"], /^\[unreadable_file\] Cannot read folder: it is a folder/],
		["a folder to truncate", ["truncate", "folder"], /^\[unreadable_file\] .*it is a folder/],
		["a missing file", ["mask", "absent.json"], /^\[unreadable_file\] .*absent\.json: there is no such file/],
		["a missing file to truncate", ["truncate", "absent"], /^\[unreadable_file\] .*there is no such file/],
		["a file below a file", ["replay", "chat.json/x"], /^\[unreadable_file\] .*there is no such file/],
		[
			"no context window",
			["guard", "chat.json"],
			/^\[context_window_unknown\] .*: give --context-window in tokens, name a --model, or set guard\.context_window_override/,
		],
		[
			"an unknown model",
			["guard", "chat.json", "--model", "nope-9"],
			/^\[context_window_unknown\] .*"nope-9": give --context-window in tokens/,
		],
		["invalid lines", ["recall", "--tool-call-id", "a", "--lines", "9-1"], /^\[\w+\] (?!.*`)/],
		[
			"a missing policy file",
			["mask", "chat.json", "--policy", "no.toml"],
			/^\[unreadable_file\] .*no\.toml: there is/,
		],
		["a folder as policy file", ["mask", "chat.json", "--policy", "folder"], /^\[unreadable_file\] .*it is a folder/],
		[
			"invalid TOML",
			["mask", "chat.json", "--policy", "no-toml.toml"],
			/^\[invalid_policy\] .*line 1, column 6: not valid/,
		],
		[
			"unknown keys of a policy, all at once",
			["mask", "chat.json", "--policy", "unknown-key.toml"],
			/^\[invalid_policy\] .*unknown-key\.toml: mask\.windw_turns: .*mean mask\.window_turns\?; nothing: unknown key/,
		],
		[
			"wrong types in a policy",
			["policy", "check", "wrong-type.toml"],
			/^\[invalid_policy\] .*mask: expected a table, got 5; locale: expected .*"en".*, got the text "de"/,
		],
		["a template with an unknown variable", ["policy", "check", "template.toml"], /unknown variable \{tool\}; known: /],
		["a missing file to check", ["policy", "check", "no.toml"], /^\[unreadable_file\] .*there is no such file/],
		["a setting without a value", ["policy", "show", "--set", "locale"], /^\[invalid_policy\] .*expected key=value/],
		["an unknown setting", ["policy", "show", "--set", "mask.windw=1"], /^\[invalid_policy\] .*unknown key/],
		...(
			[
				['archive.redact=["("]', /regular expression in RE2's syntax/],
				["truncate.max_tokens=3", /`?truncate\.max_tokens`? to leave room/],
				["guard.context_window_override=100", /^\[no_budget\]/],
				["compaction.strategy=./absent.mjs#X", /^\[invalid_policy\] .*the module was not found/],
			] as const
		).map(([set, words]): [string, string[], RegExp] => {
			return [`a policy that no command takes (${set})`, ["policy", "check", "--set", set], words];
		}),
		["an absent folder to allow", ["serve", "--allow-path", "absent"], /--allow-path to name a folder that exists/],
		["a bad policy for a server", ["serve", "--set", "locale=de"], /^\[invalid_policy\] .*locale: expected/],
	])("%s", async (_what, parameters, words) => {
		const { code, text, lines } = await runHere(parameters, { folder });
		expect(text).toBe("");
		expect(lines).toEqual([expect.stringMatching(/^palimpsest: \[/)]);
		expect(lines[0]?.slice("palimpsest: ".length)).toMatch(words);
		expect(lines[0]).not.toContain(secret);
		expect(code).toBe(1);
	});

	it("empty standard input", async () => {
		const { code, text, lines } = await runCli(["mask", "-"], { folder });
		expect([code, text, lines]).toEqual([
			1,
			"",
			[expect.stringMatching(/^palimpsest: \[invalid_json\] .*input is empty/)],
		]);
	});

	it("an environment variable for an unknown setting", async () => {
		const environment = { PALIMPSEST_MASK_WINDW_TURNS: "3" };
		const { code, lines } = await runHere(["policy", "show"], { folder, environment });
		expect(lines).toEqual([
			expect.stringMatching(/PALIMPSEST_MASK_WINDW_TURNS: unknown .*PALIMPSEST_MASK_WINDOW_TURNS\?/),
		]);
		expect(code).toBe(1);
	});
});

it("a conversation with malformed calls is accepted, and its unusual role is reported", async () => {
	const { code, text } = await runHere(["mask", "odd-calls.json", "--respond-with", "report"], { folder });
	expect(code).toBe(0);
	expect(JSON.parse(text).notes).toContainEqual(
		expect.stringMatching(/^Roles that no format defines, with their messages: "wat" \(1\)\./),
	);
});

const windows = ["guard", "compact", "report", "replay"].flatMap((command) =>
	["0", "-1", "abc", "1.5", ""].map((value): [string, string, string, number] => [
		command,
		"--context-window",
		value,
		1,
	]),
);

it.each([...windows, ["guard", "--reserve-tokens", "-1", 0] as [string, string, string, number]])(
	"%s refuses %s %j and names the valid range",
	async (command, option, value, least) => {
		const { code, lines } = await runHere([command, "chat.json", `${option}=${value}`], { folder });
		expect(code).toBe(2);
		const expected = `expected a whole number, ${least} or more for ${option} <tokens>; got '${value}'`;
		expect(lines[0]).toContain(expected);
	},
);

const address = "redis://joe:pa55word@db.example:6379/1?key=pa55word";

it.each([
	[
		"an option that is unknown",
		["proxy", `--archve=${address}`],
		"expected an option of this command; got --archve=redis://…@db.example:6379/1?…",
	],
	["a host that is unknown", ["install", address], 'unknown host "redis://…@db.example:6379/1?…".'],
	["a file that is absent", ["mask", address], "Cannot read redis://…@db.example:6379/1?… there is no such file."],
])("%s is quoted without the credentials of an address", async (_, parameters, words) => {
	const { text, lines } = await runHere(parameters, { folder });
	expect(lines[0]).toContain(words);
	expect([text, ...lines].join()).not.toContain("pa55word");
});
