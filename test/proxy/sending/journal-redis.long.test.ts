import { describe } from "vitest";
import { openRedisJournal } from "../../../src/proxy/sending/journal-redis.ts";
import { connectRedis, hasRedis, startRedis } from "../../storage/archive/start-redis.ts";
import { conversation, describeJournal } from "./journal-suite.ts";

const day = 24 * 3_600_000;

describe.runIf(hasRedis)("Redis", async () => {
	const { url } = hasRedis ? await startRedis() : { url: "" };
	let count = 0;
	describeJournal("Redis", async () => {
		count += 1;
		const namespace = `test-${count}`;
		const redis = await connectRedis({ url });
		const key = `palimpsest:states:{${namespace}}:notes:${conversation}`;
		return {
			open: () => openRedisJournal({ url, namespace, maxAgeMs: 30 * day }),
			write: async (line) => {
				await redis.send([["RPUSH", key, line]]);
			},
			lines: async () => String(await redis.send([["LRANGE", key, "0", "-1"]])),
		};
	});
});
