import { afterAll, describe, expect, it } from "vitest";
import { happenings, noCounts } from "../support/random-session.ts";
import { playRandomSessions } from "../support/random-sessions.ts";
import { countedNames } from "../support/session-oracle.ts";

const inOnePart = 500;
const parts = 20;
const counts = noCounts();

describe("10 000 random sessions go through the proxy as they would without it, and what was sent once stays", () => {
	const seeds = Array.from({ length: parts }, (_, part) => 10_000 + part * inOnePart);
	it.each(seeds)(
		"from seed %d on",
		async (first) => {
			await playRandomSessions({ first, count: inOnePart, counts });
		},
		900_000,
	);

	afterAll(() => {
		if (counts.sessions < parts * inOnePart) return;
		const rare = new Set(["hints_moved", "own"]);
		for (const name of [...happenings, ...countedNames]) {
			expect(counts[name], name).toBeGreaterThan(rare.has(name) ? 10 : 100);
		}
	});
});
