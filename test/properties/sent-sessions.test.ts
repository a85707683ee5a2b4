import { expect, it } from "vitest";
import { playRandomSessions } from "../support/random-sessions.ts";

it("300 random sessions go through the proxy as they would without it, and what was sent once stays", async () => {
	const counts = await playRandomSessions({ first: 1, count: 300 });
	expect(counts.sessions).toBe(300);
	expect(counts.whole_to_masked).toBeGreaterThan(300);
	expect(counts.blocks_left_out).toBeGreaterThan(1_000);
	expect(counts.refused_for_reasoning).toBeGreaterThan(10);
}, 300_000);
