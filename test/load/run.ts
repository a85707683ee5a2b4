import { randomInt } from "node:crypto";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runFaults } from "./faults.ts";
import { type FleetFigures, type FleetOptions, runFleet } from "./fleet.ts";
import { soak } from "./soak.ts";
import { drawSoak } from "./soak-picture.ts";
import { proxyFace } from "./soak-proxy.ts";
import { serveFace } from "./soak-serve.ts";
import { judgeSoak, type SoakLine } from "./soak-verdict.ts";

/** The built command; this file runs as `build/load/test/load/run.js`. */
const cli = fileURLToPath(new URL("../../../../dist/cli.js", import.meta.url));
const say = (line: string) => process.stdout.write(`${line}\n`);
const faces = { serve: serveFace, proxy: proxyFace };
const names = Object.keys(faces) as (keyof typeof faces)[];

/** `npm run load -- faults`: a minute of killed servers and Redis restarted. */
async function faults(): Promise<boolean> {
	const times = { unit: "seconds", length: 60, killEvery: 1, redisKills: [20, 40] } as const;
	const figures = await runFaults({ cli, ...times, servers: 3, clients: 6 });
	say(`servers killed ${figures.serversKilled}, Redis killed and started anew ${figures.redisKilled}`);
	say(`calls answered ${figures.answered}, attempts that failed ${figures.retried}, calls lost ${figures.lost}`);
	say(`placeholders ${figures.promised}, recalled word for word ${figures.recalled}`);
	return figures.lost === 0 && figures.promised > 0 && figures.recalled === figures.promised;
}

/**
 * `npm run load -- fleet [--conversations N] [--turns N] [--from N] [--chars N] [--faults all] [--spread kept|race] [--balanced] [--files] [--other DIST/CLI]`: one
 * proxy on Redis and three, with `--files` also one on files; with `--faults`, the three alone. With `--from`, agents come with the turns before it. With `--hashes FILE` the first run
 * plays one and writes the file, and the second run plays three and compares. `--other` is the command of every second instance.
 */
async function fleet(given: readonly string[]): Promise<boolean> {
	const { values } = parseArgs({
		args: [...given],
		options: {
			conversations: { type: "string", default: "24" },
			turns: { type: "string", default: "30" },
			from: { type: "string", default: "1" },
			chars: { type: "string", default: "2000" },
			"at-once": { type: "string", default: "4" },
			seed: { type: "string", default: "1" },
			faults: { type: "string", default: "none" },
			spread: { type: "string", default: "by_chance" },
			balanced: { type: "boolean", default: false },
			files: { type: "boolean", default: false },
			hashes: { type: "string" },
			other: { type: "string" },
		},
	});
	// Each turn masks what is older than two turns.
	const early = ["mask.window_turns=2", "mask.selection=age", "mask.cadence=every_turn"];
	const same = {
		cli: values.other === undefined ? [cli] : [cli, resolve(values.other)],
		conversations: Number(values.conversations),
		turns: Number(values.turns),
		from: Number(values.from),
		chars: Number(values.chars),
		atOnce: Number(values["at-once"]),
		seed: Number(values.seed),
		spread: values.spread as FleetOptions["spread"],
		set: values.balanced ? [] : early,
		faults: values.faults as FleetOptions["faults"],
	};
	const play = async (name: string, instances: number, archive: FleetOptions["archive"]): Promise<FleetFigures> => {
		const figures = await runFleet({ ...same, instances, archive });
		const { bodies, ...printed } = figures;
		say(`${name}: ${JSON.stringify(printed)}`);
		return figures;
	};
	const holds = ({ failed, refused, takenBack, edited }: FleetFigures) =>
		failed === 0 && refused === 0 && takenBack === 0 && edited > 0;
	if (same.spread === "race") {
		const { disagreed, ...figures } = await play("each request to three at the same moment", 3, "redis");
		return disagreed === 0 && figures.failed === 0;
	}
	if (same.faults !== "none") return holds(await play("three on Redis with faults", 3, "redis"));
	if (values.files) await play("one on files", 1, "files");
	const hashes = values.hashes === undefined ? undefined : resolve(values.hashes);
	let one = new Map<string, string>(hashes && existsSync(hashes) ? JSON.parse(readFileSync(hashes, "utf8")) : []);
	if (one.size === 0) {
		const { bodies } = await play("one on Redis", 1, "redis");
		one = new Map(Array.from(bodies, ([name, { hash }]) => [name, hash]));
		if (hashes) writeFileSync(hashes, JSON.stringify([...one]));
		if (hashes) return true;
	}
	const three = await play("three on Redis", 3, "redis");
	const different = [...one].filter(([name, hash]) => three.bodies.get(name)?.hash !== hash);
	const first = new Map(different.map(([name]) => name.split(" ")).toReversed() as [string, string][]);
	say(`bodies that differ: ${different.length} of ${one.size}, first by conversation: ${JSON.stringify([...first])}`);
	return holds(three) && different.length === 0;
}

/** `npm run soak -- [--minutes N] [--face serve|proxy|both] [--clients N] [--wait SECONDS] [--output FOLDER] [--seed S]`. */
async function soakFaces(given: readonly string[]): Promise<boolean> {
	const { values } = parseArgs({
		args: [...given],
		options: {
			minutes: { type: "string", default: "3" },
			face: { type: "string", default: "both" },
			clients: { type: "string", default: "50" },
			wait: { type: "string", default: "8" },
			output: { type: "string", default: "build/soak" },
			seed: { type: "string" },
		},
	});
	const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
	const output = resolve(values.output);
	mkdirSync(output, { recursive: true });
	say(`seed ${seed}, lines in ${output}`);
	const chosen = names.filter((name) => values.face === "both" || values.face === name);
	await Promise.all(
		chosen.map(async (name) => {
			const file = join(output, `${name}.jsonl`);
			rmSync(file, { force: true });
			const log = openSync(join(output, `${name}.log`), "w");
			await soak({
				face: await faces[name]({ cli, log, seed, clients: Number(values.clients) }),
				...{ seconds: Number(values.minutes) * 60, clients: Number(values.clients), waitSeconds: Number(values.wait) },
				...{ seed, file },
				onLine: (line) => say(JSON.stringify(line)),
				onWrong: ({ what, outcome, why = "" }) => say(`${name}: ${outcome}: ${what} ${why}`),
			});
			closeSync(log);
		}),
	);
	return tellSoak(output, join(output, "soak.svg"));
}

/** Prints the figures of a soak, and draws it. */
function tellSoak(folder: string, picture: string): boolean {
	const lines = names.map((name) => readLines(join(folder, `${name}.jsonl`)));
	let isWhole = true;
	for (const [index, own] of lines.entries()) {
		if (own.length === 0) continue;
		for (const { what, figure, holds } of judgeSoak(own)) {
			isWhole &&= holds !== false;
			say(
				`${names[index]}: ${what}: ${figure}: ${holds === undefined ? "not judged" : holds ? "holds" : "DOES NOT HOLD"}`,
			);
		}
	}
	writeFileSync(picture, drawSoak(lines.flat()));
	return isWhole;
}

function readLines(file: string): SoakLine[] {
	try {
		return readFileSync(file, "utf8")
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => JSON.parse(line));
	} catch {
		return [];
	}
}

const runs: Readonly<Record<string, (given: readonly string[]) => Promise<boolean>>> = {
	faults,
	fleet,
	soak: soakFaces,
	/** `npm run load -- soak-picture FOLDER build/soak.svg`: of lines that were written before. */
	"soak-picture": async ([folder = "build/soak", picture = join(folder, "soak.svg")]) => tellSoak(folder, picture),
};
const [, , name = "", ...given] = process.argv;
const run = runs[name];
if (run) process.exitCode = (await run(given)) ? 0 : 1;
else {
	say(`Expected one of ${Object.keys(runs).join(", ")}.`);
	process.exitCode = 2;
}
