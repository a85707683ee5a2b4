import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { openFigures as open } from "../../src/storage/figures/store.ts";
import { requestOf, turnsOf } from "../proxy/sessions.ts";
import { importBuilt } from "./import-built.ts";
import { projectFolder } from "./project-folder.ts";
import { timeOf, withProxy, withUpstream } from "./proxy-process.ts";
import { atMost, duration, progress, short, type Table, type Target } from "./section.ts";
import { median, quantile } from "./statistics.ts";

const [lines, requests] = [2_000, 30];
const requestBytes = 200_000;
const [days, requestsOfDay, runs] = [400, 500, 3];
const day = 24 * 3_600_000;

export const figuresNote = `Figures: the time to write the line of a request, after its answer has ended, in the median of ${lines} lines, beside the time of a request of 200 kB through the proxy, in the median of ${requests}. \`palimpsest stats --days ${days}\` over ${days} days of ${requestsOfDay} requests, the quickest of ${runs} runs. \`PROXY_PARTS=figures npm run bench -- proxy\` measures these alone.`;

/** A line as the ledger writes it. */
const request = {
	kind: "request",
	model: "claude-opus-5-5-20261020",
	input: 3,
	read: 151_234,
	write: 2_345,
	output: 678,
	left_out: 45_678,
	billed: 10_493,
	unedited: 14_321,
	usd: 0.055_535,
	usd_unedited: 0.070_844,
	decisions: 2,
} as const;

/** What the figures of requests cost a request, and how long `stats` takes over a year of them. */
export async function measureFigures(): Promise<{ readonly tables: readonly Table[]; readonly targets: Target[] }> {
	progress("proxy: figures");
	const folder = mkdtempSync(join(tmpdir(), "palimpsest-bench-"));
	try {
		const written = await writingTimes(join(folder, "figures"));
		const whole = median(await requestTimes());
		const share = (100 * median(written)) / whole;
		const seconds = statsSeconds(folder);
		return {
			tables: [
				{
					caption: "Figures of requests",
					columns: ["what", "median", "quartiles"],
					rows: [
						[
							"writing a line",
							duration(median(written)),
							`${duration(quantile(written, 0.25))}–${duration(quantile(written, 0.75))}`,
						],
						["a request of 200 kB through the proxy", duration(whole), ""],
						[`stats over ${days} days of ${requestsOfDay} requests`, `${short(seconds)} s`, ""],
					],
				},
			],
			targets: [
				atMost("proxy, 200 kB: writing its figures, of the time of the request", 2, share, "%"),
				atMost(`stats over ${days} days of ${requestsOfDay} requests (aim)`, 2, seconds, "s"),
			],
		};
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

async function writingTimes(folder: string): Promise<number[]> {
	const { openFigures } = await importBuilt<{ openFigures: typeof open }>("storage/figures/store.ts");
	const figures = openFigures({ keep: "all", program: "claude", projectFolder: folder, folder });
	return Array.from({ length: lines }, () => {
		const start = performance.now();
		figures.add(request);
		return performance.now() - start;
	});
}

async function requestTimes(): Promise<number[]> {
	const turns = turnsOf(Math.ceil(requestBytes / 4_400));
	return withUpstream((upstream) =>
		withProxy(upstream, async ({ address, idle }) => {
			const times: number[] = [];
			for (let count = 0; count <= requests; count += 1) {
				const { path, body } = requestOf("anthropic", turns);
				const { whole } = await timeOf(address, { path, body: String(body) });
				await idle();
				// The first request loads the tables.
				if (count > 0) times.push(whole);
			}
			return times;
		}),
	);
}

function statsSeconds(folder: string): number {
	const figures = join(folder, "state", "palimpsest", "figures");
	mkdirSync(figures, { recursive: true });
	const now = Date.now();
	for (let back = 0; back < days; back += 1) {
		const at = now - back * day;
		const name = `${new Date(at).toISOString().slice(0, 10)}.jsonl`;
		const of = Array.from({ length: requestsOfDay }, (_, count) =>
			JSON.stringify({
				at,
				program: "claude",
				project: `${count % 9}a2b4c6d8e/project`,
				...request,
				read: 1_000 * count,
			}),
		);
		writeFileSync(join(figures, name), `\n${of.join("\n")}`);
	}
	const env = { PATH: process.env.PATH, HOME: folder, XDG_STATE_HOME: join(folder, "state") };
	const parameters = [`${projectFolder}/dist/cli.js`, "stats", "--days", String(days), "--json"];
	const times = Array.from({ length: runs }, () => {
		const start = performance.now();
		const { stdout } = spawnSync(process.execPath, parameters, { env, encoding: "utf8" });
		const time = (performance.now() - start) / 1_000;
		const { requests: found } = JSON.parse(stdout).all;
		if (found < (days - 1) * requestsOfDay) throw new Error(`Expected all requests; stats has found ${found}.`);
		return time;
	});
	return Math.min(...times);
}
