import { spawn } from "node:child_process";
import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { builtCli, packageFolder } from "../support/built-cli.ts";
import { claudeCodeSession } from "../support/claude-code-session.ts";
import { runHere } from "../support/run-here.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { commandsOf, type Page, pages } from "./markdown.ts";

/** Commands that are not run here, and why. */
const elsewhere: readonly (readonly [pattern: RegExp, reason: string])[] = [
	[
		/^(?:npm ci\b|npm test$|npm run (?:test:(?:all|long|node)|lint|typecheck|demo|conformance)\b|\.ci\/run)/,
		"CI runs them",
	],
	[/^npm run (?:bench|fuzz|hosts|kills|lab|load|mutation|recording|soak)\b/, "minutes of work"],
	[
		/^(?:palimpsest|npx -y palimpsest-mcp) launch (?!.*--dry-run)/,
		"needs the program; launch.test.ts has one in its place",
	],
	[/^palimpsest trial /, "needs the program and a model; test/commands/trial.test.ts has both in their places"],
	[/^npx vitest run /, "part of the tests"],
	[/^npm install prom-client$/, "changes an installation"],
	[/^node examples\//, "examples.test.ts runs them all"],
	[
		/^(?:(?:claude|codex) plugin |gemini extensions )/,
		"the host's own; test/packaging/plugins.test.ts has what is installed",
	],
	[/^code --add-mcp /, "VS Code's own; hosts-page.test.ts compares its entry"],
	[/^claude mcp add /, "Claude Code's own; hosts-page.test.ts starts what it enters"],
	[/^docker |docker compose /, "needs a Docker engine"],
	[/^(?:install -m|echo "alice)/, "makes a file of the operator's"],
	[/^palimpsest proxy (?:status|env)$/, "asks a running proxy; test/commands/proxy.test.ts has one"],
	[
		/^palimpsest install [\w-]+ --gateway(?: github browser)?$/,
		"names servers of a host; test/commands/install-gateway.test.ts has some",
	],
	[/--strategy provider /, "needs the provider; test/operations/compact-by-provider.test.ts has a stand-in"],
	[
		/^palimpsest proxy --listen /,
		"needs tokens and Redis; test/proxy/server-fleet.long.test.ts has Redis, tenants.test.ts tokens",
	],
	[/--auth-issuer /, "needs the issuer; test/mcp/http/authenticate-jwt.test.ts has one"],
];
/** Commands that end with another code than 0, as they should. */
const otherCodes: Readonly<Record<string, number>> = { "palimpsest run --max-tokens 2000 -- npm test": 1 };

/** Brings originals into the archive, whose clearing is among the commands. */
const masking = "palimpsest mask chat.json --set locale=en --set mask.keep_errors=false";

let home: string;
let reference: string;
let environment: Record<string, string>;
const commands = new Map(pages.flatMap((page) => commandsOf(page).map((command) => [command, page.path] as const)));
const ran: string[] = [];
let isArchived = false;

const shims = {
	palimpsest: `exec "${process.execPath}" "${builtCli}" "$@"`,
	npx: 'while [ "$1" != palimpsest-mcp ]; do shift; done; shift; exec palimpsest "$@"',
	npm: 'i=0; while [ $i -lt 3000 ]; do echo "ok $i - a test that passes"; i=$((i+1)); done; echo "FAIL src/a.test.ts"; exit 1',
	git: 'echo "diff --git a/x b/x"; echo "+one line"',
};

beforeAll(async () => {
	home = await scratchFolder();
	const bin = join(home, "bin");
	await mkdir(bin);
	for (const [name, script] of Object.entries(shims)) {
		await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`);
		await chmod(join(bin, name), 0o755);
	}
	const { PALIMPSEST_ARCHIVE: _, ...rest } = cleanEnvironment(home);
	environment = { ...rest, PATH: `${bin}:${process.env.PATH}`, XDG_CONFIG_HOME: "", XDG_STATE_HOME: "" };
	const session = claudeCodeSession(24);
	await writeFile(
		join(home, "chat.json"),
		JSON.stringify(agentConversation(30)).replaceAll(secret, "the error, word for word"),
	);
	await writeFile(join(home, "session.jsonl"), session);
	await writeFile(join(home, "my.toml"), 'preset = "balanced"\n');
	await writeFile(join(home, "build.log"), "compiling\n".repeat(5_000));
	for (const folder of [".claude/projects/mine", ".codex/sessions"]) {
		await mkdir(join(home, folder), { recursive: true });
		await writeFile(join(home, folder, "session.jsonl"), withUsage(session));
	}
	await mkdir(join(home, "etc"));
	await writeFile(join(home, "etc/tokens"), `alice:${"a1b2c3d4".repeat(8)}\n`, { mode: 0o600 });
	const { output } = await runIn(masking);
	reference = /ref=(\w+)/.exec(output)?.[1] ?? "";
});

function pageOf(path: string): Page {
	const page = pages.find((one) => one.path === path);
	if (!page) throw new Error(`Page ${path} not found`);
	return page;
}

/** The session with the usage of each call, which reads all of the call before it from the cache. */
function withUsage(session: string): string {
	let cached = 0;
	const lines = session.split("\n").map((line) => {
		if (!line.includes('"type":"assistant"')) return line;
		const record = JSON.parse(line);
		record.message.usage = {
			input_tokens: 0,
			cache_read_input_tokens: cached,
			cache_creation_input_tokens: 1_000,
		};
		cached += 1_000;
		return JSON.stringify(record);
	});
	return lines.join("\n");
}

/** Puts the `export` lines of the command's page before the line. */
function exported(command: string, line: string): string {
	const page = pages.find((one) => commandsOf(one).includes(command));
	const exports = page ? commandsOf(page).filter((other) => other.startsWith("export ")) : [];
	return [...exports, line].join("\n");
}

/** What ends by itself, and needs of a shell no more than quotes, the home folder, a file for its output, and `&&`. */
const plain =
	/^palimpsest (?!serve|proxy|mcp|gateway|--)(?:[\w ./=,:~-]|(?<= )(?:'[^'\n]*'|"[^"$`\n]*"))+?(?: > ([\w.]+))?$/;

/** Runs a line in this process, or in a shell; a server is ended once it says that it listens. */
async function runIn(line: string): Promise<{ code: number | null; output: string; errors: string }> {
	const parts = line.trim().split(" && ");
	if (parts.every((part) => plain.test(part))) {
		const here = { ...environment, PALIMPSEST_ARCHIVE: undefined };
		const run = { code: 0, output: "", errors: "" };
		for (const part of parts) {
			const [, file] = plain.exec(part) ?? [];
			const given = file === undefined ? part : part.slice(0, -` > ${file}`.length);
			const words = Array.from(given.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g), ([, one, two, three]) => {
				return one ?? two ?? (three as string).replace(/^~(?=\/)/, home);
			});
			const { code, stdout, text, lines } = await runHere(words.slice(1), { folder: home, environment: here });
			if (file === undefined) run.output += text;
			else await writeFile(join(home, file), stdout);
			run.errors += lines.join("\n");
			run.code = code ?? 1;
			if (code !== 0) break;
		}
		return run;
	}
	const child = spawn("bash", ["-c", line], { cwd: home, env: environment });
	let output = "";
	let errors = "";
	child.stdout.on("data", (chunk) => {
		output += chunk;
	});
	child.stderr.on("data", (chunk) => {
		const isFirst = !/ at http:\/\//.test(errors);
		errors += chunk;
		// A second signal would end it at once.
		if (isFirst && / at http:\/\//.test(errors)) child.kill("SIGTERM");
	});
	child.stdin.end();
	return new Promise((resolve) => child.on("close", (code) => resolve({ code, output, errors })));
}

/** The line with the places and the reference of this test in it; a server takes any free port. */
function placed(line: string): string {
	return line
		.replaceAll("/etc/palimpsest/", `${home}/etc/`)
		.replace(/(?<=recall )[a-z2-7]{12}\b|\bREF\b/g, reference)
		.replace(/\bFOLDER\b/g, ".claude/projects")
		.replace("0.0.0.0:8765", "0.0.0.0:0")
		.replace(/--metrics 127\.0\.0\.1:9464/, "--metrics 127.0.0.1:0")
		.replace(/^palimpsest proxy(?= |$)/, "palimpsest proxy --port 0")
		.replace(/--http(?= --| *$)/, "--http 127.0.0.1:0");
}

describe("the documented commands", () => {
	const here = [...commands].filter(([command]) => !elsewhere.some(([pattern]) => pattern.test(command)));

	it.each(here)("%s", async (command) => {
		if (command.startsWith("palimpsest recall") && !isArchived) await runIn(masking);
		isArchived = !/^palimpsest archive /.test(command) && (isArchived || command.startsWith("palimpsest recall"));
		const { code, output, errors } = await runIn(exported(command, placed(command)));
		if (command.startsWith("palimpsest mask chat.json")) expect(output).toContain("[Observation masked: ");
		expect([code, code === (otherCodes[command] ?? 0) ? "" : errors]).toEqual([otherCodes[command] ?? 0, ""]);
		ran.push(command);
	});

	it("were run, or have a reason why not", () => {
		expect(ran.length).toBe(here.length);
		expect(here.length).toBeGreaterThan(25);
		const unused = elsewhere.filter(([pattern]) => ![...commands.keys()].some((command) => pattern.test(command)));
		expect(unused.map(([pattern]) => pattern.source)).toEqual([]);
	});
});

it("the table on the page on replay has the rows and columns that its command prints", async () => {
	const page = pageOf("docs/measure.md");
	const command = commandsOf(page).find((one) => one.startsWith("palimpsest replay FOLDER --min-turns")) ?? "";
	const { output } = await runIn(placed(command));
	const tableOf = (text: string) => {
		const [, table = ""] = /^(policy +cost[\s\S]*?)\n(?:\n|```)/m.exec(text) ?? [];
		return table.split("\n").map((line) => line.replace(/(?<=^\S+) .*\d.*$/, "").replace(/ +/g, " "));
	};
	expect(tableOf(page.text)).toEqual(tableOf(output));
	expect(tableOf(output)).toHaveLength(4);
});

it("the library example on the page on agent programs runs with the package alone, without a server", async () => {
	const { text } = pageOf("docs/agents.md");
	const [, example = ""] = /^```ts\n([\s\S]*?from "palimpsest-mcp"[\s\S]*?)^```$/m.exec(text) ?? [];
	await mkdir(join(home, "node_modules"), { recursive: true });
	await symlink(packageFolder, join(home, "node_modules/palimpsest-mcp"), "junction");
	await writeFile(join(home, "example.mjs"), example);
	const { code, output, errors } = await runIn(`"${process.execPath}" example.mjs`);
	expect([code, errors]).toEqual([0, ""]);
	expect(output).toMatch(/changed|tokens/);
});

afterAll(async () => {
	// What the commands wrote is what they say: the restored session is the one that was masked.
	if (!ran.includes("palimpsest restore smaller.jsonl > session.jsonl")) return;
	expect(await readFile(join(home, "session.jsonl"), "utf8")).toBe(claudeCodeSession(24));
});
