import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type Answers, callTools } from "./call-tools.js";
import { checkGuarded, checkMasked, checkSummarised } from "./check-promises.js";
import { type ChatMessage, recordSession } from "./record-session.js";

// This file runs from build/demo.
const root = fileURLToPath(new URL("../..", import.meta.url));
const command = `${root}dist/cli.js`;
const contextWindow = 18_000;

// What is masked here is kept in a folder of the demonstration's own, which goes when it is over.
const archive = mkdtempSync(join(tmpdir(), "palimpsest-demo-"));
process.once("exit", () => rmSync(archive, { recursive: true, force: true }));
const env = { ...getDefaultEnvironment(), PALIMPSEST_ARCHIVE: archive, PALIMPSEST_LOCALE: "en" };

async function withClient(transport: Transport, messages: readonly ChatMessage[]): Promise<Answers> {
	const client = new Client({ name: "palimpsest-demo", version: "1.0.0" });
	await client.connect(transport);
	try {
		return await callTools(client, messages, contextWindow);
	} finally {
		await client.close();
	}
}

/** Starts the HTTP server on a free port; resolves with its address once it says that it serves. */
function startHttpServer(): Promise<{ url: string; server: ChildProcess }> {
	const server = spawn(process.execPath, [command, "serve", "--http", "127.0.0.1:0"], {
		cwd: root,
		env,
		stdio: ["ignore", "ignore", "pipe"],
	});
	return new Promise((resolve, reject) => {
		let said = "";
		server.stderr?.on("data", (chunk: Buffer) => {
			said += chunk.toString();
			const url = /http:\/\/[^/\s]+/.exec(said)?.[0];
			if (url) resolve({ url, server });
		});
		server.once("exit", () => reject(new Error(`The server ended: ${said}`)));
	});
}

function row(name: string, cells: readonly (string | number)[]): string {
	const widths = [10, 14, 12, 10, 9, 6];
	return `${name.padEnd(22)}${cells.map((cell, index) => String(cell).padStart(widths[index] ?? 0)).join("")}`;
}

function reportRow(name: string, { report, messages: left }: Pick<Answers["mask"], "report" | "messages">): string {
	const { messages, masked_tool_results: masked, truncated_tool_results: cut } = report;
	const { chars, tokens, dropped_messages: dropped, fits } = report;
	const results = left.filter(({ role }) => role === "tool").length;
	const whole = `${results} (-${masked} -${cut})`;
	return row(name, [
		messages.after,
		whole,
		chars.after,
		tokens.after,
		dropped,
		fits === undefined ? "" : fits ? "yes" : "no",
	]);
}

function printTable({ mask, guard, compact, truncate }: Answers): void {
	const { messages, tool_results: results, chars, tokens } = mask.report;
	const lines = [
		row("", ["messages", "tool results", "characters", "tokens", "dropped", "fits"]),
		row("before", [messages.before, results, chars.before, tokens.before, "", ""]),
		reportRow("mask_conversation", mask),
		reportRow(`guard_context ${contextWindow}`, guard),
		reportRow("compact_conversation", compact),
		row("largest output", ["", "", truncate.chars.before, truncate.tokens.before, "", ""]),
		row("truncate_output", ["", "", truncate.chars.after, truncate.tokens.after, "", ""]),
	];
	process.stdout.write(`\n${lines.join("\n")}\ntool results: how many are left (of these, -a masked, -b truncated)\n`);
}

function check(messages: readonly ChatMessage[], { mask, guard, compact, truncate, recalled, policy }: Answers): void {
	checkMasked(messages, mask.messages);
	checkGuarded(messages, guard.messages);
	checkSummarised(messages, compact.messages);
	assert.equal(policy.preset, "observation-masking");
	assert.ok(mask.report.masked_tool_results > 5, "old results are masked");
	assert.equal(recalled.length, mask.report.masked_tool_results, "every masked result was recalled");
	assert.ok(guard.report.fits, "the guarded conversation fits");
	assert.ok(guard.report.tokens.after <= contextWindow, "and is within the window");
	assert.ok(compact.report.tokens.after < compact.report.tokens.before / 10, "a summary stands for the old messages");
	assert.ok(truncate.chars.after < truncate.chars.before, "the largest output is cut");
}

const messages = recordSession(root);
const turns = messages.filter((message) => message.tool_calls).length;
assert.ok(turns >= 20, "the session has at least 20 tool turns");
process.stdout.write(`Recorded a session of ${messages.length} messages, ${turns} tool turns, in this checkout.\n`);

const overStdio = await withClient(
	new StdioClientTransport({ command: process.execPath, args: [command], cwd: root, env, stderr: "ignore" }),
	messages,
);
check(messages, overStdio);
process.stdout.write("Called all five tools and read the policy over stdio.\n");

const { url, server } = await startHttpServer();
try {
	const overSse = await withClient(new SSEClientTransport(new URL(`${url}/sse`)), messages);
	assert.deepEqual(overSse, overStdio, "the answers over SSE are those over stdio");
} finally {
	server.removeAllListeners("exit");
	server.kill("SIGTERM");
}
process.stdout.write("Called them again over SSE: the same answers.\n");

printTable(overStdio);
const [first] = overStdio.recalled;
const chars = overStdio.recalled.reduce((sum, one) => sum + one.chars, 0);
const calls = overStdio.recalled.reduce((sum, one) => sum + one.calls, 0);
process.stdout.write(
	[
		"\nA masked result now reads:",
		`  ${first?.placeholder}`,
		"recall_original by the reference in it answers:",
		`  ${first?.introduction}`,
		"  … and its text",
		`All ${overStdio.recalled.length} were read again in ${calls} calls: ${chars} characters, each as it was.`,
		"\nEvery promise kept.\n",
	].join("\n"),
);
