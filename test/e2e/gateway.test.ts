import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { StdioClientTransport as NewerTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CreateMessageRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished } from "vitest";
import { builtCli } from "../support/built-cli.ts";
import { modes, newerClient, revision } from "../support/client-2026.ts";
import { patience } from "../support/patience.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

const smallServer = path.resolve(import.meta.dirname, "../mcp/gateway/small-server.js");

interface Started {
	readonly options?: readonly string[];
	readonly server?: readonly string[];
	readonly environment?: Readonly<Record<string, string>>;
}

const parametersOf = ({ options = [], server = [process.execPath, smallServer] }: Started) => [
	...[builtCli, "gateway", ...options, "--", ...server],
];

async function environmentOf(started: Started) {
	const folder = await scratchFolder();
	return { cwd: folder, env: { ...cleanEnvironment(folder), PALIMPSEST_ARCHIVE: "files", ...started.environment } };
}

/** A client of the SDK whose server is the small one behind the built gateway. */
async function connected(started: Started = {}) {
	const { cwd, env } = await environmentOf(started);
	const parameters = parametersOf(started);
	const transport = new StdioClientTransport({ command: process.execPath, args: parameters, cwd, env, stderr: "pipe" });
	let stderr = "";
	transport.stderr?.on("data", (chunk: Buffer) => {
		stderr += chunk.toString();
	});
	const client = new Client({ name: "test", version: "1.0.0" }, { capabilities: { sampling: {} } });
	const errors: Error[] = [];
	client.onerror = (error) => errors.push(error);
	await client.connect(transport);
	onTestFinished(() => client.close());
	const call = async (name: string, given: Record<string, unknown> = {}) => {
		const { content } = (await client.callTool({ name, arguments: given })) as { content: { text: string }[] };
		return content.map(({ text }) => text).join("\n");
	};
	return { client, call, errors, cwd, stderr: () => stderr };
}

/** The built gateway as a bare process. */
async function bare(started: Started = {}) {
	const child = spawn(process.execPath, parametersOf(started), await environmentOf(started));
	onTestFinished(() => void child.kill("SIGKILL"));
	const pieces: Buffer[] = [];
	let stderr = "";
	/** The end of the output, which tests wait for without joining all of it. */
	let tail = "";
	child.stdout.on("data", (piece: Buffer) => {
		pieces.push(piece);
		tail = (tail + piece.toString("latin1").slice(-200)).slice(-200);
	});
	child.stderr.on("data", (piece: Buffer) => {
		stderr += piece.toString();
	});
	child.stdin.on("error", () => {});
	const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
		child.on("close", (code, signal) => resolve({ code, signal }));
	});
	const call = (id: number, name: string, given: object = {}) =>
		void child.stdin.write(
			`${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: given } })}\n`,
		);
	const output = () => Buffer.concat(pieces);
	const messages = () =>
		output()
			.toString()
			.split("\n")
			.slice(0, -1)
			.map((line) => JSON.parse(line));
	return { child, call, ended, output, messages, tail: () => tail, stderr: () => stderr };
}

describe("a server behind the gateway", () => {
	it("is offered with the tool that reads originals, and its large results are cut", async () => {
		const { client, call, stderr } = await connected({ options: ["--log", "json"] });
		expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
			expect.arrayContaining(["echo", "recall_original"]),
		);
		expect(await call("echo", { a: 1 })).toBe('{"a":1}');
		const cut = await call("lines", { count: 5_000 });
		expect(cut.length).toBeLessThanOrEqual(16_000);
		const [, ref] = /ref=([a-z0-9]{12})\] Intact/.exec(cut) ?? [];
		expect(await call("recall_original", { ref, lines: "4999" })).toContain("\nline 4999: word");
		const calls = () =>
			stderr()
				.split("\n")
				.filter((line) => line.includes('"event":"call"'))
				.map((line) => JSON.parse(line));
		await expect.poll(calls, patience).toHaveLength(3);
		expect(calls()).toEqual([
			expect.objectContaining({ tool: "echo", chars_before: 7, chars_after: 7 }),
			expect.objectContaining({ tool: "lines", chars_after: cut.length }),
			expect.objectContaining({ tool: "recall_original" }),
		]);
		expect(calls()[1].chars_before).toBeGreaterThan(250_000);
		// Names and sizes, and no text.
		expect(stderr()).not.toContain("word word");
	});

	it("has the environment, the arguments, the folder and the standard error of the gateway", async () => {
		const server = [process.execPath, smallServer, "--flag", "a b", "-x"];
		const { call, cwd, stderr } = await connected({ server, environment: { SMALL_SERVER: "set" } });
		expect(JSON.parse(await call("surroundings"))).toEqual(["set", ["--flag", "a b", "-x"], cwd]);
		expect(stderr()).toBe("the small server has started\n");
	});

	it("asks the host, and gets its answer", async () => {
		const { client, call } = await connected();
		client.setRequestHandler(CreateMessageRequestSchema, async () => ({
			model: "m",
			role: "assistant" as const,
			content: { type: "text" as const, text: "sampled" },
		}));
		expect(JSON.parse(await call("ask"))).toMatchObject({ model: "m", content: { text: "sampled" } });
	});

	it("answers out of order, and 1 000 calls at once", async () => {
		const { call, errors } = await connected();
		const order: string[] = [];
		const noted = async (milliseconds: number) => order.push(await call("after", { milliseconds }));
		await Promise.all([noted(300), noted(1)]);
		expect(order).toEqual(["after 1 ms", "after 300 ms"]);
		const answers = await Promise.all(
			Array.from({ length: 1_000 }, (_, index) =>
				index % 100 === 7 ? call("lines", { count: 500 }) : call("echo", { index }),
			),
		);
		const isRight = (text: string, index: number) =>
			index % 100 === 7 ? text.startsWith("[Output shortened") : text === `{"index":${index}}`;
		expect(answers.filter((text, index) => !isRight(text, index))).toEqual([]);
		expect(errors).toEqual([]);
	});

	it("gets a cancellation, and other calls go on", async () => {
		const { client, call } = await connected();
		const controller = new AbortController();
		const given = { name: "after", arguments: { milliseconds: 200 } };
		const waiting = client.callTool(given, undefined, { signal: controller.signal });
		controller.abort();
		await expect(waiting).rejects.toThrow();
		expect(await call("after", { milliseconds: 300 })).toBe("after 300 ms");
	});

	it("floods the host, and every message arrives in order", async () => {
		const { call, ended, messages, child, tail } = await bare();
		call(1, "flood", { count: 20_000 });
		await expect.poll(tail, patience).toMatch(/"id":1\b[^\n]*\n$/);
		expect(
			messages()
				.slice(0, -1)
				.map(({ params }) => params.progress),
		).toEqual(Array.from({ length: 20_000 }, (_, at) => at));
		child.stdin.end();
		expect(await ended).toEqual({ code: 7, signal: null });
	});

	it("gets and sends the same bytes", async () => {
		const record = path.join(await scratchFolder(), "record");
		const { child, output, ended } = await bare({ environment: { RECORD: record } });
		const text = `${JSON.stringify({ id: 2, result: { content: [] } }, null, " ").replaceAll("\n", "\r")}\nnot JSON \u0000\n{"half":`;
		const sent = `{ "method":"tools/call" ,"id" : 2,"params":{"name":"raw","arguments":${JSON.stringify({ text })}},"jsonrpc":"2.0"} \r\n`;
		child.stdin.write(sent);
		await expect.poll(() => output().length, patience).toBeGreaterThan(20);
		child.stdin.end();
		await ended;
		expect(output().toString()).toBe(`${text}\n`);
		expect(await readFile(record, "utf8")).toBe(sent);
	});

	it("passes a message over 64 MiB unread, and says so", async () => {
		const { call, messages, tail, stderr, child, ended } = await bare();
		call(1, "huge", { megabytes: 70 });
		call(2, "echo");
		await expect.poll(tail, patience).toMatch(/"id":2\b[^\n]*\n$/);
		const [first, second] = messages();
		expect(first.result.content[0].text).toHaveLength(70_000_000);
		expect(second.id).toBe(2);
		expect(stderr()).toContain("passed unread: it is over 67108864 bytes");
		child.stdin.end();
		await ended;
	});
});

describe.each(modes)("a client of the newer SDK in mode %j", (mode) => {
	it("reaches a server of its era, and large results are cut", async () => {
		const { cwd, env } = await environmentOf({});
		const parameters = parametersOf({ options: ["--max-tokens", "500"], server: [process.execPath, builtCli] });
		const client = newerClient(mode);
		await client.connect(
			new NewerTransport({ command: process.execPath, args: parameters, cwd, env, stderr: "ignore" }),
		);
		onTestFinished(() => client.close());
		expect((await client.listTools()).tools.map(({ name }) => name)).toContain("palimpsest_recall_original");
		const { contents } = await client.readResource({ uri: "policy://schema" });
		const [, ref] =
			/ref=([a-z0-9]{12})\] .*read it with palimpsest_recall_original/.exec((contents[0] as { text: string }).text) ??
			[];
		const read = await client.callTool({ name: "palimpsest_recall_original", arguments: { ref, head: 1 } });
		expect(JSON.stringify(read.content)).toContain("Original result of");
		expect(client.getNegotiatedProtocolVersion()).toBe(mode === "legacy" ? "2025-11-25" : revision);
	});
});

describe("a server that ends", () => {
	it.each([
		["dies", "die", { code: 3 }, 3, "with exit code 3"],
		["is killed", "kill", { signal: "SIGKILL" }, 137, "by SIGKILL"],
		["dies in the middle of a line", "half", { code: 4 }, 4, "with exit code 4"],
	])("answers waiting requests and ends the gateway: one that %s", async (_how, tool, given, code, words) => {
		const { call, ended, output, stderr } = await bare();
		call(1, "hang");
		call(2, tool, given);
		expect(await ended).toEqual({ code, signal: null });
		const errors = output()
			.toString()
			.split("\n")
			.filter((line) => line.includes('"error"'))
			.map((line) => JSON.parse(line));
		expect(errors.map(({ id, error }) => [id, error.code])).toEqual([
			[1, -32_000],
			[2, -32_000],
		]);
		expect(errors[0].error.message).toContain(`ended ${words} before it answered`);
		expect(stderr()).toBe("the small server has started\n");
	});

	it("has got the signal of the gateway", async () => {
		const { child, call, messages, ended } = await bare();
		call(1, "echo");
		await expect.poll(messages, patience).toHaveLength(1);
		child.kill("SIGUSR2");
		expect(await ended).toEqual({ code: 42, signal: null });
	});

	it("was not there", async () => {
		const { ended, stderr } = await bare({ server: ["/no/such/command"] });
		expect(await ended).toEqual({ code: 127, signal: null });
		expect(stderr()).toBe("palimpsest: cannot run /no/such/command: there is no such command\n");
	});
});
