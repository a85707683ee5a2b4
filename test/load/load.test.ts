import { expect, it } from "vitest";
import { hasRedis } from "../archive/start-redis.ts";
import { builtCli as cli } from "../support/built-cli.ts";
import { runFaults } from "./faults.ts";
import { runSoak } from "./soak.ts";

// The long ones are `npm run load -- faults` and `npm run load -- soak`.
it.skipIf(!hasRedis)("servers and Redis killed under load lose no repeated call and no original", async () => {
	const kills = { unit: "answered calls", length: 40, killEvery: 8, redisKills: [20] } as const;
	const figures = await runFaults({ cli, ...kills, servers: 3, clients: 3 });
	expect(figures).toMatchObject({ lost: 0, serversKilled: 4, redisKilled: 1, recalled: figures.promised });
	expect(figures.retried).toBeGreaterThan(0);
	expect(figures.promised).toBe(7 * figures.answered);
});

it("a thousand small calls leave no handle and no file open, and each is counted", async () => {
	const { wrong, counted, samples } = await runSoak({ cli, calls: 1_000, clients: 4, samples: 4 });
	expect(wrong).toBe(0);
	expect(counted).toBe(1_000);
	const [first, last] = [samples[1], samples.at(-1)];
	// A file or two may be open at the moment when they are counted.
	expect(last?.files).toBeLessThanOrEqual(Number(first?.files) + 5);
	expect(last?.handles).toBeLessThanOrEqual(Number(first?.handles) + 5);
	expect(last?.heap).toBeGreaterThan(1_000_000);
});
