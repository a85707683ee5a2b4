import { StreamableHTTPClientTransport as NewerHttpTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewerStdioTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compact, guard, mask, openArchive, truncate } from "../../src/index.ts";
import { agentConversation } from "../support/agent-conversation.ts";
import { builtCli } from "../support/built-cli.ts";
import { newerClient } from "../support/client-2026.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { httpServer } from "./http-server.ts";
import { refsIn, structured } from "./recall-session.ts";

const older = ["stdio", "Streamable HTTP with sessions", "Streamable HTTP, stateless", "HTTP+SSE"] as const;
const newer = ["stdio, 2026-07-28", "HTTP, 2026-07-28", "HTTP without sessions, 2026-07-28"] as const;
const names = [...older, ...newer];
type Name = (typeof names)[number];

const isNewer = (name: Name) => (newer as readonly string[]).includes(name);

/** A model of its own must not be asked where a request stands alone, so no client here offers one. */
const clients = new Map<Name, Client>();
const parameters = ["--archive", "memory", "--set", "locale=en"];

beforeAll(async () => {
	const folder = await scratchFolder();
	const [withSessions, stateless] = await Promise.all([
		httpServer(parameters),
		httpServer([...parameters, "--stateless"]),
	]);
	const env = cleanEnvironment(folder);
	const command = {
		command: process.execPath,
		args: [builtCli, ...parameters],
		cwd: folder,
		env,
		stderr: "ignore" as const,
	};
	const transports: Record<Name, unknown> = {
		stdio: new StdioClientTransport(command),
		"stdio, 2026-07-28": new NewerStdioTransport(command),
		"HTTP, 2026-07-28": new NewerHttpTransport(new URL(`${withSessions.url}/mcp`)),
		"HTTP without sessions, 2026-07-28": new NewerHttpTransport(new URL(`${stateless.url}/mcp`)),
		"Streamable HTTP with sessions": new StreamableHTTPClientTransport(new URL(`${withSessions.url}/mcp`)),
		"Streamable HTTP, stateless": new StreamableHTTPClientTransport(new URL(`${stateless.url}/mcp`)),
		"HTTP+SSE": new SSEClientTransport(new URL(`${withSessions.url}/sse`)),
	};
	for (const name of names) {
		const client = isNewer(name)
			? (newerClient() as unknown as Client)
			: new Client({ name: "test", version: "1.0.0" });
		await client.connect(transports[name] as Transport);
		// The client checks every later answer against the schemas that it has seen here.
		await client.listTools();
		clients.set(name, client);
	}
});
afterAll(() => Promise.all([...clients.values()].map((client) => client.close())));

/** Does the same by every transport; what stdio answers is what all must answer. */
async function everywhere<Answer>(ask: (client: Client) => Promise<Answer>): Promise<Answer> {
	const answers = new Map<Name, Answer>();
	for (const [name, client] of clients) answers.set(name, withoutEra(withoutTimes(await ask(client))));
	expect([...answers.keys()]).toEqual(names);
	const ofStdio = answers.get("stdio") as Answer;
	for (const [name, answer] of answers) expect(answer, name).toEqual(ofStdio);
	return ofStdio;
}

/** Each server has an archive of its own, and keeps a text when it comes. */
function withoutTimes<Answer>(answer: Answer): Answer {
	const times = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
	return JSON.parse(JSON.stringify(answer ?? null).replace(times, "(a time)")) as Answer;
}

/** What the newer era adds to every result, and the words that the older SDK puts before errors. */
function withoutEra<Answer>(answer: Answer): Answer {
	const server = "io.modelcontextprotocol/serverInfo";
	const added = ["ttlMs", "cacheScope", server];
	const plain = JSON.stringify(answer, (name, value) => {
		if (added.includes(name)) return undefined;
		if (name === "_meta" && Object.keys(value).every((key) => key === server)) return undefined;
		return typeof value === "string" ? value.replaceAll(/MCP error -\d+: /g, "") : value;
	});
	return JSON.parse(plain) as Answer;
}

type Structured = Readonly<Record<string, unknown>> & { readonly messages: unknown[] };

async function call(name: string, args: Record<string, unknown>): Promise<CallToolResult> {
	return (await everywhere((client) => client.callTool({ name, arguments: args }))) as CallToolResult;
}

async function answer(name: string, args: Record<string, unknown>): Promise<Structured> {
	const result = await call(name, args);
	expect(result.isError, JSON.stringify(result.content)).toBeFalsy();
	return structured<Structured>(result);
}

async function error(name: string, args: Record<string, unknown>): Promise<string> {
	const { isError, content } = await call(name, args);
	expect(isError).toBe(true);
	return (content[0] as { text: string }).text;
}

const messages = agentConversation(12);
const guarded = { messages, context_window: 6_000, reserve_tokens: 500 };

describe("every transport", () => {
	it("introduces the same server with the same tools, resources and policy", async () => {
		const { tools } = await everywhere((client) => client.listTools());
		const five = ["mask_conversation", "guard_context", "truncate_output", "compact_conversation", "recall_original"];
		expect(tools.map(({ name }) => name)).toEqual(five);
		await everywhere(async (client) => [client.getServerVersion(), client.getInstructions()]);
		// Beside answers nothing reaches a client of a stateless server, so it is offered no log and no news.
		const stateless = clients.get("Streamable HTTP, stateless");
		const { logging, resources, ...rest } = stateless?.getServerCapabilities() ?? {};
		expect([logging, resources?.subscribe]).toEqual([undefined, false]);
		const whole = { ...rest, resources: { ...resources, subscribe: true }, logging: {} };
		// Lists never change; the newer SDK says so of tools too.
		const tellsMore = { ...whole, tools: { listChanged: false } };
		for (const name of newer) expect(clients.get(name)?.getServerCapabilities(), name).toEqual(tellsMore);
		const ofNewer = newer.map((name) => clients.get(name));
		const differs = (client: Client) => client === stateless || ofNewer.includes(client);
		await everywhere(async (client) => (differs(client) ? whole : client.getServerCapabilities()));
		await everywhere((client) => client.listResources());
		await everywhere((client) => client.listResourceTemplates());
		const { contents } = await everywhere((client) => client.readResource({ uri: "policy://current" }));
		expect(contents).toHaveLength(1);
		// The newer era has no pings.
		await everywhere(async (client) => (ofNewer.includes(client) ? {} : client.ping()));
	});

	it.each(["messages", "edits", "report"])("masks, and answers with %s", async (respond_with) => {
		const { report, ...rest } = await answer("mask_conversation", { messages, respond_with });
		expect(report).toMatchObject({ changed: true, masked_tool_results: 4 });
		expect(Object.keys(rest)).toEqual(respond_with === "report" ? [] : [respond_with]);
	});

	it.each(["messages", "edits", "report"])("guards, and answers with %s", async (respond_with) => {
		const { report, ...rest } = await answer("guard_context", { ...guarded, respond_with });
		expect(report).toMatchObject({ changed: true, fits: true });
		expect(Object.keys(rest)).toEqual([respond_with === "report" ? "context" : respond_with]);
	});

	it("answers as the library does", async () => {
		const options = {
			policy: { locale: "en" },
			archive: await openArchive({ where: "memory" }),
			recallHint: "recall_original",
		} as const;
		const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
		const masked = await mask(messages, options);
		expect(await answer("mask_conversation", { messages })).toEqual(
			plain({ messages: masked.conversation, report: masked.report }),
		);
		const fitted = await guard(messages, { ...options, contextWindow: 6_000, reserveTokens: 500 });
		expect(await answer("guard_context", guarded)).toEqual(
			plain({ messages: fitted.conversation, report: fitted.report }),
		);
		const text = Array.from({ length: 900 }, (_, line) => `line ${line}`).join("\n");
		const cut = await truncate(text, { ...options, maxChars: 2_000 });
		expect(await answer("truncate_output", { text, max_chars: 2_000 })).toEqual(
			plain({ text: cut.text, ...cut.report }),
		);
		const hidden = await compact(messages, { ...options, strategy: "tool-result-hiding", force: true });
		expect(await answer("compact_conversation", { messages, strategy: "tool-result-hiding", force: true })).toEqual(
			plain({ messages: hidden.conversation, report: hidden.report }),
		);
	});

	it("truncates, and recalls the complete text, a part, and by call id", async () => {
		const text = Array.from({ length: 900 }, (_, line) => `line ${line} of the output`).join("\n");
		const cut = await answer("truncate_output", { text, max_chars: 2_000 });
		expect(cut).toMatchObject({ truncated: true });
		const [ref] = refsIn(cut.text);
		expect(await answer("recall_original", { ref, lines: "500-501" })).toMatchObject({
			text: "line 499 of the output\nline 500 of the output\n",
		});
		expect(await answer("recall_original", { ref, grep: "line 77\\d" })).toMatchObject({ ref });
		const renamed = JSON.parse(JSON.stringify(messages).replace(/\bcall_(?=\d)/g, "recalled_"));
		await answer("mask_conversation", { messages: renamed });
		expect(await answer("recall_original", { tool_call_id: "recalled_1", max_tokens: 5_000 })).toMatchObject({
			text: messages[5]?.content,
		});
		const { contents } = await everywhere((client) => client.readResource({ uri: `original://${ref}` }));
		expect(contents).toMatchObject([{ text }]);
	});

	it("asks the caller for a summary and accepts it", async () => {
		const asked = { messages, strategy: "llm-summary", force: true };
		const { summary_request: request } = await answer("compact_conversation", asked);
		const { summary_token } = request as { summary_token: string };
		const compacted = await answer("compact_conversation", { ...asked, summary: handover, summary_token });
		expect(compacted.messages.length).toBeLessThan(messages.length);
		expect(JSON.stringify(compacted.messages)).toContain("Mend the parser.");
		expect(compacted.report).toMatchObject({ result: "summarised", summary: { by: "caller" } });
	});

	it("accepts and returns large conversations", async () => {
		const large = agentConversation(520);
		expect(JSON.stringify(large).length).toBeGreaterThan(1_000_000);
		const { messages: masked } = await answer("mask_conversation", { messages: large });
		expect(masked).toHaveLength(large.length);
	});

	it("reports errors in the same words", async () => {
		expect(await error("truncate_output", { text: 1 })).toMatch(/^\[invalid_argument\] /);
		expect(await error("mask_conversation", { messages: [{ no: "role" }] })).toMatch(/^\[not_a_conversation\] /);
		expect(await error("mask_conversation", { messages, polcy: {} })).toMatch(/Did you mean policy\?/);
		expect(await error("mask_conversation", { messages, policy: { mask: { x: 1 } } })).toMatch(/^\[invalid_/);
		expect(await error("recall_original", { ref: "ku193re960gi257do532" })).toMatch(/^\[original_not_found\] /);
		const refused = (client: Client) => client.callTool({ name: "no_such_tool" }).catch(({ message }) => message);
		expect(await everywhere(refused)).toContain("Unknown tool. Known:");
	});
});
