import { afterAll, describe, expect, it } from "vitest";
import { isWhole } from "../support/breadth.ts";
import { clearingNames } from "../support/clearing-oracle.ts";
import { happenings, noCounts } from "../support/random-session.ts";
import { playRandomSessions } from "../support/random-sessions.ts";
import { countedNames } from "../support/session-oracle.ts";

/** `SESSIONS=10000` plays as many; they take some ten minutes of an idle processor for each 5 000. */
const wanted = Number(process.env.SESSIONS ?? (isWhole ? 200 : 40));
const inOnePart = 100;
const counts = noCounts();
const ofClearing = noCounts();
const cleared = process.env.SESSIONS === undefined ? (isWhole ? 300 : 24) : wanted;

describe("sessions in which the provider clears, with the same faults", () => {
	const first = 500_000;
	const seeds = Array.from({ length: Math.ceil(cleared / inOnePart) }, (_, part) => first + part * inOnePart);
	it.each(seeds)(
		"show no cleared result again, and keep all valid thinking: from seed %d on",
		async (seed) => {
			const count = Math.min(inOnePart, first + cleared - seed);
			await playRandomSessions({ first: seed, count, counts: ofClearing, by: "provider" });
		},
		900_000,
	);

	afterAll(() => {
		for (const name of [...clearingNames, "archive_faults", "memory_faults", "rewinds", "forks"] as const)
			expect(ofClearing[name], name).toBeGreaterThan(cleared / 100);
	});
});

describe("random sessions end the same with the proxy and without it, and sent states stay", () => {
	const seeds = Array.from({ length: Math.ceil(wanted / inOnePart) }, (_, part) => 10_000 + part * inOnePart);
	it.each(seeds)(
		"from seed %d on",
		async (first) => {
			await playRandomSessions({ first, count: Math.min(inOnePart, 10_000 + wanted - first), counts });
		},
		900_000,
	);

	afterAll(() => {
		expect(counts.sessions).toBe(wanted);
		const rare = new Set(["hints_moved", "own"]);
		for (const name of [...happenings, ...countedNames]) {
			if (rare.has(name) && counts.sessions < 10_000) continue;
			expect(counts[name], name).toBeGreaterThan(counts.sessions / (rare.has(name) ? 1_000 : 100));
		}
	});
});
