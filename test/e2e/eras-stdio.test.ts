import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Client, Transport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { builtCli } from "../support/built-cli.ts";
import { envelope, modes, newerClient, revision } from "../support/client-2026.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";
import { handover } from "../support/stand-in-summariser.ts";
import { type StdioStart, startStdio } from "../support/stdio-session.ts";

const eraOf = { legacy: "2025-11-25", auto: revision, pin: revision };
const nameOf = (mode: (typeof modes)[number]) => (typeof mode === "string" ? mode : "pin");

/** Connects a client to the server on standard input and output, which is gone after the test. */
async function connectStdio(client: Client, server: StdioStart = {}): Promise<{ readonly folder: string }> {
	const folder = await scratchFolder();
	const { transport } = await startStdio(folder, server);
	await client.connect(transport as Transport);
	onTestFinished(() => client.close());
	return { folder };
}

/** The revisions whose SDK the process has loaded: by its coverage, and by a word of each that the other has not. */
async function loadedServers(folder: string): Promise<string[]> {
	const files = (await readdir(folder)).filter((name) => name.endsWith(".json"));
	const texts = await Promise.all(files.map((name) => readFile(path.join(folder, name), "utf8")));
	const urls = texts.flatMap((text) =>
		(JSON.parse(text) as { result: { url: string }[] }).result.map(({ url }) => url),
	);
	const sources = await Promise.all(
		urls.filter((url) => url.includes("/dist/")).map((url) => readFile(new URL(url), "utf8")),
	);
	const has = (text: string) => sources.some((source) => source.includes(text));
	return [...(has("class McpError ") ? ["2025-11-25"] : []), ...(has("mcpBrand") ? [revision] : [])];
}

describe.each(modes)("a client of the newer SDK in mode %j", (mode) => {
	it("is served in its era, and the other one is not loaded", async () => {
		const coverage = path.join(await scratchFolder(), "coverage");
		const client = newerClient(mode);
		await connectStdio(client, { inProcess: true, environment: { NODE_V8_COVERAGE: coverage } });
		const era = eraOf[nameOf(mode)];
		expect(client.getNegotiatedProtocolVersion()).toBe(era);
		expect((await client.listTools()).tools).toHaveLength(4);
		const called = await client.callTool({
			name: "truncate_output",
			arguments: { text: "x".repeat(900), max_chars: 300 },
		});
		expect(called.structuredContent).toMatchObject({ truncated: true });
		await client.close();
		await vi.waitFor(async () => expect(await loadedServers(coverage)).toEqual([era]), 5_000);
	});
});

it("a client that asks what the server speaks may still shake hands", async () => {
	const folder = await scratchFolder();
	const child = spawn(process.execPath, [builtCli], {
		cwd: folder,
		env: cleanEnvironment(folder),
		stdio: ["pipe", "pipe", "ignore"],
	});
	onTestFinished(() => void child.kill());
	const lines = createInterface({ input: child.stdout });
	const ask = async (method: string, params: object) => {
		child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
		const [line] = await once(lines, "line");
		return JSON.parse(String(line)).result;
	};
	expect(await ask("server/discover", envelope)).toMatchObject({
		resultType: "complete",
		supportedVersions: [revision],
	});
	const clientInfo = { name: "raw", version: "1" };
	const hello = await ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
	expect(hello).toMatchObject({ protocolVersion: "2025-11-25", serverInfo: { name: "palimpsest" } });
	expect(hello.resultType).toBeUndefined();
	expect((await ask("tools/list", {})).tools).toHaveLength(4);
});

describe(`revision ${revision} on standard input and output`, () => {
	it("says how long lists and resources may be kept, and lists the tools in the same order each time", async () => {
		const client = newerClient();
		await connectStdio(client, { parameters: ["--archive", "memory"] });
		const [one, two] = [await client.listTools(), await client.listTools()];
		expect(one).toEqual(two);
		const long = { ttlMs: 3_600_000, cacheScope: "public" };
		for (const list of [
			one,
			await client.listPrompts(),
			await client.listResources(),
			await client.listResourceTemplates(),
		]) {
			expect(list).toMatchObject(long);
		}
		const read = (uri: string) => client.readResource({ uri });
		expect(await read("policy://presets/balanced")).toMatchObject({ ttlMs: 86_400_000, cacheScope: "public" });
		expect(await read("policy://current")).toMatchObject({ ttlMs: 0, cacheScope: "private" });
		const cut = await client.callTool({
			name: "truncate_output",
			arguments: { text: "line\n".repeat(900), max_chars: 300 },
		});
		const { ref } = cut.structuredContent as { ref: string };
		expect(await read(`original://${ref}`)).toMatchObject({ ttlMs: 365 * 86_400_000, cacheScope: "private" });
		await expect(read("original://ku193re960gi257do532")).rejects.toMatchObject({ code: -32_602 });
		await expect(read("nothing://here")).rejects.toMatchObject({ code: -32_602 });
	});

	it("logs to the client at the level that a request names, and otherwise not at all", async () => {
		const client = newerClient();
		await connectStdio(client);
		const logged: unknown[] = [];
		client.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params));
		const text = "x".repeat(900);
		const call = (_meta?: Record<string, unknown>) =>
			client.callTool({ name: "truncate_output", arguments: { text, max_chars: 300 }, ...(_meta && { _meta }) });
		await call();
		await call({ "io.modelcontextprotocol/logLevel": "error" });
		expect(logged).toEqual([]);
		await call({ "io.modelcontextprotocol/logLevel": "warning" });
		expect(logged).toMatchObject([{ level: "warning", logger: "palimpsest" }]);
	});

	it("notifies a listening client when the policy changes", async () => {
		const folder = await scratchFolder();
		const file = path.join(folder, "policy.toml");
		await writeFile(file, "[mask]\nwindow_turns = 3\n");
		const client = newerClient();
		const updated: string[] = [];
		client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
		await connectStdio(client, { parameters: ["--policy", file] });
		const subscription = await client.listen({ resourceSubscriptions: ["policy://current"] });
		await writeFile(file, "[mask]\nwindow_turns = 4\n");
		await vi.waitFor(() => expect(updated).toEqual(["policy://current"]), 5_000);
		await subscription.close();
		await writeFile(file, "[mask]\nwindow_turns = 5\n");
		await vi.waitFor(async () => {
			const { contents } = await client.readResource({ uri: "policy://current" });
			expect(JSON.parse((contents[0] as { text: string }).text).policy.mask.window_turns).toBe(5);
		}, 5_000);
		expect(updated).toEqual(["policy://current"]);
	});
});

describe("a client that is asked by rounds", () => {
	const messages = agentConversation(12);
	const asked = { messages, strategy: "llm-summary", force: true };

	it("writes the summary, and gets the same answer as in the other era", async () => {
		const answers = [];
		for (const mode of modes) {
			const client = newerClient(mode, { capabilities: { sampling: {} } });
			const prompts: unknown[] = [];
			client.setRequestHandler("sampling/createMessage", ({ params }) => {
				prompts.push(params.messages);
				const content = { type: "text", text: prompts.length === 1 ? "It was all ab" : handover } as const;
				return { role: "assistant", model: "m", content, stopReason: prompts.length === 1 ? "maxTokens" : "endTurn" };
			});
			await connectStdio(client);
			const { structuredContent } = await client.callTool({ name: "compact_conversation", arguments: asked });
			expect(structuredContent).toMatchObject({ report: { result: "summarised", summary: { by: "sampling" } } });
			expect(prompts).toHaveLength(2);
			answers.push({ structuredContent, prompts });
		}
		expect(answers[1]).toEqual(answers[0]);
		expect(answers[2]).toEqual(answers[0]);
	});

	it("is asked for its folders if a path is in no allowed folder", async () => {
		const folder = await scratchFolder();
		await mkdir(path.join(folder, "logs"));
		await writeFile(path.join(folder, "logs", "build.log"), "line\n".repeat(900));
		const call = {
			name: "truncate_output",
			arguments: { path: path.join(folder, "logs", "build.log"), max_chars: 300 },
		};
		const client = newerClient(undefined, { capabilities: { roots: {} } });
		client.setRequestHandler("roots/list", () => ({ roots: [{ uri: `file://${folder}` }] }));
		await connectStdio(client);
		expect((await client.callTool(call)).structuredContent).toMatchObject({ truncated: true });
		const without = newerClient();
		await connectStdio(without);
		expect((await without.callTool(call)).content).toMatchObject([
			{ text: expect.stringMatching(/^\[path_not_allowed\]/) },
		]);
	});

	it("cannot change the state of a call", async () => {
		const client = newerClient(undefined, { capabilities: { sampling: {} }, inputRequired: { autoFulfill: false } });
		await connectStdio(client);
		const params = { name: "compact_conversation", arguments: asked };
		const first = await client.callTool(params, { allowInputRequired: true });
		const { requestState = "", inputRequests = {} } = first as { requestState?: string; inputRequests?: object };
		const [name = ""] = Object.keys(inputRequests);
		const content = { type: "text", text: handover };
		const inputResponses = { [name]: { role: "assistant", model: "m", content, stopReason: "endTurn" } };
		const forged = `${requestState.slice(0, -2)}AA`;
		const again = (state: string) =>
			client.callTool({ ...params, inputResponses, requestState: state } as never, { allowInputRequired: true });
		await expect(again(forged)).rejects.toMatchObject({ code: -32_602 });
		expect(await again(requestState)).toMatchObject({ structuredContent: { report: { result: "summarised" } } });
	});
});
