import { spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launchedPrograms } from "../../src/hosts/hosts.ts";
import { freePort } from "../load/free-port.ts";
import { builtCli } from "../support/built-cli.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-here.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { type StandInProvider, startStandInProvider } from "../support/stand-in-provider.ts";

let folder: string;
let provider: StandInProvider;
beforeEach(async () => {
	folder = await scratchFolder();
	provider = await startStandInProvider({ script: { toolTurns: 3, fileChars: 2000 } });
});
afterEach(() => provider.close());

/** Puts a program of Node on the PATH. */
async function install(name: string, text: string): Promise<Record<string, string>> {
	const bin = join(folder, "bin");
	await mkdir(bin, { recursive: true });
	await writeFile(join(bin, name), `#!${process.execPath}\n${text}\n`);
	await chmod(join(bin, name), 0o755);
	return {
		PATH: `${bin}:${process.env.PATH}`,
		ANTHROPIC_BASE_URL: provider.origin,
		PALIMPSEST_ARCHIVE: join(folder, "archive"),
	};
}

const asking = `
(async () => {
	const body = JSON.stringify({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] });
	const headers = { "content-type": "application/json" };
	const answer = await fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", { method: "POST", headers, body });
	const { content } = await answer.json();
	console.log(JSON.stringify({ base: process.env.ANTHROPIC_BASE_URL, text: content[0].text, arguments: process.argv.slice(2) }));
	process.exitCode = 7;
})();`;

describe.skipIf(process.platform === "win32")("palimpsest launch", () => {
	it("starts the program behind a proxy to its own provider, and ends with its exit code and one line", async () => {
		const environment = await install("claude", asking);
		const { code, text, lines } = await runCli(["launch", "claude", "--", "-p", "two words", "--settings"], {
			folder,
			environment,
		});
		const said = JSON.parse(text);
		expect(code).toBe(7);
		expect(said).toMatchObject({ text: "A short title", arguments: ["-p", "two words", "--settings"] });
		expect(said.base).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
		expect(said.base).not.toBe(provider.origin);
		expect(provider.paths).toEqual(["POST /v1/messages"]);
		expect(lines).toEqual([
			expect.stringMatching(
				/^palimpsest: saved nothing in 1 request: no result .*, [\d,]+ tokens sent, 0 left out; see palimpsest stats$/,
			),
		]);
		await expect(fetch(said.base)).rejects.toThrow();
	});

	it("keeps figures of the run with the name of the folder, and without it with --private", async () => {
		const hook = "; console.log(String(process.env.PALIMPSEST_FIGURES));";
		const environment = { ...(await install("claude", asking + hook)), XDG_STATE_HOME: join(folder, "state") };
		const run = (...options: string[]) => runCli(["launch", ...options, "claude"], { folder, environment });
		const figures = join(folder, "state", "palimpsest", "figures");
		const lines = async () => {
			const [name = ""] = await readdir(figures);
			return (await readFile(join(figures, name), "utf8")).trim().split("\n");
		};
		const hidden = await run("--private");
		expect(hidden.text).toMatch(/^private$/m);
		const [first = "", ...others] = await lines();
		expect(others).toEqual([]);
		expect(JSON.parse(first)).toMatchObject({
			kind: "request",
			program: "claude",
			project: expect.stringMatching(/^[0-9a-f]{10}$/),
		});
		expect((await run()).text).toMatch(/^undefined$/m);
		const shown = JSON.parse((await lines()).at(-1) ?? "");
		expect(shown.project).toBe(`${JSON.parse(first).project}/${basename(folder)}`);
		await run("--private", "--set", "figures=none");
		expect((await lines()).filter((line) => line !== "")).toHaveLength(2);
	});

	it("says that nothing passed the proxy, and where the program may have sent it, on the port that it is given", async () => {
		const environment = await install("claude", "console.log(process.env.ANTHROPIC_BASE_URL);");
		const free = await freePort();
		const { code, text, lines } = await runCli(["launch", "--port", `${free}`, "claude"], { folder, environment });
		expect([code, text]).toEqual([0, `http://127.0.0.1:${free}\n`]);
		expect(lines).toEqual([
			expect.stringContaining(
				`no request passed the proxy at http://127.0.0.1:${free}: Claude Code sent none, or sent them to ${provider.origin} or`,
			),
		]);
	});

	it("passes our standard input through, and puts palimpsest on the PATH with the proxy's archive", async () => {
		const program = `
			const { execFileSync } = require("node:child_process");
			const version = execFileSync("palimpsest", ["--version"], { encoding: "utf8" }).trim();
			const input = require("node:fs").readFileSync(0, "utf8");
			console.log(JSON.stringify({ version, input, archive: process.env.PALIMPSEST_ARCHIVE, namespace: process.env.PALIMPSEST_NAMESPACE }));`;
		const environment = await install("claude", program);
		const parameters = ["launch", "--archive", "./kept", "--namespace", "mine", "claude"];
		const { code, text } = await runCli(parameters, { folder, environment, input: "typed" });
		expect(code).toBe(0);
		expect(JSON.parse(text)).toEqual({
			version: expect.stringMatching(/^\d+\.\d+\.\d+/),
			input: "typed",
			archive: join(folder, "kept"),
			namespace: "mine",
		});
	});

	it.each([
		["launch", ["launch", "claude"], "variable"],
		["run", ["run", "--", "claude"], "option"],
	])("gives the program of %s the archive without its password", async (_, [command = "", ...rest], by) => {
		const program = `
			const { spawnSync } = require("node:child_process");
			const found = spawnSync(process.execPath, [${JSON.stringify(builtCli)}, "archive", "stats"], { encoding: "utf8" });
			console.log(JSON.stringify({ own: [process.argv, process.env], archive: process.env.PALIMPSEST_ARCHIVE, said: found.stderr }));`;
		const address = "redis://joe:pa55word@127.0.0.1:1/4?x=pa55word";
		const options = by === "option" ? ["--archive", address] : [];
		const environment = {
			...(await install("claude", program)),
			PALIMPSEST_ARCHIVE: by === "option" ? "files" : address,
		};
		const { code, text, lines } = await runCli([command, ...options, ...rest], { folder, environment });
		expect(code).toBe(0);
		expect([text, ...lines].join("\n")).not.toContain("pa55word");
		const { archive, said } = JSON.parse(text);
		expect([archive, said]).toEqual([
			"saved:redis://127.0.0.1:1/4",
			expect.stringContaining("The archive in redis://127.0.0.1:1/4 cannot be used"),
		]);
	});

	it("leaves standard output to the protocol of a program that an editor starts", async () => {
		const environment = await install("claude-agent-acp", asking);
		const { text, lines } = await runCli(["launch", "claude-agent-acp"], { folder, environment });
		expect(JSON.parse(text)).toMatchObject({
			base: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
			arguments: [],
		});
		expect(lines.join("\n")).toContain("1 request");
	});

	it("passes signals on, and waits for the program to end", async () => {
		const program = `
			process.on("SIGTERM", () => setTimeout(() => { console.log("ended well"); process.exit(5); }, 200));
			setInterval(() => {}, 1000);
			console.log("ready");`;
		const environment = { ...cleanEnvironment(folder), ...(await install("claude", program)) };
		const child = spawn(process.execPath, [builtCli, "launch", "claude"], { cwd: folder, env: environment });
		let output = "";
		child.stdout.on("data", (chunk) => {
			if (output === "") child.kill("SIGTERM");
			output += chunk;
		});
		const code = await new Promise((resolve) => child.on("close", resolve));
		expect([code, output]).toEqual([5, "ready\nended well\n"]);
	});

	it("gives the exit code of a shell where a signal ends the program", async () => {
		const environment = await install("claude", 'process.kill(process.pid, "SIGKILL");');
		expect((await runCli(["launch", "claude"], { folder, environment })).code).toBe(137);
	});

	it("says so where the program is not installed", async () => {
		const environment = { ...(await install("other", "")), PATH: join(folder, "bin") };
		const { code, lines } = await runHere(["launch", "opencode"], { folder, environment });
		expect(code).toBe(127);
		expect(lines).toEqual(["palimpsest: cannot run opencode (opencode): there is no such command"]);
	});

	it("writes nothing next to the settings, and removes its temporary files", async () => {
		const program = `
			const { readFileSync, statSync } = require("node:fs");
			const file = process.env.CLINE_PROVIDER_SETTINGS_PATH;
			console.log(readFileSync(file, "utf8"));
			console.error("mode " + (statSync(file).mode & 0o777).toString(8));`;
		const environment = { ...(await install("cline", program)), TMPDIR: join(folder, "tmp") };
		await mkdir(join(folder, "tmp"));
		const file = join(folder, ".cline/data/settings/providers.json");
		await mkdir(join(folder, ".cline/data/settings"), { recursive: true });
		const settings = { providers: { anthropic: { settings: { apiKey: "k" } } }, lastUsedProvider: "anthropic" };
		await writeFile(file, JSON.stringify(settings));
		const { code, text, lines } = await runCli(["launch", "cline"], { folder, environment });
		expect([code, lines[0]]).toEqual([0, "mode 600"]);
		expect(JSON.parse(text).providers.anthropic.settings).toMatchObject({
			apiKey: "k",
			baseUrl: expect.stringMatching(/^http:\/\/127/),
		});
		expect(await readFile(file, "utf8")).toBe(JSON.stringify(settings));
		expect(await readdir(join(folder, "tmp"))).toEqual([]);
		expect(await readdir(join(folder, ".cline/data/settings"))).toEqual(["providers.json"]);
	});

	it("starts any program that --env points at the proxy", async () => {
		const environment = await install("agent", asking);
		const given = ["launch", "--env", "ANTHROPIC_BASE_URL={proxy}/base", "--", "agent", "--flag"];
		const { code, text, lines } = await runCli(given, { folder, environment });
		expect([code, lines.at(-1)]).toEqual([7, expect.stringContaining("1 request")]);
		const said = JSON.parse(text);
		expect(said).toMatchObject({ text: "A short title", arguments: ["--flag"] });
		expect(said.base).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/base$/);
		// The variable named the upstream before.
		expect(provider.paths).toEqual(["POST /base/v1/messages"]);
		const other = [
			"launch",
			"--env",
			"MY_URL={proxy}",
			"--upstream",
			`openai=${provider.origin}`,
			"--dry-run",
			"--",
			"agent",
		];
		const dry = await runHere(other, { folder, environment });
		expect(dry.text).toContain(`upstream openai: ${provider.origin}\n`);
		expect(dry.text).toContain("set MY_URL=http://127.0.0.1:PORT\n");
		expect(dry.text).toMatch(/\nrun agent\n$/);
	});

	it("refuses an address without {proxy}, and the upstream of an API that the program does not use", async () => {
		const form = await runHere(["launch", "--env", "OPENAI_BASE_URL=http://127.0.0.1", "--", "agent"], { folder });
		expect([form.code, form.lines]).toEqual([1, [expect.stringContaining("NAME=URL with {proxy} in it")]]);
		const upstream = await runHere(["launch", "--upstream", "openai=http://127.0.0.1", "claude"], { folder });
		const message = "error: expected --upstream for the API of Claude Code (anthropic); got openai";
		expect([upstream.code, upstream.lines[0]]).toEqual([2, message]);
	});

	it("sends the requests of a known program to the address of --upstream", async () => {
		const environment = { ...(await install("claude", asking)), ANTHROPIC_BASE_URL: "https://unused.example" };
		const given = ["launch", "--upstream", `anthropic=${provider.origin}`, "claude"];
		expect((await runCli(given, { folder, environment })).code).toBe(7);
		expect(provider.paths).toEqual(["POST /v1/messages"]);
		const dry = ["launch", "--dry-run", "--upstream", "anthropic=https://gateway.example", "claude"];
		const { text } = await runHere(dry, { folder, environment: { ANTHROPIC_BASE_URL: "" } });
		expect(text).toContain("upstream anthropic: https://gateway.example\n");
		expect(text).not.toContain("FIRST_PARTY");
	});

	it("gives Kimi Code its own folder, and keeps its files there except our settings", async () => {
		const program = `
			const { readFileSync, renameSync, statSync, writeFileSync } = require("node:fs");
			const home = process.env.KIMI_CODE_HOME;
			console.log(JSON.stringify([readFileSync(home + "/config.toml", "utf8"), readFileSync(home + "/sessions/one", "utf8")]));
			console.error("mode " + (statSync(home + "/config.toml").mode & 0o777).toString(8));
			writeFileSync(home + "/new", "");
			writeFileSync(home + "/sessions/two", "");
			writeFileSync(home + "/index.tmp", "after");
			renameSync(home + "/index.tmp", home + "/index");`;
		const environment = { ...(await install("kimi", program)), TMPDIR: join(folder, "tmp") };
		await mkdir(join(folder, "tmp"));
		const home = join(folder, ".kimi-code");
		await mkdir(join(home, "sessions"), { recursive: true });
		const config = '[providers.mine]\ntype = "anthropic"\napi_key = "k"\n[models.one]\nprovider = "mine"\n';
		const files = { "config.toml": config, index: "before", "sessions/one": "text" };
		for (const [name, text] of Object.entries(files)) await writeFile(join(home, name), text);
		const { code, text, lines } = await runCli(["launch", "kimi"], { folder, environment });
		expect([code, lines[0]]).toEqual([0, "mode 600"]);
		const [seen, session] = JSON.parse(text);
		expect([seen, session]).toEqual([expect.stringMatching(/base_url = "http:\/\/127/), "text"]);
		expect(await readFile(join(home, "config.toml"), "utf8")).toBe(config);
		expect(await readFile(join(home, "index"), "utf8")).toBe("after");
		expect((await readdir(home, { recursive: true })).sort()).toEqual(
			["config.toml", "index", "new", "sessions", join("sessions", "one"), join("sessions", "two")].sort(),
		);
		expect(await readdir(join(folder, "tmp"))).toEqual([]);
	});

	it.each([
		[["-p", "hi"]],
		[["--policy", "plan", "--port", "x", "--help"]],
		[["--", "-p", "hi"]],
		[["exec", "--", "-p"]],
	])("gives the program what follows its name: %j", async (given) => {
		const expected = given[0] === "--" ? given.slice(1) : given;
		const { text } = await runHere(["launch", "--dry-run", "claude", ...given], { folder });
		expect(text.trimEnd().split("\n").at(-1)?.split(" ").slice(-expected.length)).toEqual(expected);
		expect(text).toMatch(/^run claude /m);
	});

	it("refuses an unknown name", async () => {
		const unknown = await runHere(["launch", "clode"], { folder });
		expect([unknown.code, unknown.lines[0]]).toEqual([2, expect.stringContaining('"clode". Did you mean claude?')]);
	});
});

describe("a dry run", () => {
	const set = {
		gemini: { GOOGLE_GEMINI_BASE_URL: "https://gateway.example" },
		copilot: { COPILOT_PROVIDER_BASE_URL: "https://gateway.example/v1" },
		cline: { CLINE_PROVIDER_SETTINGS_PATH: "settings.json" },
		qwen: { OPENAI_API_KEY: "k", OPENAI_MODEL: "m", OPENAI_BASE_URL: "https://gateway.example/v1" },
		kimi: { KIMI_CODE_HOME: "." },
		cn: { CONTINUE_GLOBAL_DIR: "." },
		droid: { FACTORY_RUNTIME_SETTINGS_PATH: "settings.json" },
		goose: { GOOSE_PROVIDER: "anthropic" },
		letta: { LETTA_LOCAL_BACKEND_EXPERIMENTAL: "1" },
		nanocoder: { NANOCODER_PROVIDERS: JSON.stringify([{ name: "mine", baseUrl: "https://gateway.example/v1" }]) },
	} as Readonly<Record<string, Record<string, string>>>;

	// Command Code takes its providers from the home folder alone: test/hosts/base-url-agents.test.ts.
	const others = ["auggie", "amp", "command-code"];
	const withAddress = launchedPrograms.filter(({ name }) => !others.includes(name));
	it.each(withAddress.map(({ name, command, isLibrary }) => [name, isLibrary ? "" : `${command} .*`]))(
		"shows %s, and starts nothing",
		async (name, start) => {
			const settings = {
				providers: {
					"openai-compatible": { settings: { apiKey: "secret-of-cline", baseUrl: "https://gateway.example/v1" } },
				},
				lastUsedProvider: "openai-compatible",
				customModels: [{ provider: "openai", baseUrl: "https://gateway.example/v1", apiKey: "secret-of-droid" }],
			};
			const files = {
				"settings.json": JSON.stringify(settings),
				"config.toml": `[providers.mine]\ntype = "anthropic"\nbase_url = "https://gateway.example"\napi_key = "secret-of-kimi"\n[models.one]\nprovider = "mine"\n`,
				"config.yaml": "models: [{ provider: anthropic, apiKey: secret-of-continue }]\n",
			};
			for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
			const environment = { ...(set[name] ?? {}), PATH: "", TMPDIR: folder };
			const { code, text, lines } = await runHere(["launch", "--dry-run", name, "a b"], { folder, environment });
			expect([code, lines]).toEqual([0, []]);
			expect(text).toMatch(/^upstream (?:anthropic|openai|gemini): https:\/\/\S+$/m);
			expect(text).toContain("http://127.0.0.1:PORT");
			expect(text.trimEnd().split("\n").at(-1)).toMatch(new RegExp(`^run ${start}'a b'$`));
			expect(text).not.toContain("secret-of-");
			expect((await readdir(folder)).sort()).toEqual(["config.toml", "config.yaml", "settings.json"]);
		},
	);

	it("shows a file in place of the user's own settings, and no word of them", async () => {
		await writeFile(join(folder, "own.json"), '{"env":{"ANTHROPIC_BASE_URL":"https://a.example","MY_KEY":"secret"}}');
		const parameters = ["launch", "--dry-run", "claude", "--settings", "own.json", "-p", "x"];
		const { code, text } = await runHere(parameters, { folder });
		expect([code, text]).toEqual([0, expect.stringMatching(/^run claude --settings \S+claude-settings\.json -p x$/m)]);
		expect(text).toContain("upstream anthropic: https://a.example\n");
		expect(text).not.toContain("secret");
	});

	it("sets _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL, unless --no-first-party is given", async () => {
		const shown = async (...options: string[]) =>
			(
				await runHere(["launch", "--dry-run", ...options, "claude"], {
					folder,
					environment: { ANTHROPIC_BASE_URL: "" },
				})
			).text;
		expect(await shown()).toContain("set _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL=1\n");
		expect(await shown("--no-first-party")).not.toContain("FIRST_PARTY");
	});

	it.each([
		[
			"an upstream with a password",
			{ ANTHROPIC_BASE_URL: "http://:pa55word@gateway.example" },
			[],
			"[invalid_argument]",
		],
		[
			"an upstream with a query",
			{ ANTHROPIC_BASE_URL: "http://gateway.example/?key=pa55word" },
			[],
			"[invalid_argument]",
		],
		["a policy", {}, ["--set", "mask.nothing=1"], "[invalid_policy]"],
		["a pattern", {}, ["--set", 'archive.redact=["("]'], "[invalid_argument]"],
		["an archive", {}, ["--archive", "redis://:pa55/word@gateway.example"], "[invalid_argument]"],
	])("refuses %s as the launch does", async (_, environment, options, words) => {
		const { code, text, lines } = await runHere(["launch", "--dry-run", ...options, "claude"], { folder, environment });
		expect([code, text, lines]).toEqual([1, "", [expect.stringContaining(words)]]);
		expect(lines.join()).not.toContain("pa55");
	});

	it("shows an archive and arguments without the credentials of their addresses, and saves none", async () => {
		const parameters = [
			"--archive",
			"redis://joe:pa55word@db.example",
			"claude",
			"--",
			"http://joe:pa55word@gateway.example",
		];
		const { code, text } = await runHere(["launch", "--dry-run", ...parameters], { folder });
		expect([code, text]).toEqual([0, expect.stringContaining("set PALIMPSEST_ARCHIVE=saved:redis://db.example\n")]);
		expect(text).not.toContain("pa55word");
		expect(await readdir(folder)).toEqual([]);
	});
});
