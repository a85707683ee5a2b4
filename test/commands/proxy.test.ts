import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { requestOf, turnsOf } from "../proxy/sessions.ts";
import { send, startUpstream, until } from "../proxy/upstream.ts";
import { builtCli } from "../support/built-cli.ts";
import { runCli } from "../support/run-cli.ts";
import { cleanEnvironment, scratchFolder } from "../support/scratch-folder.ts";

const started: ChildProcess[] = [];
afterEach(() => {
	for (const child of started.splice(0)) child.kill("SIGKILL");
});

/** The built command with an archive of files, on a free port. */
async function startCommand(folder: string, ...options: readonly string[]) {
	const parameters = [builtCli, "proxy", "--port", "0", "--archive", `${folder}/archive`, ...options];
	const child = spawn(process.execPath, parameters, { cwd: folder, env: cleanEnvironment(folder) });
	started.push(child);
	let stderr = "";
	child.stderr.on("data", (piece: Buffer) => {
		stderr += piece;
	});
	await until(() => /127\.0\.0\.1:\d+/.test(stderr) || child.exitCode !== null, 20_000);
	const port = /127\.0\.0\.1:(\d+)/.exec(stderr)?.[1] ?? "";
	return { child, port, url: `http://127.0.0.1:${port}`, stderr: () => stderr };
}

describe("palimpsest proxy", () => {
	const turns = turnsOf(24, 12_000);
	const edited = requestOf("anthropic", turns);

	it("masks by the preset balanced, whose originals the command in the placeholder reads", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const proxy = await startCommand(folder, "--upstream", `anthropic=${upstream.url}`);
		await send(proxy.url, edited);
		const body = upstream.received[0]?.body.toString() ?? "";
		expect(body.length).toBeLessThan(String(edited.body).length * 0.6);
		const [, command = ""] = /`([^`]* recall [^`]*)`/.exec(body) ?? [];
		const [ref = ""] = command.split(" ").slice(-1);
		expect(command).toContain(`--archive ${folder}/archive`);
		const recalled = await runCli(["recall", "--archive", `${folder}/archive`, ref, "--all"], { folder });
		expect(turns.map(({ output }) => output)).toContain(recalled.text.replace(/\n$/, ""));
		const status = await runCli(["proxy", "status", "--json", "--port", proxy.port], { folder });
		expect(JSON.parse(status.text)).toMatchObject({ requests: { requests: 1, edited: 1 }, edited: { requests: 1 } });
		const words = await runCli(["proxy", "status", "--port", proxy.port], { folder });
		expect(words.text).toMatch(/1 requests, 1 edited/);
		proxy.child.kill("SIGTERM");
		expect(await once(proxy.child, "exit")).toEqual([0, null]);
	});

	it("killed between two requests, sends the same bytes when it is back", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const first = await startCommand(folder, "--upstream", `anthropic=${upstream.url}`);
		for (let count = 1; count <= 22; count += 1) await send(first.url, requestOf("anthropic", turns.slice(0, count)));
		first.child.kill("SIGKILL");
		await once(first.child, "exit");
		const second = await startCommand(folder, "--upstream", `anthropic=${upstream.url}`);
		await send(second.url, requestOf("anthropic", turns.slice(0, 22)));
		const [before, after] = upstream.received.slice(-2).map(({ body }) => body.toString());
		expect(after?.length).toBeLessThan(String(edited.body).length * 0.6);
		expect(after).toBe(before);
	});

	it("logs no header and no text of a conversation", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream((_, response) => response.writeHead(400).end("no"));
		const proxy = await startCommand(
			folder,
			"--upstream",
			`anthropic=${upstream.url}`,
			"--log",
			"json",
			"--set",
			"log_level=debug",
		);
		await send(proxy.url, { ...edited, headers: { "X-Api-Key": "sk-secret-key" } });
		await send(proxy.url, { ...edited, body: '{"messages":[{"role":"user","content":"secret words"}' });
		proxy.child.kill("SIGTERM");
		await once(proxy.child, "exit");
		for (const secret of ["sk-secret-key", "secret words", "is read here"])
			expect(proxy.stderr()).not.toContain(secret);
	});

	it.each([
		["a host beyond loopback", ["--host", "0.0.0.0"], "TLS and a token"],
		["an unknown API", ["--upstream", "other=https://api.example"], "--upstream"],
		["an upstream that is no URL", ["--upstream", "openai=nowhere"], "base URL"],
		["a share over one", ["--holdout", "2"], "share from 0 to 1"],
	])("refuses %s", async (_, options, words) => {
		const folder = await scratchFolder();
		const { code, lines } = await runCli(["proxy", "--port", "0", ...options], { folder });
		expect(code).not.toBe(0);
		expect(lines.join("\n")).toContain(words);
	});

	it("status says so when no proxy answers", async () => {
		const { code, lines } = await runCli(["proxy", "status", "--port", "1"], { folder: await scratchFolder() });
		expect(code).toBe(1);
		expect(lines.join("\n")).toContain("No palimpsest proxy answers on port 1");
	});
});
