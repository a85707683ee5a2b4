import { expect, it } from "vitest";
import { hasRedis } from "../storage/archive/start-redis.ts";
import { builtCli as cli } from "../support/built-cli.ts";
import { runFaults } from "./faults.ts";

// The long one is `npm run load -- faults`.
it.skipIf(!hasRedis)("servers and Redis killed under load lose no repeated call and no original", async () => {
	const kills = { unit: "answered calls", length: 24, killEvery: 8, redisKills: [12] } as const;
	const figures = await runFaults({ cli, ...kills, servers: 3, clients: 3 });
	expect(figures).toMatchObject({ lost: 0, serversKilled: 2, redisKilled: 1, recalled: figures.promised });
	expect(figures.retried).toBeGreaterThan(0);
	expect(figures.promised).toBe(7 * figures.answered);
});
