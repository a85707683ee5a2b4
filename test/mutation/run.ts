import { randomInt } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { parseArgs } from "node:util";
import { buildModules, instrument } from "./build.ts";
import { explanationKey, type Mutant, nameOf, sampleOf } from "./mutants.ts";
import { importedByPath, type Room, rooms, sourcesOf, testsOf } from "./rooms.ts";
import { openTrials, type Trial } from "./trial.ts";

/** `npm run mutation -- [--room NAME] [--sample N | --all] [--seed S] [--blank N] [--file NAME] [--quick]`; this file runs as `build/mutation/run.js`. */
const { values } = parseArgs({
	options: {
		room: { type: "string", multiple: true },
		sample: { type: "string", default: "100" },
		seed: { type: "string" },
		all: { type: "boolean", default: false },
		blank: { type: "string", default: "0" },
		/** Of the rooms, only files of this name, such as `select.ts`. */
		file: { type: "string", multiple: true },
		/** Without a second try in a process of its own, which takes most of the time of a survivor. */
		quick: { type: "boolean", default: false },
	},
});
const say = (line: string) => process.stdout.write(`${line}\n`);
process.chdir(resolve(import.meta.dirname, "../.."));

/** Percent. */
const leastScore = 95;

process.exitCode = await main();

async function main(): Promise<number> {
	const names = rooms.map(({ name }) => name);
	const unknown = values.room?.filter((name) => !names.includes(name)) ?? [];
	if (unknown.length > 0) {
		say(`There is no room ${unknown.join(", ")}; there are ${names.join(", ")}.`);
		return 1;
	}
	const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed);
	say(`seed ${seed}`);
	let isEnough = true;
	for (const room of rooms.filter(({ name }) => values.room?.includes(name) ?? true)) {
		isEnough = (await tryRoom(room, seed)) && isEnough;
	}
	return isEnough ? 0 : 1;
}

async function tryRoom(room: Room, seed: number): Promise<boolean> {
	const { mutants: all, texts } = await instrument(sourcesOf(room));
	const mutants = all.filter(({ fileName }) => values.file?.includes(basename(fileName)) ?? true);
	if (mutants.length === 0) return true;
	const known = mutants.map(nameOf);
	const names = new Set(values.all ? known : sampleOf({ names: known, seed, size: Number(values.sample) }));
	const drawn = mutants.filter((mutant) => names.has(nameOf(mutant)));
	const tests = testsOf(room);
	const folder = resolve("build/mutation/rooms", room.name);
	mkdirSync(folder, { recursive: true });
	const builtFiles = await buildModules([...tests, ...importedByPath(), "test/support/scratch-folder.ts"], {
		texts,
		drawn: new Set(drawn.map(({ id }) => id)),
		folder,
	});
	const trials = await openTrials({ tests, mutants: drawn, builtFiles, isQuick: values.quick });
	try {
		const failures = await trials.runBlank(Number(values.blank));
		for (const failure of failures) say(`  fails without a mutant: ${failure}`);
		const results: Result[] = [];
		for (const mutant of drawn) {
			const trial = await trials.tryMutant(mutant);
			results.push({ mutant, trial });
			if (isAlive(trial)) process.stderr.write(`${trial.status}: ${nameOf(mutant)}\n`);
		}
		return tell(room, known.length, results) && failures.length === 0;
	} finally {
		trials.close();
	}
}

interface Result {
	readonly mutant: Mutant;
	readonly trial: Trial;
}

/** The score leaves out the survivors that `test/mutation-survivors.md` explains. */
function tell({ name }: Room, known: number, results: readonly Result[]): boolean {
	const explanations = readFileSync("test/mutation-survivors.md", "utf8").split("\n");
	const isExplained = ({ mutant }: Result) => {
		const key = explanationKey(mutant, readFileSync(mutant.fileName, "utf8"));
		return explanations.some((line) => line.startsWith(key));
	};
	const alive = results.filter(({ trial }) => isAlive(trial));
	const open = alive.filter((result) => !isExplained(result));
	for (const { mutant, trial } of open) say(`  ${trial.status}: ${nameOf(mutant)}`);
	const explained = alive.length - open.length;
	const stopped = results.filter(({ trial }) => trial.status === "Timeout").length;
	const killed = results.length - alive.length;
	const score = (100 * killed) / Math.max(1, results.length - explained);
	const counts = `${killed} of ${results.length} killed, ${stopped} of them by time, ${explained} explained, ${open.length} open; ${known} in all`;
	say(`${name}: ${score.toFixed(1)} % (${counts})`);
	return score >= leastScore;
}

function isAlive({ status }: Trial): boolean {
	return status === "Survived" || status === "NoCoverage";
}
