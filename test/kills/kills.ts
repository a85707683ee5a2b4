import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { createFilesJournal } from "../../src/proxy/sending/journal-files.ts";
import { createMemory } from "../../src/proxy/sending/memory.ts";
import type { Remembered } from "../../src/proxy/sending/remembered.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { formsOfRef } from "../../src/storage/archive/reference.ts";
import { readFigures } from "../../src/storage/figures/store.ts";
import { pick } from "../bench/random.ts";
import { conversationOf, type Place, textOf } from "./writer.ts";

export interface KillOptions {
	readonly place: Place;
	/** How many writers are killed. */
	readonly count: number;
	/** The compiled `writer.ts`. */
	readonly writer: string;
	/** A URL of Redis; for the other places a folder is made. */
	readonly redis?: string | undefined;
	/** Another build of the package, which every other writer uses; both read what both have written. */
	readonly otherBuild?: string | undefined;
	/** A number from 0 to 1 for each moment. */
	readonly random: () => number;
	readonly onKill?: (figures: KillFigures) => void;
}

export interface KillFigures {
	killed: number;
	/** By so many signals: each ends the writers of a process in the middle of what each of them does. */
	processes: number;
	/** Texts of which a writer said that they are kept. */
	promised: number;
	/** Of these, those that did not read back word for word. */
	readonly lost: string[];
	/** Writers that were killed before they had kept anything. */
	early: number;
}

/** Processes at work at the same time on one archive. Starting one takes most of the time, so it has several writers. */
const atOnce = 4;
/** The proxy's memory is written synchronously: only one writer of a process can be in the middle of it. */
const writersOfProcess: Readonly<Record<Place, number>> = { files: 4, redis: 4, memory: 1, figures: 4 };
/** So that a folder does not grow without end. */
const killsAFolder = 80;
const latestMs = 60;
/** From when the time to the kill counts. How long a writer takes until then depends on the machine. */
const moments = ["start", "ready", "ready", ...Array<"first texts">(7).fill("first texts")] as const;

/** Kills writers by SIGKILL at random moments, and after each kill reads back everything that it has promised. */
export async function killWriters(options: KillOptions): Promise<KillFigures> {
	const { place, count, random } = options;
	const figures: KillFigures = { killed: 0, processes: 0, promised: 0, lost: [], early: 0 };
	let begun = 0;
	while (begun < count) {
		const folder = await mkdtemp(join(tmpdir(), "palimpsest-kills-"));
		const where = place === "redis" ? (options.redis ?? "") : folder;
		const until = Math.min(count, begun + killsAFolder);
		const promised = new Map<string, Promised>();
		const work = async () => {
			while (begun < until) {
				const first = begun + 1;
				begun = Math.min(until, begun + writersOfProcess[place]);
				const names = Array.from({ length: begun - first + 1 }, (_, index) => `writer-${first + index}`);
				figures.processes += 1;
				const module = options.otherBuild !== undefined && figures.processes % 2 === 0 ? options.otherBuild : undefined;
				const [afterMs, since] = [random() * latestMs, pick(random, moments)];
				const told = await killOne({ ...options, where, names, module, afterMs, since });
				figures.killed += names.length;
				figures.promised += told.length;
				figures.early += names.filter((name) => told.every((one) => one.name !== name)).length;
				for (const one of told) promised.set(`${one.name} ${one.index}`, one);
				figures.lost.push(...(await lostOf(place, where, told)));
				options.onKill?.(figures);
			}
		};
		await Promise.all(Array.from({ length: atOnce }, work));
		// Later kills have taken nothing from earlier writers.
		figures.lost.push(...(await lostOf(place, where, [...promised.values()])));
		if (options.otherBuild !== undefined)
			figures.lost.push(...(await lostToOther(options.otherBuild, where, [...promised.values()])));
		await rm(folder, { recursive: true, force: true, maxRetries: 5 });
	}
	return figures;
}

interface Promised {
	readonly name: string;
	readonly index: number;
	readonly ref: string;
}

async function killOne(what: {
	readonly place: Place;
	readonly writer: string;
	readonly where: string;
	readonly names: readonly string[];
	readonly module: string | undefined;
	readonly afterMs: number;
	readonly since: (typeof moments)[number];
}): Promise<readonly Promised[]> {
	const { place, writer, where, names, module, afterMs, since } = what;
	const given = [writer, place, where, names.join(","), ...(module === undefined ? [] : [module])];
	const child = spawn(process.execPath, given, { stdio: ["ignore", "pipe", "inherit"] });
	const told: Promised[] = [];
	let [isReady, begun] = [false, 0];
	const killSoon = () => setTimeout(() => child.kill("SIGKILL"), afterMs);
	if (since === "start") killSoon();
	const lines = createInterface({ input: child.stdout });
	lines.on("line", (line) => {
		if (line === "ready" && since === "ready" && !isReady) killSoon();
		isReady ||= line === "ready";
		const [, name, index, ref] = /^(writer-\d+) (\d+) ([a-z2-7]{12}|kept)$/.exec(line) ?? [];
		// A line that the kill has cut short told nothing.
		if (name === undefined || index === undefined || ref === undefined) return;
		if (index === "0") begun += 1;
		if (since === "first texts" && index === "0" && begun === names.length) killSoon();
		told.push({ name, index: Number(index), ref });
	});
	await Promise.all([once(lines, "close"), once(child, "exit")]);
	return told;
}

async function lostOf(place: Place, where: string, promised: readonly Promised[]): Promise<string[]> {
	const describe = ({ name, index, ref }: Promised) => `${place} ${name} ${index} ${ref}`;
	if (place === "memory") {
		const memory = createMemory({ journal: createFilesJournal({ folder: where, now: Date.now }), now: Date.now });
		const states = new Map<string, Remembered["states"]>();
		for (const name of new Set(promised.map((one) => one.name)))
			states.set(name, (await memory.fetch(conversationOf(name))).states);
		return promised.flatMap((one) => {
			const text = states.get(one.name)?.get(`key ${one.index}`)?.values.get("whole")?.("");
			return text === textOf(one.name, one.index) ? [] : [describe(one)];
		});
	}
	if (place === "figures") {
		const kept = new Set<string>();
		for await (const line of readFigures({ since: 0, folder: where }))
			if (line.kind === "ping") kept.add(`${line.program} ${line.billed}`);
		return promised.flatMap((one) => (kept.has(`${one.name} ${one.index + 1}`) ? [] : [describe(one)]));
	}
	const archive = await openArchive({ where });
	return lostFrom(archive, promised, describe);
}

type Opened = Awaited<ReturnType<typeof openArchive>>;

async function lostFrom(archive: Opened, promised: readonly Promised[], describe: (one: Promised) => string) {
	const lost: string[] = [];
	for (const one of promised) {
		const found = await archive?.get(one.ref).catch((error: Error) => ({ text: error.message }));
		if (found?.text !== textOf(one.name, one.index)) lost.push(`${describe(one)}: ${found?.text.slice(0, 100)}`);
	}
	await archive?.close();
	return lost;
}

/** What the other build cannot read. It may know only the oldest form of references. */
async function lostToOther(module: string, where: string, promised: readonly Promised[]): Promise<string[]> {
	const { openArchive: open } = (await import(pathToFileURL(module).href)) as { openArchive: typeof openArchive };
	const named = promised.map((one) => ({ ...one, ref: formsOfRef(one.ref).at(-1) ?? one.ref }));
	return lostFrom(await open({ where }), named, ({ name, index, ref }) => `other build ${name} ${index} ${ref}`);
}
