import { describe, expect, it } from "vitest";
import { openRedisJournal } from "../../src/proxy/sending/journal-redis.ts";
import { hasRedis, startRedis } from "../storage/archive/start-redis.ts";
import { isWhole } from "../support/breadth.ts";
import { noCounts, playRandomSession } from "../support/random-session.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

/** `SESSIONS=1000` plays as many. */
const wanted = Number(process.env.SESSIONS ?? (isWhole ? 200 : 3));
const day = 24 * 3_600_000;

describe.runIf(hasRedis)("random sessions whose requests come to any of three instances", () => {
	it.each(["palimpsest", "provider"] as const)(
		"are sent byte for byte as one instance sends them, where %s takes results out",
		async (by) => {
			const [{ url }, folder] = [await startRedis(), await scratchFolder()];
			const counts = noCounts();
			const play = async (seed: number, instances: number) => {
				const sent: string[] = [];
				const journal = () => openRedisJournal({ url, namespace: `${seed}-${instances}`, maxAgeMs: 30 * day });
				const fleet = { instances, journal, onSent: (text: string) => void sent.push(text) };
				// What breaks a rule of one instance is found by the sessions of one.
				const broken = await playRandomSession(seed, `${folder}/${seed}`, { counts, by, fleet }).catch(String);
				return [...sent, broken];
			};
			const different: number[] = [];
			let masked = 0;
			for (let seed = 900_000; seed < 900_000 + wanted; seed += 1) {
				const [one, three] = [await play(seed, 1), await play(seed, 3)];
				masked += three.filter((text) => text && /\[masked |\[Observation masked|clear_tool_uses/.test(text)).length;
				if (JSON.stringify(one) !== JSON.stringify(three)) different.push(seed);
			}
			expect(counts.switches).toBeGreaterThan(2 * wanted);
			expect(masked).toBeGreaterThan(2 * wanted);
			expect(different).toEqual([]);
		},
		900_000,
	);
});
