import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { loadCounter } from "../../../src/formats/tokens/counter.ts";
import { openToolUse } from "../../../src/mcp/gateway/tool-use.ts";
import { builtCli } from "../../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../../support/scratch-folder.ts";
import { call, inMemoryGateway, type Json, textIn } from "./in-memory-gateway.ts";
import { startPostgres } from "./start-postgres.ts";

const folder = path.join(import.meta.dirname, "servers");
const modules = path.join(folder, "node_modules");
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const hasBrowser = process.env.CI !== undefined || existsSync(chromium);

const scriptOf = (name: string, file = "dist/index.js") => [process.execPath, path.join(modules, name, file)];
const servers = {
	everything: scriptOf("@modelcontextprotocol/server-everything"),
	filesystem: scriptOf("@modelcontextprotocol/server-filesystem"),
	memory: scriptOf("@modelcontextprotocol/server-memory"),
	postgres: scriptOf("@modelcontextprotocol/server-postgres"),
	playwright: scriptOf("@playwright/mcp", "cli.js"),
} as const;

beforeAll(() => {
	if (isInstalled()) return;
	const { status, stderr } = spawnSync(
		"npm",
		["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"],
		{
			cwd: folder,
			encoding: "utf8",
			shell: process.platform === "win32",
		},
	);
	if (status !== 0) throw new Error(`The servers cannot be installed: ${stderr}`);
}, 300_000);

function isInstalled(): boolean {
	const { dependencies } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
	return Object.entries(dependencies).every(([name, version]) => {
		const file = path.join(modules, name, "package.json");
		return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === version;
	});
}

/** A client of a server, directly or behind the gateway with these options. */
async function clientOf(server: readonly string[], options?: readonly string[], name = "test") {
	const home = await scratchFolder();
	const [command = "", ...args] = options
		? [process.execPath, builtCli, "gateway", ...options, "--", ...server]
		: server;
	const env = { ...cleanEnvironment(home), PALIMPSEST_ARCHIVE: "files" };
	const client = new Client({ name, version: "1.0.0" });
	await client.connect(new StdioClientTransport({ command, args, env, cwd: home, stderr: "ignore" }));
	onTestFinished(() => client.close());
	const call = async (name: string, given: Record<string, unknown> = {}) => {
		const { content } = (await client.callTool({ name, arguments: given })) as { content: { text?: string }[] };
		return content.map(({ text }) => text ?? "").join("\n");
	};
	return { client, call };
}

/** The answer to a request, or its error. */
const settled = async (answer: Promise<unknown>) => answer.catch((error: Error) => error.message);

const orders = `CREATE TABLE orders (id int PRIMARY KEY, customer text, day date, state text, amount numeric);
	INSERT INTO orders SELECT n, 'customer-' || n, date '2026-01-01' + n % 360, 'open', n * 7.5 FROM generate_series(1, 16000) n;
	UPDATE orders SET customer = 'Zimmermann & Söhne', state = 'disputed' WHERE id = 9345`;

/** A server-postgres, with a database behind it until the test is over. */
async function postgresServer(): Promise<string[]> {
	const database = await startPostgres(orders);
	onTestFinished(() => database.close());
	return [...servers.postgres, database.url];
}

describe.each(["everything", "filesystem", "memory", "postgres", "playwright"] as const)("the server %s", (name) => {
	it("lists and answers the same behind the gateway", async () => {
		const folders = name === "filesystem" ? [await scratchFolder()] : [];
		const server = name === "postgres" ? await postgresServer() : [...servers[name], ...folders];
		const [direct, behind] = [await clientOf(server), await clientOf(server, ["--no-recall"])];
		const listed = async ({ client }: typeof direct) => ({
			capabilities: client.getServerCapabilities(),
			instructions: client.getInstructions(),
			tools: await settled(client.listTools()),
			resources: await settled(client.listResources()),
			templates: await settled(client.listResourceTemplates()),
			prompts: await settled(client.listPrompts()),
		});
		const [ofDirect, ofBehind] = [await listed(direct), await listed(behind)];
		expect(ofBehind).toEqual(ofDirect);
		const { tools } = ofDirect.tools as { tools: { name: string }[] };
		expect(tools.length).toBeGreaterThan(name === "postgres" ? 0 : 5);
		// Those of playwright begin a browser.
		if (name === "playwright") return;
		// Without arguments most tools refuse the call, in words of their own.
		for (const tool of tools.filter(({ name }) => !/toggle|simulate|trigger|long|roots|env/.test(name))) {
			const given = { name: tool.name, arguments: {} };
			expect(await settled(behind.client.callTool(given))).toEqual(await settled(direct.client.callTool(given)));
		}
	});
});

describe("a large result of a real server", () => {
	async function sizes(server: readonly string[], steps: readonly (readonly [string, Record<string, unknown>])[]) {
		const countTokens = await loadCounter("o200k_base");
		const last = async ({ call }: Awaited<ReturnType<typeof clientOf>>) => {
			let text = "";
			for (const [tool, given] of steps) text = await call(tool, given);
			return text;
		};
		const direct = await last(await clientOf(server));
		const behind = await clientOf(server, ["--max-tokens", "4000"]);
		const cut = await last(behind);
		const shown = (text: string) => `${text.length} characters, ${countTokens(text)} tokens`;
		process.stdout.write(`${steps.at(-1)?.[0]}: ${shown(direct)} -> ${shown(cut)}\n`);
		expect(countTokens(cut)).toBeLessThanOrEqual(4_000);
		const ref = /ref=([a-z0-9]{12})/.exec(cut)?.[1];
		const found = async (pattern: string) =>
			cut.includes(pattern) || (await behind.call("recall_original", { ref, grep: pattern })).includes(pattern);
		return { direct, found };
	}

	it("of server-filesystem holds the answer, or one recall does", async () => {
		const root = await scratchFolder();
		const paths = Array.from({ length: 60 }, (_, module) =>
			Array.from({ length: 120 }, (_, file) => `module-${module}/src/component-${module}-${file}.ts`),
		).flat();
		const asked = ["invoice-renderer.ts", "tax-table.json", "retry-policy.md"];
		for (const file of [...paths, ...asked.map((name, at) => `module-${at * 20}/src/${name}`)]) {
			await mkdir(path.join(root, path.dirname(file)), { recursive: true });
			await writeFile(path.join(root, file), "");
		}
		const { direct, found } = await sizes([...servers.filesystem, root], [["directory_tree", { path: root }]]);
		expect(direct.length).toBeGreaterThan(500_000);
		for (const name of [...asked, "component-33-77.ts"]) expect(await found(name)).toBe(true);
	});

	it("that is a table holds the rows that are asked for, or one recall does", async () => {
		const root = await scratchFolder();
		const rows = Array.from(
			{ length: 42_000 },
			(_, at) => `${at},customer-${at},2026-${(at % 12) + 1}-01,open,${at * 7}.50,EUR`,
		);
		rows[17_345] = "17345,Zimmermann & Söhne,2026-03-01,disputed,99.95,CHF";
		await writeFile(path.join(root, "orders.csv"), ["id,customer,date,state,amount,currency", ...rows].join("\n"));
		const given = { path: path.join(root, "orders.csv") };
		const { direct, found } = await sizes([...servers.filesystem, root], [["read_text_file", given]]);
		expect(direct.length).toBeGreaterThan(2_000_000);
		for (const words of ["id,customer,date", "Zimmermann", "customer-41999"]) expect(await found(words)).toBe(true);
	});

	it("of server-postgres holds the rows that are asked for, or one recall does", async () => {
		const query = { sql: "SELECT * FROM orders ORDER BY id" };
		const { direct, found } = await sizes(await postgresServer(), [["query", query]]);
		expect(direct.length).toBeGreaterThan(2_000_000);
		for (const words of ["customer-1", "Zimmermann", "customer-16000"]) expect(await found(words)).toBe(true);
	});

	it.skipIf(!hasBrowser)("of @playwright/mcp holds the answer, or one recall does", async () => {
		const rows = Array.from(
			{ length: 700 },
			(_, at) =>
				`<tr><td><a href="/user/${at}">User ${at}</a></td><td>user${at}@example.org</td><td><button>Edit user ${at}</button></td></tr>`,
		);
		const page = `<title>Users</title><h1>All users</h1><p>Support: +41 44 555 0199</p><table>${rows.join("")}</table><footer>Contact: billing-4711@example.org</footer>`;
		const web = createServer((_request, response) =>
			response.writeHead(200, { "content-type": "text/html" }).end(page),
		);
		await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
		onTestFinished(() => void web.close());
		const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;
		const server = [...servers.playwright, "--headless", "--isolated", "--no-sandbox", "--executable-path", chromium];
		const { direct, found } = await sizes(server, [
			["browser_navigate", { url }],
			["browser_snapshot", {}],
		]);
		expect(direct.length).toBeGreaterThan(150_000);
		for (const words of [
			"All users",
			"+41 44 555 0199",
			"billing-4711@example.org",
			"Edit user 0",
			"user333@example.org",
			"Edit user 699",
		])
			expect(await found(words)).toBe(true);
	});
});

describe("structured content, which Claude Code shows its model in place of the texts", () => {
	const lines = (count: number) =>
		Array.from({ length: count }, (_, at) => `${at},customer-${at},2026-03-01,open,${at * 7}.50`);

	it.each([
		["the graph of server-memory", "memory", 29_000],
		["a table behind server-filesystem", "filesystem", 200_000],
	] as const)("takes at most a quarter of its tokens, and fits its schema: %s", async (what, name, chars) => {
		const countTokens = await loadCounter("o200k_base");
		const root = await scratchFolder();
		const table = path.join(root, "orders.csv");
		await writeFile(table, lines(5_600).join("\n"));
		const server = [...servers[name], ...(name === "filesystem" ? [root] : [])];
		const [direct, behind] = [
			await clientOf(server, undefined, "claude-code"),
			await clientOf(server, [], "claude-code"),
		];
		const seen = async ({ client }: typeof direct) => {
			await client.listTools();
			if (name === "memory") {
				const entities = Array.from({ length: 215 }, (_, at) => ({
					...{ name: `Person ${at}`, entityType: "person" },
					observations: [
						`Works in team ${at % 7} on invoices, and answers mail on Mondays.`,
						`Joined in ${1990 + (at % 30)}.`,
					],
				}));
				await client.callTool({ name: "create_entities", arguments: { entities } });
			}
			// The client checks the result by the schema.
			const result =
				name === "memory"
					? await client.callTool({ name: "read_graph", arguments: {} })
					: await client.callTool({ name: "read_text_file", arguments: { path: table } });
			return JSON.stringify(result.structuredContent);
		};
		const [whole, cut] = [await seen(direct), await seen(behind)];
		expect(whole.length).toBeGreaterThan(chars);
		const [before, after] = [countTokens(whole), countTokens(cut)];
		process.stdout.write(`${what}: ${whole.length} characters, ${before} tokens -> ${cut.length}, ${after}\n`);
		expect(after / before).toBeLessThanOrEqual(0.25);
		expect(cut).toMatch(/ref=[a-z0-9]{12}/);
	});
});

describe("the definitions of six servers, after ten sessions that used eight tools", () => {
	const six = {
		...{ everything: servers.everything, filesystem: servers.filesystem, playwright: servers.playwright },
		chrome: scriptOf("chrome-devtools-mcp", "build/src/bin/chrome-devtools-mcp.js"),
		context7: scriptOf("@upstash/context7-mcp"),
		github: scriptOf("@modelcontextprotocol/server-github"),
	};
	const used = [
		...["take_snapshot", "click", "navigate_page", "read_text_file"],
		...["list_directory", "query-docs", "get_issue", "browser_navigate"],
	];
	const tasks = [
		["take a picture of what the page looks like", "take_screenshot|browser_take_screenshot"],
		["rename a file", "move_file"],
		["find out how big a file is and when it was changed", "get_file_info"],
		["open a pull request for my branch", "create_pull_request"],
		["merge the PR", "merge_pull_request"],
		["report a bug in the repository", "create_issue"],
		["reply to an issue", "add_issue_comment"],
		["search the code on GitHub for a function name", "search_code"],
		["see the HTTP requests that the page made", "list_network_requests|browser_network_requests"],
		["read the error messages in the browser console", "list_console_messages|browser_console_messages"],
		["measure why the page loads slowly", "performance_start_trace"],
		["check the accessibility of a web page", "lighthouse_audit"],
		["look for a memory leak", "take_heapsnapshot"],
		["make a new folder", "create_directory"],
		["show the folder structure as a tree", "directory_tree"],
		["change some lines of a file", "edit_file"],
		["attach a file to an upload form", "upload_file|browser_file_upload"],
		["pick an option of a dropdown", "browser_select_option"],
		["add two numbers", "get-sum"],
		["copy somebody's repository to my account", "fork_repository"],
	] as const;

	it("take at most 0.30 of the tokens, and plain words find each unlisted tool at once", async () => {
		const countTokens = await loadCounter("o200k_base");
		const file = path.join(await scratchFolder(), "use.jsonl");
		for (let session = 0; session < 10; session += 1) {
			const use = await openToolUse({ file, session: `${session}`, kept: [] });
			for (const name of used.slice(session % 3)) use.called(name, { passed: false });
		}
		const deferral = await openToolUse({ file, session: "now", kept: [] });
		const all: Json[] = [];
		let [before, after] = [0, 0];
		const listOf = async (tools: readonly Json[]) => {
			const gateway = inMemoryGateway({ defers: true, deferral, lists: tools });
			return { ...gateway, listed: await gateway.answer({ id: 1, method: "tools/list" }, { tools }) };
		};
		const tokensOf = (tools: unknown) => countTokens(JSON.stringify(tools));
		for (const [name, server] of Object.entries(six)) {
			const { client } = await clientOf([...server, ...(name === "filesystem" ? [await scratchFolder()] : [])]);
			const tools = (await client.listTools()).tools as unknown as Json[];
			await client.close();
			all.push(...tools);
			const { listed } = await listOf(tools);
			before += tokensOf(tools);
			after += tokensOf(listed.tools);
		}
		const { listed, ownAnswer } = await listOf(all);
		const behindOne = tokensOf(listed.tools);
		const shown = (tokens: number) => `${tokens} (${(tokens / before).toFixed(3)} x)`;
		process.stdout.write(
			`${all.length} tools: ${before} tokens -> six gateways ${shown(after)}, one ${shown(behindOne)}\n`,
		);
		const missed = [];
		for (const [query, names] of tasks) {
			const { result } = await ownAnswer(call(2, "more_tools", { query }));
			const found = textIn(result as Json)
				.split("\n")
				.map((line) => JSON.parse(line).name as string);
			if (!found.some((name) => names.split("|").includes(name))) missed.push([query, found]);
		}
		expect(missed).toEqual([]);
		const lines = (listed.tools as { name: string; description: string }[]).find(({ name }) => name === "more_tools");
		const most = Math.max(...(lines?.description.split("\n").slice(1) ?? []).map(countTokens));
		expect(most).toBeLessThanOrEqual(20);
		expect(behindOne / before).toBeLessThanOrEqual(0.3);
		expect(after / before).toBeLessThanOrEqual(0.3);
	}, 120_000);
});
