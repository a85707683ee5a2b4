import type { RedisConnection } from "./connect-redis.ts";

const page = 1000;

/** The keys that match a pattern, a page at a time; one that is written meanwhile may be missing or come twice. */
export async function* scanKeys(connection: RedisConnection, pattern: string): AsyncGenerator<readonly string[]> {
	let cursor = "0";
	do {
		const [reply] = await connection.send([["SCAN", cursor, "MATCH", pattern, "COUNT", String(page)]]);
		const [next, found] = Array.isArray(reply) ? reply : [];
		cursor = String(next ?? "0");
		const names = Array.isArray(found) ? found.map(String) : [];
		if (names.length > 0) yield names;
	} while (cursor !== "0");
}
