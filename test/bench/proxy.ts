import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, request as sendRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { requestOf, type SessionApi, sessionApis, turnsOf } from "../proxy/sessions.ts";
import { type Api, createProviderCache, type InputUsage } from "../support/provider-cache.ts";
import { projectFolder } from "./project-folder.ts";
import { atMost, duration, progress, type Section, short, type Table, type Target } from "./section.ts";
import { median, quantile } from "./statistics.ts";

const rounds = 21;
const startMs = 1_500;

/** The time that the proxy adds to a request, and what it saves in a session by the accounting of a provider. */
export async function proxy(): Promise<Section> {
	const times = await measureTimes();
	const bills = await measureBills();
	return {
		title: "Proxy",
		notes: [
			`Times: one session of Anthropic's Messages that grows by a tool turn at each request, sent to a server on loopback in turns directly and through \`palimpsest proxy\` with the preset \`balanced\` and an archive of files; the time of a request through the proxy less that of the same request sent directly, ${rounds} requests after the first. “First” is the first request of a process. It comes ${startMs / 1_000} s after the proxy's start, as an agent program takes that long to start.`,
			"Bills: sessions of logs in each API, in which nothing but the results differs from turn to turn. A token is four bytes; the provider's cache is that of the stand-in in `test/support/provider-cache.ts` (breakpoints, 20 blocks, steps of 128 tokens); a cached token costs 0.1 of an input token, one written to the cache 1.25. A break is a request that reads less from the cache than the one before it left there. The same with real programs: `npm run hosts`.",
		],
		tables: [times.table, bills.table],
		targets: [...times.targets, ...bills.targets],
	};
}

const sizes = [
	{ name: "200 kB", bytes: 200_000, most: 15 },
	{ name: "1 MB", bytes: 1_000_000, most: 50 },
];
const resultChars = 4_000;

async function measureTimes(): Promise<{ table: Table; targets: Target[] }> {
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const { name, bytes, most } of sizes) {
		progress(`proxy: ${name}`);
		const { added, first, firstByte } = await withProxy(async (direct, through) => {
			await setTimeout(startMs);
			const turns = turnsOf(Math.ceil(bytes / resultChars) + rounds, resultChars);
			const samples: number[] = [];
			const bytesSamples: number[] = [];
			for (let round = 0; round <= rounds; round++) {
				const { path = "", body } = requestOf("anthropic", turns.slice(0, turns.length - rounds + round));
				const both = await inTurns(round, direct, through, (base) => timeOf(base, path, String(body)));
				samples.push(both.through.whole - both.direct.whole);
			}
			const unedited = requestOf("anthropic", turns.slice(0, 3));
			for (let round = 0; round < rounds; round++) {
				const both = await inTurns(round, direct, through, (base) =>
					timeOf(base, unedited.path, String(unedited.body)),
				);
				bytesSamples.push(both.through.firstByte - both.direct.firstByte);
			}
			return { first: samples[0] ?? 0, added: samples.slice(1), firstByte: bytesSamples };
		});
		const spread = (values: readonly number[]) =>
			`${duration(Math.max(0, median(values)))} (${duration(Math.max(0, quantile(values, 0.25)))} – ${duration(quantile(values, 0.75))})`;
		rows.push([name, spread(added), duration(first), spread(firstByte)]);
		targets.push(atMost(`proxy, ${name}: added time of a request, median after the first`, most, median(added), "ms"));
		if (bytes < 1_000_000) {
			targets.push(atMost(`proxy, ${name}: added time of the first request`, 150, first, "ms"));
			const what = "proxy: added time to the first byte of the answer, no edit";
			targets.push(atMost(what, 5, Math.max(0, median(firstByte)), "ms"));
		}
	}
	const columns = ["request", "added, median (quartiles)", "first", "first byte, no edit"];
	return { table: { caption: "Added time", columns, rows }, targets };
}

/** First one, then the other, in turns. */
async function inTurns<T>(round: number, direct: string, through: string, act: (base: string) => Promise<T>) {
	if (round % 2 === 0) {
		const one = await act(direct);
		return { direct: one, through: await act(through) };
	}
	const other = await act(through);
	return { direct: await act(direct), through: other };
}

function timeOf(
	base: string,
	path: string,
	body: string,
): Promise<{ readonly firstByte: number; readonly whole: number }> {
	return new Promise((resolve, reject) => {
		const start = performance.now();
		let firstByte = 0;
		const request = sendRequest(`${base}${path}`, { method: "POST", headers: { "Content-Type": "application/json" } });
		request.on("error", reject);
		request.on("response", (response) => {
			response.once("data", () => {
				firstByte = performance.now() - start;
			});
			response.resume();
			response.on("end", () => resolve({ firstByte, whole: performance.now() - start }));
		});
		request.end(body);
	});
}

/** The built command in front of a server that answers at once; `take` sees the bodies that arrive there. */
async function withProxy<T>(
	work: (direct: string, through: string) => Promise<T>,
	take: (body: Buffer) => void = () => {},
): Promise<T> {
	const folder = await mkdtemp(join(tmpdir(), "palimpsest-bench-"));
	const upstream = await startUpstream(take);
	const direct = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
	const upstreams = ["anthropic", "openai", "gemini"].map((api) => `${api}=${direct}`).join(",");
	const parameters = ["proxy", "--port", "0", "--archive", `${folder}/archive`, "--upstream", upstreams];
	const child = spawn(process.execPath, [`${projectFolder}/dist/cli.js`, ...parameters], {
		cwd: folder,
		env: { PATH: process.env.PATH, HOME: folder },
		stdio: ["ignore", "ignore", "pipe"],
	});
	try {
		return await work(direct, await addressIn(child));
	} finally {
		child.kill();
		await once(child, "exit");
		upstream.closeAllConnections();
		upstream.close();
		await rm(folder, { recursive: true, force: true });
	}
}

async function startUpstream(take: (body: Buffer) => void): Promise<Server> {
	const server = createServer((request, response) => {
		const pieces: Buffer[] = [];
		request.on("data", (piece: Buffer) => pieces.push(piece));
		request.on("end", () => {
			take(Buffer.concat(pieces));
			response.writeHead(200, { "Content-Type": "text/event-stream" });
			response.end('event: message_stop\ndata: {"type":"message_stop"}\n\n');
		});
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	return server;
}

function addressIn(child: ChildProcess): Promise<string> {
	return new Promise((resolve, reject) => {
		let text = "";
		child.once("exit", () => reject(new Error(`The proxy ended before it listened: ${text}`)));
		child.stderr?.on("data", (piece: Buffer) => {
			text += piece;
			const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
			if (address !== undefined) resolve(address);
		});
	});
}

// ---- Bills ----

const accounts: Readonly<Record<SessionApi, Api>> = {
	anthropic: "anthropic",
	chat: "openai-chat",
	responses: "openai-responses",
	gemini: "gemini",
};
const scripts = [
	{ turns: 35, chars: 12_000, tokens: 0.68, billed: 0.92 },
	{ turns: 60, chars: 29_000, tokens: undefined, billed: 0.62 },
];

async function measureBills(): Promise<{ table: Table; targets: Target[] }> {
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const { turns, chars, tokens, billed } of scripts) {
		const name = `${turns} turns of ${short(chars)} characters`;
		const results: Bill[] = [];
		for (const api of sessionApis) {
			progress(`proxy: ${name}, ${api}`);
			const result = await billOf(api, turns, chars);
			results.push(result);
			const { raw, own, breaks } = result;
			rows.push([
				name,
				api,
				`${(own.sent / raw.sent).toFixed(3)} ×`,
				`${(own.billed / raw.billed).toFixed(3)} ×`,
				String(breaks),
			]);
		}
		const worst = (of: (bill: Bill) => number) => Math.max(...results.map(of));
		if (tokens)
			targets.push(
				atMost(
					`proxy, ${name}: tokens sent, worst API`,
					tokens,
					worst(({ raw, own }) => own.sent / raw.sent),
				),
			);
		targets.push(
			atMost(
				`proxy, ${name}: billed, worst API`,
				billed,
				worst(({ raw, own }) => own.billed / raw.billed),
			),
		);
		const tenths = worst(({ breaks }) => (breaks / (turns + 1)) * 10);
		targets.push(atMost(`proxy, ${name}: cache breaks in 10 requests, worst API`, 1, tenths, ""));
	}
	return {
		table: {
			caption: "Bills of whole sessions",
			columns: ["session", "API", "tokens sent", "billed", "cache breaks"],
			rows,
		},
		targets,
	};
}

interface Bill {
	readonly raw: Sums;
	readonly own: Sums;
	readonly breaks: number;
}

interface Sums {
	sent: number;
	billed: number;
}

async function billOf(api: SessionApi, count: number, chars: number): Promise<Bill> {
	const [rawCache, ownCache] = [createProviderCache(() => 0), createProviderCache(() => 0)];
	const [raw, own]: [Sums, Sums] = [
		{ sent: 0, billed: 0 },
		{ sent: 0, billed: 0 },
	];
	let [left, breaks] = [0, 0];
	const enter = (sums: Sums, { uncached, cacheRead, written }: InputUsage): void => {
		sums.sent += uncached + cacheRead + written;
		sums.billed += uncached + cacheRead * 0.1 + written * 1.25;
	};
	const take = (body: Buffer): void => {
		const usage = ownCache(accounts[api], "model", JSON.parse(body.toString("utf8")));
		enter(own, usage);
		if (usage.cacheRead < left) breaks += 1;
		left = usage.cacheRead + usage.written;
	};
	await withProxy(async (_, through) => {
		const turns = turnsOf(count, chars);
		for (let end = 0; end <= count; end++) {
			const { path, body } = requestOf(api, turns.slice(0, end));
			enter(raw, rawCache(accounts[api], "model", JSON.parse(String(body))));
			await timeOf(through, path, String(body));
		}
	}, take);
	return { raw, own, breaks };
}
