import { describe, expect, it } from "vitest";
import { recallWays } from "../../src/proxy/recall-hint.ts";
import { early, play, sendSettled, startPlayed } from "./played.ts";
import { maskedIn, requestOf, turnsOf } from "./sessions.ts";

const offered = (...tools: readonly unknown[]) => recallWays({ tools }, "palimpsest recall")[0];
const command = "`palimpsest recall {ref}`";

describe("how an original is read", () => {
	it.each([
		["Anthropic", { name: "mcp__palimpsest__recall_original", input_schema: {} }, "mcp__palimpsest__recall_original"],
		[
			"OpenAI chat",
			{ type: "function", function: { name: "palimpsest_recall_original" } },
			"palimpsest_recall_original",
		],
		["OpenAI Responses", { type: "function", name: "recall_original" }, "recall_original"],
		[
			"an MCP server in Codex",
			{ type: "namespace", name: "mcp__palimpsest", tools: [{ type: "function", name: "recall_original" }] },
			"recall_original",
		],
		["Bedrock's Converse", { toolSpec: { name: "recall_original", inputSchema: { json: {} } } }, "recall_original"],
		["Gemini", { functionDeclarations: [{ name: "look" }, { name: "recall_original" }] }, "recall_original"],
	])("by the tool of %s that is named like recall_original, before any shell", (_, tool, name) => {
		expect(offered({ name: "Bash" }, tool)).toBe(name);
	});

	it.each([
		"Bash",
		"bash",
		"shell",
		"exec_command",
		"shell_command",
		"run_shell_command",
		"execute_command",
		"PowerShell",
	])("by the command in the shell %s", (name) => {
		expect(offered({ name: "Read" }, { name })).toBe(command);
	});

	it.each([
		["Execute", { summary: { type: "string" }, command: { type: "string" } }],
		["execute_bash", { command: { type: "string" } }],
		["terminal_run", { cmd: { type: ["string", "null"] } }],
		["exec", { command: { type: "array", items: { type: "string" } } }],
	])("by the command in a tool with the name and the arguments of a shell: %s", (name, properties) => {
		const schema = { type: "object", properties };
		expect(offered({ name, input_schema: schema })).toBe(command);
		expect(offered({ type: "function", function: { name, parameters: schema } })).toBe(command);
		expect(offered({ functionDeclarations: [{ name, parametersJsonSchema: schema }] })).toBe(command);
		expect(offered({ toolSpec: { name, inputSchema: { json: schema } } })).toBe(command);
	});

	it.each([
		["execute_sql", { query: { type: "string" } }],
		["terminal_view", { command: { type: "string", enum: ["open", "close"] } }],
		["mcp__remote__execute", { command: { type: "string" } }],
		["editor", { command: { type: "string" } }],
		["executor_settings", { commands: { type: "number" } }],
	])("not by a tool that may run no command here: %s", (name, properties) => {
		expect(offered({ name, input_schema: { type: "object", properties } })).toBeUndefined();
	});

	it("by the command in OpenAI's own shell, which has no name", () => {
		expect(offered({ type: "local_shell" })).toBe(command);
	});

	it.each([[{ name: "Read" }], [{ name: "recall_original_files" }], [{ name: "bashful" }], [null], ["bash"], []])(
		"not at all by %j",
		(...tools) => {
			expect(offered(...tools)).toBeUndefined();
		},
	);

	it.each([undefined, null, {}, { tools: null }, { tools: {} }])("not at all in %j", (body) => {
		expect(recallWays(body, "palimpsest recall")).toEqual([]);
	});
});

describe("the hint of a placeholder", () => {
	const turns = turnsOf(9, 3_000);

	const placeholders = async (change: (body: string) => string) => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		for (let count = 1; count <= turns.length; count += 1) {
			const { body, ...rest } = requestOf("anthropic", turns.slice(0, count));
			await sendSettled(proxy, { ...rest, body: change(String(body)) });
		}
		const found = maskedIn(session.lastBody());
		expect(found.length).toBeGreaterThan(3);
		// One hint is enough, in the oldest.
		for (const text of found.slice(1)) expect(text).not.toMatch(/recall/);
		return found[0] as string;
	};

	it("is the command where the request offers a shell", async () => {
		expect(await placeholders((body) => body)).toMatch(/`palimpsest recall \w+`/);
	});

	it("is the tool that is named like recall_original", async () => {
		const tool = '{"name": "mcp__palimpsest__recall_original", "input_schema": {"type": "object"}}, {';
		const text = await placeholders((body) => body.replace(/"tools": \[\s*\{/, `"tools": [${tool}`));
		expect(text).toContain("mcp__palimpsest__recall_original");
		expect(text).not.toContain("palimpsest recall");
	});

	it("is absent where nothing can read an original", async () => {
		const text = await placeholders((body) => body.replaceAll('"bash"', '"search"'));
		expect(text).toMatch(/#\w+\]/);
		expect(text).not.toMatch(/recall/);
	});

	it("has no placeholder where nothing can read an original and the call cannot be repeated", async () => {
		const withCalls = (name: string, input: object) =>
			turns.map(({ id, output }) => ({ id, output, call: { name, input } }));
		const masked = async (name: string, input: object) => {
			const session = await startPlayed({ policy: early });
			const proxy = await session.start();
			const played = withCalls(name, input);
			for (let count = 1; count <= played.length; count += 1) {
				const { body, ...rest } = requestOf("anthropic", played.slice(0, count) as never);
				await sendSettled(proxy, { ...rest, body: String(body).replaceAll('"bash"', `"${name}"`) });
			}
			return maskedIn(session.lastBody()).length;
		};
		expect(await masked("create_order", { customer: 7 })).toBe(0);
		expect(await masked("ask_expert", { question: "why" })).toBe(0);
		expect(await masked("read_file", { path: "a.txt" })).toBeGreaterThan(3);
		expect(await masked("fetch_page", { url: "https://a.example" })).toBeGreaterThan(3);
	});

	it("names what works in a fork whose tools differ, and the session goes on as before", async () => {
		const tool = '{"name": "mcp__palimpsest__recall_original", "input_schema": {"type": "object"}}, {';
		const withTool = (body: string) => body.replace(/"tools": \[\s*\{/, `"tools": [${tool}`);
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		const send = async (count: number, change: (body: string) => string) => {
			const { body, ...rest } = requestOf("anthropic", turns.slice(0, count));
			await sendSettled(proxy, { ...rest, body: change(String(body)) });
			return maskedIn(session.lastBody()).filter((text) => text.includes("recall"));
		};
		let own: string[] = [];
		for (let count = 1; count < turns.length; count += 1) own = await send(count, withTool);
		expect(own).toHaveLength(1);
		expect(own[0]).toContain("mcp__palimpsest__recall_original");
		const inShell = await send(8, (body) => body);
		expect(inShell).toEqual([
			own[0]?.replace(/mcp__palimpsest__recall_original/, `\`palimpsest recall ${/#(\w+)/.exec(own[0])?.[1]}\``),
		]);
		expect(await send(8, (body) => body.replaceAll('"bash"', '"search"'))).toEqual([]);
		expect(await send(8, withTool)).toEqual(own);
		expect(await send(9, withTool)).toEqual(own);
	});

	it("moves to the first placeholder that is left when the host rewrites the result that had it, and stays there", async () => {
		const session = await startPlayed({ policy: early });
		const proxy = await session.start();
		await play(proxy, turns.slice(0, 8), { api: "gemini" });
		// As Gemini CLI does with its oldest results.
		const rewritten = turns.map((turn, index) =>
			index < 3
				? { ...turn, output: `<tool_output_masked>\n${turn.output.slice(0, 500)}\n</tool_output_masked>` }
				: turn,
		);
		await sendSettled(proxy, requestOf("gemini", rewritten.slice(0, 8)));
		const [first, ...others] = maskedIn(session.lastBody());
		expect(first).toMatch(/`palimpsest recall \w+`/);
		expect(others.join()).not.toMatch(/recall/);
		await sendSettled(proxy, requestOf("gemini", rewritten));
		await sendSettled(await session.start(), requestOf("gemini", rewritten));
		const [going, resumed] = session.bodies().slice(-2).map(maskedIn);
		expect(going?.filter((text) => text.includes("recall"))).toEqual([first]);
		expect(resumed).toEqual(going);
	});
});
