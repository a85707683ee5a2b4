import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { send } from "../mcp/http/harness.ts";
import { hasRedis, startRedis } from "../storage/archive/start-redis.ts";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { runCli } from "../support/run-cli.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type HttpServer, httpServer } from "./http-server.ts";

const token = "a1".repeat(16);
const bearer = { Authorization: `Bearer ${token}` };

async function connectTo(url: string, headers: Record<string, string> = {}): Promise<Client> {
	const client = new Client({ name: "test", version: "1.0.0" });
	await client.connect(
		new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }) as Transport,
	);
	onTestFinished(() => client.close());
	return client;
}

/** The events of a log of JSON, which has nothing else in it. */
const eventsOf = (server: HttpServer) =>
	server
		.stderr()
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line) as Record<string, unknown>);

/** Masks a conversation, cuts a text, and makes one mistake. */
async function callThrice(url: string, headers: Record<string, string> = {}): Promise<void> {
	const client = await connectTo(url, headers);
	const messages = agentConversation(10);
	await client.callTool({ name: "mask_conversation", arguments: { messages } });
	await client.callTool({ name: "truncate_output", arguments: { text: secret.repeat(1_000), max_chars: 900 } });
	await client.callTool({ name: "truncate_output", arguments: { [secret]: 1 } });
	await client.callTool({ name: secret }).catch(() => undefined);
}

async function tokensFile(): Promise<string> {
	const file = join(await scratchFolder(), "tokens");
	await writeFile(file, `alice:${token}\n`, { mode: 0o600 });
	return file;
}

const masked = 'palimpsest_masked_tool_results_total{tool="mask_conversation"} 2';

describe("metrics", () => {
	it("are served at /metrics of the server on request, and count its calls", async () => {
		const { url } = await httpServer(["--metrics", "--archive", "memory"]);
		await callThrice(url);
		await vi.waitFor(async () => {
			const { status, text, headers } = await send(`${url}/metrics`);
			expect(status).toBe(200);
			expect(headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
			expect(text).toContain(masked);
			expect(text).toContain('palimpsest_calls_total{tool="truncate_output",outcome="error"} 1');
			expect(text).toMatch(/^palimpsest_tokens_before_total\{tool="mask_conversation"\} [1-9]\d+$/m);
			expect(text).toMatch(/^palimpsest_requests_running \d+$/m);
			// Names that clients make up are no labels.
			expect(text).not.toContain(secret);
		}, patience);
		expect((await send(`${url}/metrics`, { method: "POST" })).status).toBe(405);
		// A proxy that refuses /metrics is not passed by another spelling.
		for (const path of ["/metrics/", "/Metrics", "//metrics", "/%6detrics"]) {
			expect((await send(url + path)).status, path).toBe(404);
		}
		expect((await send(`${url}/metrics`, { headers: { Host: "evil.example" } })).status).toBe(403);
	});

	it("are off by default and without HTTP", async () => {
		const { url } = await httpServer();
		expect((await send(`${url}/metrics`)).status).toBe(404);
		const run = await runHere(["serve", "--metrics"], { folder: await scratchFolder() });
		expect(run).toMatchObject({ code: 2 });
		expect(run.lines.join("\n")).toContain("expected --http");
	});

	it("need a token when calls need one", async () => {
		const { url } = await httpServer(["--metrics", "--auth-tokens", await tokensFile()]);
		expect((await send(`${url}/metrics`)).status).toBe(401);
		await callThrice(url, bearer);
		const { status, text } = await send(`${url}/metrics`, { headers: bearer });
		expect(status).toBe(200);
		expect(text).toContain(masked);
		expect(text).not.toContain("alice");
		// Whoever asks whether it can take calls need not be one who calls.
		expect((await send(`${url}/readyz`)).text).toBe('{"status":"ready"}');
	});

	it("get an address of their own when one is set, without a token, and health with them", async () => {
		const server = await httpServer(["--metrics", "127.0.0.1:0", "--auth-tokens", await tokensFile()]);
		const [own = ""] = (await vi.waitUntil(() => /http:\S+(?=\/metrics)/.exec(server.stderr()), patience)) ?? [];
		await callThrice(server.url, bearer);
		expect((await send(`${own}/metrics`)).text).toContain(masked);
		expect((await send(`${own}/readyz`)).text).toBe('{"status":"ready"}');
		expect((await send(`${own}/healthz`)).status).toBe(200);
		expect((await send(`${server.url}/metrics`, { headers: bearer })).status).toBe(404);
		expect((await send(`${own}/mcp`, { method: "POST", headers: bearer })).status).toBe(404);
		for (const headers of [{ Host: "evil.example" }, { Origin: "https://evil.example" }]) {
			expect((await send(`${own}/metrics`, { headers })).status).toBe(403);
		}
		expect(await server.end()).toBe(0);
	});

	it("do not keep a server alive if its address is in use", async () => {
		const { url } = await httpServer();
		const taken = new URL(url).host;
		const run = await runCli(["serve", "--http", "127.0.0.1:0", "--metrics", taken], { folder: await scratchFolder() });
		expect(run.code).toBe(1);
		expect(run.lines.join("\n")).toContain("is in use");
	});
});

describe("the log", () => {
	it("as JSON: one line per call, without words of a conversation or a token", async () => {
		const parameters = ["--log", "json", "--archive", "memory", "--auth-tokens", await tokensFile()];
		const server = await httpServer(parameters);
		await callThrice(server.url, bearer);
		expect(await server.end()).toBe(0);
		const events = eventsOf(server);
		const calls = events.filter(({ event }) => event === "call");
		const principal = "token alice";
		expect(calls).toMatchObject([
			{ tool: "mask_conversation", outcome: "ok", principal, bytes_in: expect.any(Number), ms: expect.any(Number) },
			{ tool: "truncate_output", outcome: "ok", principal },
			{ tool: "truncate_output", outcome: "error", code: "invalid_argument", principal },
		]);
		const sessions = new Set(calls.map(({ session }) => session));
		expect([...sessions]).toEqual([expect.stringMatching(/^[0-9a-f]{12}$/)]);
		expect(new Set(calls.map(({ request }) => request)).size).toBe(3);
		expect(calls[0]?.tokens_before).toBeGreaterThan(Number(calls[0]?.tokens_after));
		expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(["listening", "shutting_down"]));
		for (const unsaid of [secret, token, "file 3"]) expect(server.stderr()).not.toContain(unsaid);
	});

	it.each(["json", "text"])("has no Node warning while many calls wait for a thread: as %s", async (kind) => {
		const server = await httpServer(["--log", kind, "--archive", "memory", "--threads", "1"]);
		const client = await connectTo(server.url);
		const call = { name: "truncate_output", arguments: { text: "line of a log\n".repeat(10_000), max_chars: 900 } };
		await Promise.all(Array.from({ length: 30 }, () => client.callTool(call)));
		expect(await server.end()).toBe(0);
		expect(server.stderr()).not.toMatch(/ListenersExceeded|process_warning|stray_line/);
		if (kind === "json") expect(eventsOf(server).filter(({ event }) => event === "call")).toHaveLength(30);
	});

	it("as JSON: includes everything else written to standard error, by this thread and others", async () => {
		const folder = await scratchFolder();
		await writeFile(join(folder, "policy.toml"), '[compaction]\nstrategy = "./noisy.mjs#Noisy"\n');
		await writeFile(
			join(folder, "noisy.mjs"),
			`export class Noisy {
				compact({ history }) {
					console.error("noise\\nof " + history.length);
					process.emitWarning("too much noise", "NoiseWarning", "NOISE1");
					process.stderr.write("an unfinished line");
					if (history.length < 6) setTimeout(() => { throw new RangeError("${secret}"); });
					return null;
				}
			}`,
		);
		const server = await httpServer(["--log", "json", "--archive", "none", "--policy", join(folder, "policy.toml")]);
		const client = await connectTo(server.url);
		const compact = (messages: readonly unknown[]) =>
			client.callTool({ name: "compact_conversation", arguments: { messages, force: true } });
		const [small, large] = [agentConversation(5), agentConversation(100)];
		expect(JSON.stringify(large).length).toBeGreaterThan(64 * 1024);
		await compact(small);
		await compact(large);
		const told = (length: number) => [
			{ level: "warning", event: "stray_line", message: "noise" },
			{ level: "warning", event: "stray_line", message: `of ${length}` },
		];
		await vi.waitFor(
			() =>
				expect(eventsOf(server)).toMatchObject(
					expect.arrayContaining(
						[...told(small.length), ...told(large.length)].map((one) => expect.objectContaining(one)),
					),
				),
			patience,
		);
		expect(eventsOf(server)).toContainEqual(
			expect.objectContaining({
				event: "process_warning",
				warning: "NoiseWarning",
				code: "NOISE1",
				message: "too much noise",
			}),
		);
		await compact(agentConversation(1)).catch(() => undefined);
		await vi.waitFor(() => expect(eventsOf(server).map(({ event }) => event)).toContain("defect"), patience);
		expect(await server.end()).toBe(70);
		expect(eventsOf(server)).toContainEqual(
			expect.objectContaining({
				level: "error",
				event: "defect",
				error: "RangeError",
				stack: expect.stringMatching(/^at .*noisy\.mjs/),
			}),
		);
		expect(server.stderr()).toContain("an unfinished line");
		expect(server.stderr()).not.toContain(secret);
	});

	it("off: nothing", async () => {
		const folder = await scratchFolder();
		const run = await runCli(["serve", "--log", "off"], { folder, input: "not JSON\n" });
		expect(run).toMatchObject({ code: 0, lines: [] });
		expect((await runHere(["serve", "--log", "xml"], { folder })).code).toBe(2);
	});
});

describe.skipIf(!hasRedis)("a server with an archive in Redis", () => {
	it("is ready only while Redis is, and stays alive without it", async () => {
		const redis = await startRedis();
		const { url } = await httpServer(["--archive", redis.url, "--stateless"]);
		const answered = (status: number, text: string) =>
			vi.waitFor(async () => expect(await send(`${url}/readyz`)).toMatchObject({ status, text }), patience);
		await answered(200, '{"status":"ready"}');
		await redis.kill();
		await answered(503, '{"status":"not_ready","reason":"archive_unavailable"}');
		expect((await send(`${url}/healthz`)).status).toBe(200);
		await redis.start();
		await answered(200, '{"status":"ready"}');
		redis.freeze(true);
		await answered(503, '{"status":"not_ready","reason":"archive_timeout"}');
		redis.freeze(false);
		await answered(200, '{"status":"ready"}');
		await redis.kill();
	});
});
