import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { createClient } from "@redis/client";
import { build } from "rolldown";
import { createRandom } from "../bench/random.ts";
import { freePort } from "../load/free-port.ts";
import { ownProcess } from "../load/start-process.ts";
import { type KillFigures, killWriters } from "./kills.ts";
import { type Place, places } from "./writer.ts";

/**
 * `npm run kills -- [--count N] [--place files|redis|memory|figures] [--other-build dist/index.js] [--seed S]`: kills for each
 * place; this file runs as `build/kills/test/kills/run.js`.
 */
const { values } = parseArgs({
	options: {
		count: { type: "string", default: "300" },
		place: { type: "string", multiple: true, default: [...places] },
		"other-build": { type: "string" },
		seed: { type: "string" },
	},
});
const say = (line: string) => process.stdout.write(`${line}\n`);
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
const count = Number(values.count);
const everyMs = 30_000;

/** In few files: a process that loads all of `src` takes half as long again until it writes. */
const bundled = resolve(import.meta.dirname, "bundled");
await build({
	input: resolve(import.meta.dirname, "writer.js"),
	platform: "node",
	external: /^(?!\.|\/|[A-Za-z]:)/,
	output: { dir: bundled, format: "es", entryFileNames: "writer.js" },
	checks: { ineffectiveDynamicImport: false },
	logLevel: "warn",
});

let isWhole = true;
for (const place of values.place as Place[]) {
	const otherBuild =
		place === "memory" || place === "figures" ? undefined : values["other-build"] && resolve(values["other-build"]);
	const begun = performance.now();
	let toldAt = begun;
	const rate = ({ killed }: KillFigures) => ((killed / (performance.now() - begun)) * 60_000).toFixed(0);
	const tell = (figures: KillFigures) => {
		const { killed, processes, promised, lost, early } = figures;
		say(
			`${place}: ${killed} kills, ${processes} processes, ${early} before anything was kept, ${promised} texts promised, ${lost.length} lost, ${rate(figures)} kills a minute`,
		);
	};
	const onKill = (figures: KillFigures) => {
		if (performance.now() - toldAt < everyMs) return;
		toldAt = performance.now();
		tell(figures);
	};
	const how = {
		place,
		count,
		otherBuild,
		random: createRandom(seed),
		onKill,
		writer: resolve(bundled, "writer.js"),
	};
	const figures =
		place === "redis" ? await withRedis((redis) => killWriters({ ...how, redis })) : await killWriters(how);
	tell(figures);
	for (const one of figures.lost.slice(0, 20)) say(`lost: ${one}`);
	isWhole &&= figures.lost.length === 0 && figures.promised > 0;
}
say(`seed ${seed}`);
process.exitCode = isWhole ? 0 : 1;

async function withRedis<Value>(work: (url: string) => Promise<Value>): Promise<Value> {
	const folder = await mkdtemp(join(tmpdir(), "palimpsest-kills-redis-"));
	const port = await freePort();
	const url = `redis://127.0.0.1:${port}`;
	const redis = ownProcess({
		command: "redis-server",
		parameters: ["--port", `${port}`, "--bind", "127.0.0.1", "--dir", folder, "--save", ""],
		async isReady() {
			const client = createClient({ url, socket: { reconnectStrategy: false } });
			client.on("error", () => {});
			try {
				await client.connect();
			} finally {
				client.destroy();
			}
		},
	});
	try {
		await redis.start();
		return await work(url);
	} finally {
		await redis.kill();
		await rm(folder, { recursive: true, force: true, maxRetries: 5 });
	}
}
