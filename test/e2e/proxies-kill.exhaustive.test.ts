import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { openArchive } from "../../src/storage/archive/open.ts";
import { readFigures } from "../../src/storage/figures/store.ts";
import { requestOf, textsIn, turnsOf } from "../proxy/sessions.ts";
import { type Received, send, startUpstream } from "../proxy/upstream.ts";
import { builtCli } from "../support/built-cli.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const rounds = Number(process.env.PROXY_KILLS ?? 20);
const turns = turnsOf(rounds + 12, 9_000);

interface RunningProxy {
	readonly process: ChildProcess;
	readonly url: string;
}

async function startProxy(home: string, upstream: string): Promise<RunningProxy> {
	const places = ["HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map((name) => [name, home]);
	const settings = ["--set", "mask.window_turns=2", "--set", "mask.cadence=every_turn"];
	const process_ = spawn(
		process.execPath,
		[
			builtCli,
			"proxy",
			"--port",
			"0",
			"--upstream",
			`anthropic=${upstream}`,
			...settings,
			"--set",
			"truncate.max_chars=4000",
		],
		{ cwd: home, env: { ...process.env, ...Object.fromEntries(places) }, stdio: ["ignore", "pipe", "pipe"] },
	);
	onTestFinished(() => void process_.kill("SIGKILL"));
	const url = new Promise<string>((resolve, reject) => {
		let said = "";
		for (const stream of [process_.stdout, process_.stderr])
			createInterface({ input: stream }).on("line", (line) => {
				said += `${line}\n`;
				const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
				if (found) resolve(found[0]);
			});
		process_.on("exit", () => reject(new Error(`The proxy ended: ${said}`)));
	});
	return { process: process_, url: await url };
}

it(`two proxies on one archive, one of them killed ${rounds} times after the first request reached the upstream, lose nothing`, async () => {
	const home = await scratchFolder();
	let arrived: (task: string) => void = () => {};
	const upstream = await startUpstream(({ body }, response) => {
		arrived(body.toString());
		setTimeout(() => response.writeHead(200, { "Content-Type": "application/json" }).end(answer), 5);
	});
	const answer = JSON.stringify({ type: "message", content: [], usage: { input_tokens: 9_000, output_tokens: 5 } });
	const lasting = await startProxy(home, upstream.url);
	let killed = 0;
	for (let round = 0; round < rounds; round += 1) {
		const victim = await startProxy(home, upstream.url);
		const task = `Task ${round}.`;
		const arrival = new Promise<void>((resolve) => {
			arrived = (body) => body.includes(task) && resolve();
		});
		// Both have sessions of their own with the same outputs, so that they write the same originals at once.
		const count = 8 + round;
		const play = async ({ url }: RunningProxy, task: string) => {
			for (let at = 1; at <= count; at += 1) await send(url, requestOf("anthropic", turns.slice(0, at), task));
		};
		const playing = [play(lasting, "Task of the lasting one."), play(victim, task).catch(() => {})];
		await arrival;
		await new Promise((resolve) => setTimeout(resolve, 25 * (round % 8)));
		const ended = once(victim.process, "exit");
		victim.process.kill("SIGKILL");
		await ended;
		killed += 1;
		await Promise.all(playing);
	}
	const ended = once(lasting.process, "exit");
	lasting.process.kill("SIGTERM");
	await ended;

	const files = await readdir(home, { recursive: true });
	const where = join(home, files.find((one) => one.endsWith(join("palimpsest", "archive"))) ?? "none");
	const archive = await openArchive({ where });
	const outputs = new Set(turns.map(({ output }) => output));
	let read = 0;
	for (const ref of new Set(upstream.received.flatMap(refsIn))) {
		expect(outputs.has((await archive?.get(ref))?.text ?? "")).toBe(true);
		read += 1;
	}
	for await (const { ref } of archive?.list() ?? [])
		expect(outputs.has((await archive?.get(ref))?.text ?? "")).toBe(true);
	await archive?.close();
	const figures = files.find((one) => one.endsWith(join("palimpsest", "figures"))) ?? "none";
	let lines = 0;
	for await (const line of readFigures({ since: 0, folder: join(home, figures) }))
		lines += line.kind === "request" ? 1 : 0;

	expect(killed).toBe(rounds);
	expect(read).toBeGreaterThan(rounds);
	expect(lines).toBeGreaterThan(8 * rounds);
}, 240_000);

function refsIn({ body }: Received): string[] {
	return textsIn(JSON.parse(body.toString())).flatMap((text) =>
		Array.from(text.matchAll(/(?:#|ref=)([a-z2-7]{12})\b/g), (match) => match[1] as string),
	);
}
