import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { agentConversation } from "../support/agent-conversation.ts";
import { builtCli } from "../support/built-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

let folder: string;
beforeEach(async () => {
	folder = await scratchFolder();
	await writeFile(join(folder, "chat.json"), JSON.stringify(agentConversation(30)));
});

/** Starts the command with nobody behind one of its streams. */
function startUnread(stream: "stdout" | "stderr", parameters: readonly string[]) {
	const child = spawn(process.execPath, [builtCli, ...parameters], { cwd: folder, env: cleanEnvironment(folder) });
	child[stream].destroy();
	const other = stream === "stdout" ? child.stderr : child.stdout;
	let text = "";
	const ended = (async () => {
		for await (const piece of other.setEncoding("utf8")) text += piece;
		if (child.exitCode === null && child.signalCode === null) await once(child, "close");
		return { code: child.exitCode, text };
	})();
	return { child, ended, textSoFar: () => text };
}

async function runUnread(stream: "stdout" | "stderr", ...parameters: string[]) {
	const { child, ended } = startUnread(stream, parameters);
	child.stdin.end();
	return ended;
}

describe("with standard error closed", () => {
	it("the answer is complete and the exit code unchanged", async () => {
		const { code, text } = await runUnread("stderr", "mask", "chat.json");
		expect(code).toBe(0);
		expect(JSON.parse(text)).toHaveLength(agentConversation(30).length);
		expect(await runUnread("stderr", "run", "--", process.execPath, "-e", "process.exit(3)")).toMatchObject({
			code: 3,
		});
		expect(await runUnread("stderr", "mask", "absent.json")).toEqual({ code: 1, text: "" });
	});

	it("a server keeps answering, whatever it logs", async () => {
		const parameters = ["serve", "--set", "truncate.max_chars=10"];
		const { child, ended, textSoFar } = startUnread("stderr", parameters);
		child.stdin.on("error", () => {});
		const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
		const answered = (id: number) => vi.waitFor(() => expect(textSoFar()).toContain(`"id":${id}`), 20_000);
		const clientInfo = { name: "test", version: "1.0.0" };
		send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
		await answered(1);
		send({ method: "notifications/initialized" });
		for (const id of [2, 3, 4]) {
			// A warning each.
			const call = { name: "truncate_output", arguments: { text: `text ${id} `.repeat(1_000) } };
			send({ id, method: "tools/call", params: call });
			await answered(id);
		}
		child.stdin.end();
		expect((await ended).code).toBe(0);
	});
});

describe("with standard output closed", () => {
	it("the exit code is that of the command that was run", async () => {
		const program = "process.stdout.write('x\\n'.repeat(500000)); process.exitCode = 3";
		const run = ["run", "--max-chars", "10000000", "--", process.execPath, "-e", program];
		expect(await runUnread("stdout", ...run)).toMatchObject({ code: 3 });
	});

	it.skipIf(!existsSync("/dev/full"))("a full disk is reported in one line, with exit code 1", async () => {
		const full = openSync("/dev/full", "w");
		const child = spawn(process.execPath, [builtCli, "mask", "chat.json", "--respond-with", "report"], {
			cwd: folder,
			env: cleanEnvironment(folder),
			stdio: ["ignore", full, "pipe"],
		});
		closeSync(full);
		let said = "";
		child.stderr?.setEncoding("utf8").on("data", (piece) => {
			said += piece;
		});
		const [code] = await once(child, "close");
		expect([code, said]).toEqual([
			1,
			expect.stringMatching(/palimpsest: standard output cannot be written: ENOSPC\n$/),
		]);
	});
});
