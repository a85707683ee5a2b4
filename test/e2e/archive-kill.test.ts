import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openArchive } from "../../src/storage/archive/open.ts";
import { isWhole } from "../support/breadth.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type Life, liveAndDie } from "./killed-server.ts";

/** `npm run test:all` kills as many as 40. */
const kills = isWhole ? 40 : 12;
const serversAtOnce = 4;

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function random(seed: number): () => number {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
}

it(`a server killed ${kills} times at random moments keeps every original named in an answer`, async () => {
	const seed = Date.now() & 0xffff;
	const next = random(seed);
	const home = await scratchFolder();
	let begun = 0;
	const lives: Life[] = [];
	const serve = async () => {
		while (begun < kills) {
			begun += 1;
			// How long a server takes to start and to load what it needs depends on the machine: the moments count from there.
			const since = begun % 8 === 0 ? "start" : begun % 2 === 0 ? "greeting" : "answer";
			lives.push(await liveAndDie({ home, name: `${begun}`, since, afterMs: next() * 250 }));
		}
	};
	await Promise.all(Array.from({ length: serversAtOnce }, serve));

	// Where the user's state is depends on the system.
	const inHome = await readdir(home, { recursive: true });
	const where = join(home, inHome.find((one) => one.endsWith(join("palimpsest", "archive"))) ?? "none");
	const archive = await openArchive({ where });
	const promised = lives.flatMap((life) => life.promised);
	for (const { ref, original } of promised) {
		const found = await archive?.get(ref);
		if (found?.text !== original) throw new Error(`${ref} does not read back; seed ${seed}`);
	}
	for await (const { ref } of archive?.list() ?? []) await archive?.get(ref);
	await archive?.close();

	expect(lives).toHaveLength(kills);
	expect(promised.length).toBeGreaterThan(kills);
	expect(lives.filter(({ unanswered }) => unanswered > 0).length).toBeGreaterThan(kills / 2);
	expect(lives.filter(({ answered }) => answered > 0).length).toBeGreaterThan(kills / 4);
}, 240_000);
