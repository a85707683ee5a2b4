import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import { maskedIn, outputOf, requestOf, turnsOf } from "../proxy/sessions.ts";
import { send, startUpstream, until } from "../proxy/upstream.ts";
import { connectRedis, hasRedis, startRedis } from "../storage/archive/start-redis.ts";
import { builtCli } from "../support/built-cli.ts";
import { runHere } from "../support/run-here.ts";
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
	await until(() => /http:\/\/127\.0\.0\.\d:\d+|in use/.test(stderr) || child.exitCode !== null, 20_000);
	const [url = "", port = ""] = /http:\/\/127\.0\.0\.\d:(\d+)/.exec(stderr) ?? [];
	return { child, port, url, stderr: () => stderr };
}

/** As `early` of the proxy's tests: its options, and a wait for what is planned beside the requests. */
const early = ["mask.window_turns=2", "mask.selection=age", "mask.cadence=every_turn"].flatMap((set) => ["--set", set]);

describe("palimpsest proxy", () => {
	const turns = turnsOf(12, 6_000).map((turn, index) =>
		index === 5 ? { ...turn, output: outputOf(5, 40_000) } : turn,
	);
	const edited = requestOf("anthropic", turns.slice(0, 6));

	/** Sends requests after some turns until one of them is sent with so many results masked. */
	async function sendMasked(
		url: string,
		count: number,
		upstream: Awaited<ReturnType<typeof startUpstream>>,
		most: number,
	) {
		const lastMasked = () => maskedIn(upstream.received.at(-1)?.body).length;
		const end = Date.now() + 20_000;
		do await send(url, requestOf("anthropic", turns.slice(0, count)));
		while (lastMasked() < most && Date.now() < end);
		expect(lastMasked()).toBe(most);
		return upstream.received.at(-1)?.body.toString() as string;
	}

	it("prints the variables of a shell, and none for a proxy that does not run", async () => {
		const folder = await scratchFolder();
		const { port, child, url } = await startCommand(folder);
		expect((await send(url, { path: "/palimpsest/healthz" })).headers["keep-alive"]).toBe("timeout=125");
		const { code, text } = await runHere(["proxy", "env", "--port", port, "--shell", "sh"], { folder });
		expect([code, text.split("\n")]).toEqual([
			0,
			[
				`export ANTHROPIC_BASE_URL=${url}`,
				`export OPENAI_BASE_URL=${url}/v1`,
				`export OPENAI_API_BASE=${url}/v1`,
				`export GOOGLE_GEMINI_BASE_URL=${url}`,
				"",
			],
		]);
		const fish = await runHere(["proxy", "env", "--port", port, "--shell", "fish"], { folder });
		expect(fish.text).toContain(`set -gx OPENAI_BASE_URL ${url}/v1\n`);
		child.kill("SIGKILL");
		await once(child, "exit");
		const gone = await runHere(["proxy", "env", "--port", port], { folder });
		expect([gone.code, gone.text, gone.lines]).toEqual([
			1,
			"",
			[expect.stringContaining("No palimpsest proxy of this user answers")],
		]);
	});

	it("keeps idle connections open with --keep-warm, since they show that a program still runs", async () => {
		const { url } = await startCommand(await scratchFolder(), "--keep-warm");
		expect((await send(url, { path: "/palimpsest/healthz" })).headers["keep-alive"]).toBe("timeout=10800");
	});

	it("masks by the preset balanced, and the command in the placeholder reads the originals", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const proxy = await startCommand(folder, "--upstream", `anthropic=${upstream.url}`, ...early);
		for (let count = 1; count <= 6; count += 1) await sendMasked(proxy.url, count, upstream, Math.max(0, count - 2));
		const body = upstream.received.at(-1)?.body.toString() ?? "";
		const [, command = ""] = /`([^`]* recall [^`]*)`/.exec(body) ?? [];
		const [ref = ""] = command.split(" ").slice(-1);
		expect(command).toContain(`--archive ${folder}/archive`);
		const recalled = await runHere(["recall", "--archive", `${folder}/archive`, ref, "--all"], { folder });
		expect(turns.map(({ output }) => output)).toContain(recalled.text.replace(/\n$/, ""));
		const status = await runHere(["proxy", "status", "--json", "--port", proxy.port], { folder });
		const { requests, undecided } = JSON.parse(status.text);
		expect([requests.requests, undecided]).toEqual([upstream.received.length, {}]);
		const words = await runHere(["proxy", "status", "--port", proxy.port], { folder });
		expect(words.text).toMatch(/^\d+ requests, \d+ with masked or cut results, no faults\n/);
		expect(words.text).not.toContain("without new decisions");
		proxy.child.kill("SIGTERM");
		expect(await once(proxy.child, "exit")).toEqual([0, null]);
	});

	it.skipIf(!hasRedis)("ends with an error where its port is in use, though it has reached Redis", async () => {
		const redis = await startRedis();
		const folder = await scratchFolder();
		const port = new URL(redis.url).port;
		await writeFile(`${folder}/tokens`, `alice:${"a".repeat(40)}\n`, { mode: 0o600 });
		for (const more of [[], ["--auth-tokens", "tokens"]]) {
			const { child, stderr } = await startCommand(folder, "--port", port, "--archive", redis.url, ...more);
			if (child.exitCode === null) await once(child, "exit");
			expect([child.exitCode, stderr()]).toEqual([1, expect.stringContaining(`Port ${port} of 127.0.0.1 is in use.`)]);
		}
	});

	it.skipIf(!hasRedis)(
		"names a Redis with a password by its address alone, which every process writes alike",
		async () => {
			const redis = await startRedis();
			const connection = await connectRedis({ url: redis.url });
			await connection.send([["CONFIG", "SET", "requirepass", "pa55word"]]);
			const hints: string[] = [];
			for (const [folder, first] of [
				[await scratchFolder(), 1],
				// The second one has the states of the first.
				[await scratchFolder(), 3],
			] as const) {
				const upstream = await startUpstream();
				const address = redis.url.replace("//", "//default:pa55word@");
				const proxy = await startCommand(
					folder,
					"--archive",
					address,
					"--upstream",
					`anthropic=${upstream.url}`,
					...early,
				);
				for (let count = first; count <= 3; count += 1)
					await sendMasked(proxy.url, count, upstream, Math.max(0, count - 2));
				const all = [proxy.stderr(), ...upstream.received.map(({ body }) => body.toString())].join("\n");
				expect(all).not.toContain("pa55word");
				const [, hint = ""] = /`([^`]* recall [^`]*)`/.exec(all) ?? [];
				hints.push(hint);
				const [ref = ""] = hint.split(" ").slice(-1);
				const recalled = await runHere(["recall", "--archive", `saved:${redis.url}`, ref, "--all"], { folder });
				expect(turns.map(({ output }) => output)).toContain(recalled.text.replace(/\n$/, ""));
			}
			expect(hints[0]).toContain(` recall --archive saved:${redis.url} `);
			expect(hints[1]).toBe(hints[0]);
		},
	);

	it("says in its status why requests got no new decisions", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const proxy = await startCommand(folder, "--upstream", `anthropic=${upstream.url}`, "--holdout", "1");
		await send(proxy.url, edited);
		await until(() => upstream.received.length === 1);
		const words = await runHere(["proxy", "status", "--port", proxy.port], { folder });
		expect(words.text).toContain("1 request without new decisions (held out: 1)");
	});

	it("has the whole name of each caller in its status", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const token = "a".repeat(40);
		await writeFile(`${folder}/tokens`, `alice.liddell@example.org:${token}\n`, { mode: 0o600 });
		const proxy = await startCommand(folder, "--upstream", `anthropic=${upstream.url}`, "--auth-tokens", "tokens");
		await send(proxy.url, { ...edited, headers: { ...edited.headers, "x-palimpsest-token": token } });
		await until(() => upstream.received.length === 1);
		const { text } = await runHere(["proxy", "status", "--port", proxy.port], { folder });
		expect(text).toMatch(/^1 request, /);
		expect(text).toMatch(/\nalice\.liddell@example\.org: 1 request, tokens sent /);
	});

	it("killed between two requests, sends the same bytes when it is back, as does another one on its archive", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		const start = () => startCommand(folder, "--upstream", `anthropic=${upstream.url}`, ...early);
		const [first, other] = [await start(), await start()];
		for (let count = 1; count <= 8; count += 1) {
			const { url } = count % 3 === 0 ? other : first;
			await sendMasked(url, count, upstream, Math.max(0, count - 2));
		}
		const request = requestOf("anthropic", turns.slice(0, 8));
		const before = upstream.received.at(-1)?.body.toString();
		await send(other.url, request);
		first.child.kill("SIGKILL");
		await once(first.child, "exit");
		await send((await start()).url, request);
		const [second, third] = upstream.received.slice(-2).map(({ body }) => body.toString());
		expect([second, third]).toEqual([before, before]);
		// One result was cut when it arrived, and is masked with its whole.
		expect(upstream.received.every(({ body }) => !body.includes(JSON.stringify(outputOf(5, 40_000))))).toBe(true);
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
		["a host beyond loopback", ["--host", "0.0.0.0"], "--auth-tokens FILE"],
		["an address beyond loopback", ["--listen", "0.0.0.0:0"], "--auth-provider-keys"],
		["keys of providers without a key of the server", ["--auth-provider-keys"], "PALIMPSEST_STATE_KEY"],
		["a certificate without its key", ["--tls-cert", "cert.pem"], "--tls-key"],
		["an unknown API", ["--upstream", "other=https://api.example"], "--upstream"],
		["an upstream that is not a URL", ["--upstream", "openai=nowhere"], "base URL"],
		["a share over one", ["--holdout", "2"], "share from 0 to 1"],
		["a port that is none", ["--port", "99999"], "expected a whole number, 0 to 65535 for --port <port>; got '99999'"],
	])("refuses %s", async (_, options, words) => {
		const folder = await scratchFolder();
		const { code, lines } = await runHere(["proxy", "--port", "0", ...options], { folder });
		expect(code).not.toBe(0);
		expect(lines.join("\n")).toContain(words);
	});

	it.skipIf(process.platform === "darwin")("listens at the address of --host", async () => {
		const folder = await scratchFolder();
		const proxy = await startCommand(folder, "--host", "127.0.0.2");
		expect(proxy.url).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
		const { text } = await runHere(["proxy", "status"], { folder });
		expect(text).toMatch(new RegExp(`^${proxy.url}/palimpsest/\\?key=[\\w-]{43} \\(process ${proxy.child.pid},`));
	});

	it("says before it serves that its archive cannot be used", async () => {
		const proxy = await startCommand(await scratchFolder(), "--archive", "redis://joe:pa55word@127.0.0.1:1");
		const said = proxy.stderr().split("\n");
		expect(said[0]).toMatch(/^palimpsest warning: The archive in redis:\/\/127\.0\.0\.1:1 cannot be used: /);
		expect(said[1]).toContain("proxy at ");
	});

	it("sums up its requests at its end", async () => {
		const folder = await scratchFolder();
		const upstream = await startUpstream();
		for (const form of ["text", "json"]) {
			const proxy = await startCommand(folder, "--upstream", `anthropic=${upstream.url}`, "--log", form);
			await send(proxy.url, edited);
			proxy.child.kill("SIGTERM");
			expect(await once(proxy.child, "exit")).toEqual([0, null]);
			const last = proxy.stderr().trimEnd().split("\n").at(-1) ?? "";
			expect(last).toMatch(/1 request, .*tokens sent/);
			if (form === "json") expect(JSON.parse(last)).toMatchObject({ event: "closed", url: proxy.url, requests: 1 });
		}
	});

	it("status finds every proxy that runs, and no one that has ended or was killed", async () => {
		const folder = await scratchFolder();
		const statusOf = async () => {
			const { text } = await runHere(["proxy", "status", "--json"], { folder });
			return (JSON.parse(text) as { address: string; pid: number; status: unknown }[]).map(({ address }) => address);
		};
		const [first, second, third] = [await startCommand(folder), await startCommand(folder), await startCommand(folder)];
		expect((await statusOf()).toSorted()).toEqual([first.url, second.url, third.url].toSorted());
		first.child.kill("SIGTERM");
		third.child.kill("SIGKILL");
		await Promise.all([first, third].map(({ child }) => once(child, "exit")));
		expect(await statusOf()).toEqual([second.url]);
		const { text } = await runHere(["proxy", "status"], { folder });
		expect(text).toMatch(new RegExp(`^${second.url}/palimpsest/\\?key=[\\w-]+ \\(process ${second.child.pid}, since `));
		expect(text).toMatch(/^0 requests, 0 with masked or cut results, no faults$/m);
		second.child.kill("SIGTERM");
		await once(second.child, "exit");
		const none = await runHere(["proxy", "status"], { folder });
		expect([none.code, none.lines.join()]).toEqual([1, expect.stringContaining("No palimpsest proxy is running.")]);
	});

	it("believes no other server on the port, and prints nothing of what it says", async () => {
		const folder = await scratchFolder();
		const said = { requests: { requests: "\u001b]0;title\u0007" }, faults: {}, conversations: [] };
		const other = await startUpstream((_, response) => response.end(JSON.stringify(said)));
		for (const what of ["env", "status"]) {
			const { code, text, lines } = await runHere(["proxy", what, "--port", new URL(other.url).port], { folder });
			expect([code, text, lines]).toEqual([
				1,
				"",
				[expect.stringContaining("No palimpsest proxy of this user answers")],
			]);
		}
		expect(other.received).toEqual([]);
	});

	it("keeps the key of its pages where a file has it, and writes no key to its log", async () => {
		const folder = await scratchFolder();
		const key = "k".repeat(32);
		await writeFile(`${folder}/key`, `${key}\n`);
		const asked = { path: "/palimpsest/status", headers: { Authorization: `Bearer ${key}` } };
		const proxy = await startCommand(folder, "--log", "json", "--key-file", `${folder}/key`);
		expect((await send(proxy.url, asked)).status).toBe(200);
		proxy.child.kill("SIGTERM");
		await once(proxy.child, "exit");
		expect(proxy.stderr()).not.toContain(key);
		await writeFile(`${folder}/key`, "short");
		const { code, lines } = await runHere(["proxy", "--port", "0", "--key-file", `${folder}/key`], { folder });
		expect([code, lines.join()]).toEqual([1, expect.stringContaining("Expected --key-file")]);
	});

	it("status says so when no proxy answers", async () => {
		const { code, lines } = await runHere(["proxy", "status", "--port", "1"], { folder: await scratchFolder() });
		expect(code).toBe(1);
		expect(lines.join("\n")).toContain("No palimpsest proxy of this user answers on port 1");
	});
});
