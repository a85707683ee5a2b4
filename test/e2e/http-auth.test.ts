import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { agentConversation, secret } from "../support/agent-conversation.ts";
import { patience } from "../support/patience.ts";
import { runHere } from "../support/run-here.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { httpServer } from "./http-server.ts";
import { refsIn, structured, textOf } from "./recall-session.ts";

const alice = "a1".repeat(16);
const bob = "b2".repeat(16);

/** Connects a client that shows a token; answers with a function that calls tools. */
async function connect(url: string, token: string) {
	const client = new Client({ name: "test", version: "1.0.0" });
	const requestInit = { headers: { Authorization: `Bearer ${token}` } };
	await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }) as never);
	onTestFinished(() => client.close());
	return async (name: string, parameters: Record<string, unknown>) =>
		(await client.callTool({ name, arguments: parameters })) as CallToolResult;
}

describe("the server beyond this machine", () => {
	it.each([
		["an address", ["--http", "0.0.0.0:0"], {}],
		["a proxy", ["--http", "127.0.0.1:0", "--public-url", "https://palimpsest.example.org"], {}],
		["a variable that is empty", ["--http", "0.0.0.0:0"], { PALIMPSEST_AUTH_TOKENS: "" }],
	])("does not start without authentication: %s", async (_what, parameters, environment) => {
		const folder = await scratchFolder();
		const { code, lines } = await runHere(["serve", ...parameters], { folder, environment });
		expect(code).toBe(1);
		expect(lines.join("\n")).toMatch(/needs authentication: --auth-tokens FILE/);
	});

	it("does not start with a token that is too short, and does not quote it", async () => {
		const environment = { PALIMPSEST_AUTH_TOKENS: "alice:sesame" };
		const run = await runHere(["serve", "--http", "127.0.0.1:0"], { folder: await scratchFolder(), environment });
		expect(run.code).toBe(1);
		expect(run.lines.join("\n")).toContain("Expected entry 1 of PALIMPSEST_AUTH_TOKENS to be a token of 32");
		expect(run.lines.join("\n")).not.toMatch(/sesame|\.js:/);
	});

	it("does not start when the file of tokens has an empty name, for example from an unset variable", async () => {
		const run = await runHere(["serve", "--http", "127.0.0.1:0", "--auth-tokens", ""], {
			folder: await scratchFolder(),
		});
		expect(run.code).toBe(1);
		expect(run.lines.join("\n")).toContain("Cannot read the tokens file");
	});

	it("rejects authentication options without HTTP", async () => {
		const run = await runHere(["serve", "--auth-tokens", "tokens"], { folder: await scratchFolder() });
		expect(run.code).toBe(2);
		expect(run.lines.join("\n")).toContain("expected --http");
	});
});

it("principals of a file and of the environment each have a lasting archive", async () => {
	const archive = await scratchFolder();
	const file = join(await scratchFolder(), "tokens");
	await writeFile(file, `alice:${alice}\n`, { mode: 0o644 });
	const parameters = ["--http", "0.0.0.0:0", "--auth-tokens", file, "--archive", archive];
	const environment = { PALIMPSEST_AUTH_TOKENS: `bob:${bob}` };
	const first = await httpServer(parameters, environment);
	const local = (url: string) => url.replace("0.0.0.0", "127.0.0.1");
	const messages = agentConversation(10);
	const mine = await connect(local(first.url), alice);
	const [ref] = refsIn(structured(await mine("mask_conversation", { messages })).messages);
	expect(await first.end()).toBe(0);

	const again = await httpServer(parameters, environment);
	const url = local(again.url);
	const recall = async (token: string) => (await connect(url, token))("recall_original", { ref });
	expect(structured(await recall(alice))).toMatchObject({ text: messages[3]?.content });
	expect(textOf(await recall(bob))).toMatch(/^\[original_not_found\]/);
	await expect(connect(url, "c3".repeat(16))).rejects.toThrow();
	const command = await runHere(["recall", String(ref), "--archive", archive], { folder: archive });
	expect(command.code).toBe(1);

	await writeFile(`${file}.new`, `carol:${"c3".repeat(16)}\n`, { mode: 0o644 });
	await rename(`${file}.new`, file);
	await vi.waitFor(() => connect(url, "c3".repeat(16)), patience);
	await expect(connect(url, alice)).rejects.toThrow();
	const told = first.stderr() + again.stderr();
	expect(told).toMatch(/warning: The tokens file .* can be read by other users/);
	for (const unsaid of [secret, alice, bob, "node_modules", "    at "]) expect(told).not.toContain(unsaid);
});
