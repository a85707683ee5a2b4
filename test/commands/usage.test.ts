import { beforeAll, describe, expect, it } from "vitest";
import { version } from "../../src/version.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeAll(async () => {
	folder = await scratchFolder();
});
const run = (...parameters: string[]) => runHere(parameters, { folder });

describe("help", () => {
	it("names every command and explains the exit codes", async () => {
		const { code, text, lines } = await run("--help");
		expect(code).toBe(0);
		expect(lines).toEqual([]);
		for (const command of [
			"serve",
			"mask",
			"guard",
			"compact",
			"truncate",
			"run",
			"hook",
			"count",
			"recall",
			"restore",
			"archive",
			"replay",
			"policy",
		]) {
			expect(text).toMatch(new RegExp(`^ {2}${command}\\b.*\\w`, "m"));
		}
		expect(text).toContain(
			"Exit codes: 0 done, 1 refused input or something not found, 2 wrong usage, 3 guard: does not fit, 70 a defect of Palimpsest.",
		);
		expect(text).toContain("FILE may be -, for standard input");
	});

	it.each(["serve", "mask", "guard", "compact", "truncate", "run", "count", "recall", "restore", "replay", "policy"])(
		"explains %s",
		async (command) => {
			const { code, text } = await run(command, "--help");
			expect(code).toBe(0);
			expect(text).toMatch(new RegExp(`^Usage: palimpsest ${command} `));
			if (command !== "policy") expect(text).toContain("--set <key=value>");
		},
	);

	it("names the programs that launch can start", async () => {
		const { text } = await run("launch", "--help");
		expect(text).toMatch(
			/^PROGRAM: claude, .*\bcodex, .*; with --env, any other command\. What follows its name goes to it\.$/m,
		);
	});

	it("explains a subcommand, in either order", async () => {
		for (const parameters of [
			["help", "hook", "install"],
			["hook", "help", "install"],
			["hook", "install", "--help"],
		]) {
			const { code, text } = await run(...parameters);
			expect([code, text]).toEqual([0, expect.stringMatching(/^Usage: palimpsest hook install /)]);
		}
		expect((await run("help")).text).toBe((await run("--help")).text);
	});

	it("prints the version", async () => {
		expect(await runCli(["--version"], { folder })).toMatchObject({ code: 0, text: `${version}\n`, lines: [] });
	});
});

describe("wrong usage exits with 2, a message on standard error and nothing on standard output", () => {
	it.each([
		["an unknown option", ["--nope"], /expected an option .*; got --nope/],
		["an unknown option of a command", ["mask", "chat.json", "--nope"], /expected an option .*; got --nope/],
		["an unknown command", ["nonsense"], /unknown command 'nonsense'/],
		["a mistyped command", ["mas", "chat.json"], /unknown command 'mas'\. Did you mean mask\?/],
		["a mistyped command of policy", ["policy", "chek"], /unknown command 'chek'/],
		["help for no command", ["help", "mas"], /unknown command 'mas'\. Did you mean mask\?/],
		["help for no command of policy", ["help", "policy", "chek"], /unknown command 'chek'\. Did you mean check\?/],
		["an unknown preset", ["policy", "presets", "balancd"], /unknown preset "balancd"\. Did you mean balanced\?/],
		[
			"two limits",
			["truncate", "-", "--max-chars", "9", "--max-tokens", "9"],
			/expected --max-chars <count> or --max-tokens <count>; got both/,
		],
		[
			"two limits of a run",
			["run", "--max-chars", "9", "--max-tokens", "9", "--", "ls"],
			/expected .* or .*; got both/,
		],
		["nothing to recall", ["recall"], /expected one of REF, --tool-call-id and --search/],
		[
			"two things to recall",
			["recall", "ref", "--tool-call-id", "id"],
			/expected one of REF, --tool-call-id and --search/,
		],
		["all and a part", ["recall", "ref", "--all", "--tail", "9"], /expected --all or --tail .*; got both/],
		["a token without its summary", ["compact", "-", "--summary-token", "x"], /only together with --summary/],
		[
			"a request for a strategy that writes no summary",
			["compact", "-", "--request", "--strategy", "tool-result-hiding"],
			/only with a strategy that summarises/,
		],
		["a window without room", ["guard", "-", "--context-window", "0"], /whole number, 1 or more/],
		["HTTP's options without it", ["serve", "--stateless"], /expected --http/],
		["options before the command", ["--set", "locale=en", "mask", "chat.json"], /expected the command first/],
		["no file to mask", ["mask"], /expected file; got none/],
		["no file to guard", ["guard", "--context-window", "9000"], /expected file; got none/],
		["no command to run", ["run", "--max-tokens", "9"], /expected command; got none/],
		["no host to install a hook in", ["hook", "install"], /expected host; got none/],
		["an unknown hook", ["hook", "nonsense"], /unknown command 'nonsense'/],
		["no file to count", ["count", "--json"], /expected file; got none/],
		["no file to replay", ["replay", "--json"], /expected files; got none/],
		["a file too many", ["mask", "a.json", "b.json"], /expected 1 argument; got 2/],
		[
			"a policy option without its file",
			["mask", "chat.json", "--policy"],
			/expected a value for --policy <file>; got none/,
		],
		["a negative window", ["guard", "chat.json", "--context-window", "-3"], /whole number, 1 or more/],
		["a window that is not a number", ["guard", "chat.json", "--context-window", "NaN"], /whole number, 1 or more/],
		["half a reserve", ["guard", "chat.json", "--reserve-tokens", "0.5"], /whole number, 0 or more/],
		["a negative limit", ["truncate", "log.txt", "--max-chars=-1"], /whole number, 0 or more/],
		["no file to restore", ["restore"], /expected file; got none/],
		["clearing without confirmation", ["archive", "clear"], /expected --yes; got none/],
		["half a line to recall", ["recall", "x", "--head", "0.5"], /whole number, 0 or more/],
		["a negative number of turns", ["replay", "chat.json", "--window-turns", "-1"], /whole number, 0 or more/],
		["an unknown answer", ["mask", "chat.json", "--respond-with", "poems"], /expected one of messages, edits, report/],
	])("%s", async (_what, parameters, words) => {
		const { code, text, lines } = await run(...parameters);
		expect(code).toBe(2);
		expect(text).toBe("");
		expect(lines[0]).toMatch(words);
	});
});
