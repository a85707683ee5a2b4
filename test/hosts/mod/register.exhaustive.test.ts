import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it } from "vitest";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { readFigures } from "../../../src/storage/figures/store.ts";
import { shortenedRef } from "../../../src/storage/restore/recognise.ts";
import { packageFolder } from "../../support/built-cli.ts";
import { logOf } from "../../support/hook-events.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { installProgram } from "../install-programs.ts";
import { modParameters } from "../mod-plugin.ts";
import { type ClaudeSession, doneText, type PlannedCall, startClaude, subagentPrompt } from "../play-claude.ts";
import { programs } from "../programs.ts";

// The real program, newest, against the strict stand-in. Skipped where npm does not install it.

const execFileAsync = promisify(execFile);

const large = logOf(700, { 300: "FAILED in the middle" });
const bash = (...commands: readonly string[]): PlannedCall => ({
	tool: "Bash",
	inputs: commands.map((command) => ({ command })),
});

const open: ClaudeSession[] = [];

afterEach(async () => {
	for (const session of open.splice(0)) await session.close();
});

async function start(context: { readonly skip: () => void }, given: Parameters<typeof startClaude>[0]) {
	const session = await startClaude(given);
	if (!session) {
		context.skip();
		throw new Error("Skipped.");
	}
	open.push(session);
	await writeFile(join(session.project, "large.log"), large);
	return session;
}

/** Results of the last request, in order. */
function results({ messages }: ClaudeSession): string[] {
	const blocks = messages().flatMap((message) => (JSON.parse(message) as { content: unknown }).content);
	return (blocks as { type?: string; content?: unknown }[]).flatMap((block) => {
		if (block.type !== "tool_result") return [];
		const { content } = block;
		return [typeof content === "string" ? content : (content as { text: string }[]).map(({ text }) => text).join("")];
	});
}

const archiveOf = ({ home }: ClaudeSession) => openArchive({ where: join(home, ".local/state/palimpsest/archive") });

async function originalOf(session: ClaudeSession, shown: string): Promise<string | undefined> {
	const found = await (await archiveOf(session))?.get(shortenedRef(shown) ?? "");
	return found?.text;
}

describe("results in Claude Code", { timeout: 300_000 }, () => {
	it("are cut for parallel and failing calls, large ones and subagents, and sent the same after a resume with and without the mod", async (context) => {
		const session = await start(context, {
			plan: [
				bash("sh run.sh 1", "sh run.sh 2"),
				bash("sh run.sh 3; exit 7"),
				bash("sh megabyte.sh"),
				{ tool: "Agent", inputs: [{ description: "Look", prompt: subagentPrompt, subagent_type: "general-purpose" }] },
			],
			subagent: "sh run.sh 4",
		});
		await writeFile(join(session.project, "run.sh"), 'echo "run $1"; cat large.log');
		const megabyte = large.repeat(Math.ceil(1_000_000 / large.length)).slice(0, 1_000_000);
		await writeFile(join(session.project, "megabyte.txt"), megabyte);
		await writeFile(join(session.project, "megabyte.sh"), "cat megabyte.txt");
		const first = await session.play();
		expect(first.output).toContain(doneText);
		const shown = results(session);
		expect(shown.length).toBe(5);
		for (const text of shown.slice(0, 4)) expect(shortenedRef(text), text.slice(0, 200)).toBeDefined();
		expect(await originalOf(session, shown[3] ?? "")).toBe(megabyte);
		const inSubagent = session.provider.requests.filter(({ body }) => body.includes("run 4"));
		expect(inSubagent.length).toBeGreaterThan(0);
		expect(inSubagent.at(-1)?.body).toContain("Output shortened");
		const before = session.messages();
		for (const hasMod of [true, false]) {
			expect((await session.play({ hasMod, resumes: true, prompt: "Follow the plan. Again." })).code).toBe(0);
			expect(session.messages().slice(0, before.length)).toEqual(before);
		}
		expect(session.provider.refusals).toEqual([]);
		expect(session.provider.totals()).toMatchObject({ cacheBreaks: 0, blocksLost: 0 });
		const agents = new Set<unknown>();
		const folder = join(session.home, ".local/state/palimpsest/figures");
		let requests = 0;
		for await (const line of readFigures({ since: 0, folder })) {
			if (line.kind !== "request") continue;
			requests += 1;
			agents.add(line.agent);
		}
		expect(requests).toBeGreaterThanOrEqual(8);
		expect(agents).toContain("general-purpose");
	});

	it("are cut for an MCP server, and one of 10 MB passes whole", async (context) => {
		const plan = [500_000, 10_000_000].map((chars) => ({ tool: "mcp__big__dump", inputs: [{ chars }] }));
		const session = await start(context, { plan });
		const server = join(session.home, "big.mjs");
		await writeFile(server, bigServer);
		const config = JSON.stringify({ mcpServers: { big: { command: process.execPath, args: [server] } } });
		const { output } = await session.play({
			parameters: ["--mcp-config", config, "--allowedTools", "mcp__big"],
			environment: { MAX_MCP_OUTPUT_TOKENS: "10000000" },
		});
		expect(output).toContain(doneText);
		const [half = "", ten = ""] = results(session);
		expect(half.length).toBeLessThanOrEqual(16_000);
		// Claude Code adds to what the server sent.
		expect((await originalOf(session, half))?.length).toBeGreaterThanOrEqual(500_000);
		expect(shortenedRef(ten)).toBeUndefined();
	});

	it.each([
		["the archive cannot be written", { PALIMPSEST_ARCHIVE: "/proc/none/archive" }, (module: string) => module],
		["a handler throws", {}, (module: string) => module.replaceAll("crypto.subtle.digest", "crypto.nothing.digest")],
		["an event's handler is wrong at once", {}, (module: string) => module.replaceAll("talk.heard(", "talk.nothing(")],
	])("stay whole where %s, and the session goes on", async (_, environment, change) => {
		const session = await start({ skip: () => {} }, { plan: [bash("cat large.log; sh -c true")] });
		const [, folder = ""] = modParameters(session.home);
		const plugin = join(session.home, "changed/palimpsest");
		await cp(folder, plugin, { recursive: true });
		const file = join(plugin, "hooks/palimpsest.js");
		const module = await readFile(file, "utf8");
		await writeFile(file, change(module));
		const { output } = await session.play({ plugin, environment });
		expect(output).toContain(doneText);
		expect(results(session)[0]).toContain("line 299 of the log is fine");
	});

	it("are left to the hook where the policy is wrong", async (context) => {
		const session = await start(context, { plan: [bash("cat large.log; sh -c true")] });
		await mkdir(join(session.home, ".config/palimpsest"), { recursive: true });
		await writeFile(join(session.home, ".config/palimpsest/palimpsest.toml"), "[truncate");
		expect((await session.play()).output).toContain(doneText);
	});

	it("cost half as much in 35 requests of 9 000 to 60 000 characters, with no reasoning lost", async (context) => {
		const totals: Record<"sent" | "billed", number>[] = [];
		for (const hasMod of [false, true]) {
			const commands = Array.from({ length: 34 }, (_, at) => `sh run.sh ${at} ${9_000 + ((at * 7_919) % 51_000)}`);
			const session = await start(context, { plan: commands.map((command) => bash(command)) });
			await writeFile(join(session.project, "run.sh"), 'echo "run $1"; cat long.log | head -c "$2"');
			await writeFile(join(session.project, "long.log"), large.repeat(4));
			const { output } = await session.play({ hasMod, environment: { BASH_MAX_OUTPUT_LENGTH: "100000" } });
			expect(output).toContain(doneText);
			expect(session.provider.refusals).toEqual([]);
			expect(session.provider.totals()).toMatchObject({ requests: 35, cacheBreaks: 0, blocksLost: 0, blocksGone: 0 });
			totals.push(session.provider.totals());
		}
		const ratio = (of: "sent" | "billed") => (totals[1]?.[of] ?? 1) / (totals[0]?.[of] ?? 1);
		process.stderr.write(`tokens × ${ratio("sent").toFixed(2)}, billed × ${ratio("billed").toFixed(2)}\n`);
		expect(ratio("sent")).toBeLessThanOrEqual(0.6);
		expect(ratio("billed")).toBeLessThanOrEqual(0.65);
	});
});

describe("a compaction in Claude Code", { timeout: 300_000 }, () => {
	/** Reads of files that stay whole: 60 000 tokens in all. */
	async function startReads(context: { readonly skip: () => void }) {
		const names = Array.from({ length: 16 }, (_, at) => `file${at}.txt`);
		const plan: PlannedCall[] = [];
		const session = await start(context, { plan });
		for (const name of names) {
			await writeFile(join(session.project, name), `${name}\n${large.slice(0, 14_000)}`);
			plan.push({ tool: "Read", inputs: [{ file_path: join(session.project, name) }] });
		}
		return session;
	}

	const isMasked = (text: string) => text.startsWith("[Observation masked:");

	async function expectSameAfterResumes(session: ClaudeSession) {
		expect((await session.play({ resumes: true, prompt: "Follow the plan. Again." })).output).toContain(doneText);
		const before = session.messages();
		for (const hasMod of [true, false]) {
			expect((await session.play({ hasMod, resumes: true, prompt: "Follow the plan. More." })).code).toBe(0);
			expect(session.messages().slice(0, before.length)).toEqual(before);
		}
		expect(session.provider.refusals).toEqual([]);
	}

	it("that a person asks for masks old results, and every other face reads them", async (context) => {
		const session = await startReads(context);
		expect((await session.play()).output).toContain(doneText);
		const whole = results(session);
		expect((await session.play({ resumes: true, prompt: "/palimpsest" })).output).toContain("Masking 8 old results");
		expect((await session.play({ resumes: true, prompt: "/compact" })).code).toBe(0);
		await expectSameAfterResumes(session);
		const shown = results(session);
		expect(shown.map(isMasked)).toEqual(Array.from({ length: 16 }, (_, at) => at < 8));
		expect(shown.slice(8)).toEqual(whole.slice(8));
		const request = join(session.home, "request.json");
		await writeFile(request, session.provider.requests.at(-1)?.body ?? "");
		const cli = async (...parameters: string[]) => {
			const { stdout } = await execFileAsync(process.execPath, [join(packageFolder, "dist/cli.js"), ...parameters], {
				env: { ...process.env, HOME: session.home, XDG_STATE_HOME: "", LC_ALL: "C.UTF-8" },
				maxBuffer: 1 << 26,
			});
			return stdout;
		};
		for (const [at, text] of shown.slice(0, 8).entries()) {
			const ref = /ref=(\w{12})/.exec(text)?.[1] ?? "";
			expect(await cli("recall", ref, "--max-tokens", "100000")).toContain((whole[at] ?? "").trimEnd());
		}
		const restored = JSON.parse(await cli("restore", request)) as { messages: { content: unknown }[] };
		const texts = JSON.stringify(restored.messages);
		for (const text of whole) expect(texts).toContain(JSON.stringify(text).slice(1, -1));
		expect(await cli("report", request)).toContain("8");
		expect(JSON.parse(await cli("stats", "--json"))).toMatchObject({});
	});

	it("that Claude Code starts within a turn masks old results, and the turn goes on", async (context) => {
		const session = await startReads(context);
		const { output } = await session.play({ environment: { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "5" } });
		expect(output).toContain(doneText);
		expect(results(session).filter(isMasked).length).toBeGreaterThan(0);
		await expectSameAfterResumes(session);
	});
});

it("each handler passes in the test kit of Claude Code", { timeout: 200_000 }, async (context) => {
	const program = programs.find(({ name }) => name === "claude");
	const installed = program && installProgram(program);
	if (installed?.kind !== "installed") return context.skip();
	const home = await scratchFolder();
	const [, folder = ""] = modParameters(home);
	await cp(join(packageFolder, "test/hosts/mod/plugin-tests.js"), join(folder, "palimpsest.test.ts"));
	const { stdout, stderr } = await execFileAsync(join(installed.binFolder, "claude"), ["plugin", "test", folder], {
		env: { PATH: process.env.PATH, HOME: home },
	});
	expect(stdout + stderr).toMatch(/ 8 pass\n 0 fail/);
});

/** Speaks as much of the protocol as a client needs for one tool. */
const bigServer = `
import { createInterface } from "node:readline";
const answer = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
	const { id, method, params } = JSON.parse(line);
	if (method === "initialize")
		answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "big", version: "1" } });
	if (method === "tools/list")
		answer(id, { tools: [{ name: "dump", description: "Dumps.", inputSchema: { type: "object", properties: { chars: { type: "number" } } } }] });
	if (method === "tools/call") {
		const row = "row of a table with some words in it\\n";
		const text = row.repeat(Math.ceil(params.arguments.chars / row.length)).slice(0, params.arguments.chars);
		answer(id, { content: [{ type: "text", text }] });
	}
});
`;
