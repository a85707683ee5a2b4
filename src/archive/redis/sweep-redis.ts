import type { Retention, Sweep } from "../archive.ts";
import { decideSweep, type Holding, readIntent, type SweepTime, secondThoughtsMs, sweepOf } from "../retention.ts";
import type { Command, RedisConnection } from "./connect-redis.ts";
import type { RedisKeys } from "./redis-keys.ts";
import { scanKeys } from "./scan-keys.ts";

const page = 1000;

/** Removes a text unless it was used since somebody looked: between two commands of ours, others are carried out. */
const removeUnlessUsed = `
local used = redis.call('ZSCORE', KEYS[1], ARGV[1])
if used and tonumber(used) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
return 1`;

/** The stored texts; those that Redis let expire are forgotten on the way. */
export async function holdingsInRedis(connection: RedisConnection, keys: RedisKeys): Promise<Holding[]> {
	const [members] = await connection.send([["ZRANGE", keys.used, "0", "-1", "WITHSCORES"]]);
	const flat = (Array.isArray(members) ? members : []).map(String);
	const holdings: Holding[] = [];
	for (let start = 0; start < flat.length; start += 2 * page) {
		const pairs = flat.slice(start, start + 2 * page);
		const hashes = pairs.filter((_, index) => index % 2 === 0);
		const replies = await connection.send(
			hashes.flatMap((hash): Command[] => [
				["EXISTS", keys.text(hash)],
				["STRLEN", keys.text(hash)],
			]),
		);
		const gone: string[] = [];
		for (const [index, hash] of hashes.entries()) {
			if (replies[2 * index] === 0) gone.push(hash);
			else holdings.push({ hash, bytes: Number(replies[2 * index + 1]), usedAt: Number(pairs[2 * index + 1]) });
		}
		await forget(connection, { set: keys.used, keys, hashes: gone });
	}
	return holdings;
}

/** For how long an intent is kept, in ms. */
const intentForMs = String(30 * secondThoughtsMs);

/** Applies the retention. */
export async function sweepRedis(options: {
	readonly connection: RedisConnection;
	readonly keys: RedisKeys;
	readonly retention: Retention;
	readonly time: SweepTime;
}): Promise<Sweep> {
	const { connection, keys, retention, time } = options;
	const holdings = await holdingsInRedis(connection, keys);
	const [before] = await connection.send([["GET", keys.sweepIntent]]);
	const left = before === null ? undefined : readIntent(String(before));
	const { expired, intent } = decideSweep({ holdings, retention, time, intent: left });
	if (intent) await connection.send([["SET", keys.sweepIntent, JSON.stringify(intent), "PX", intentForMs]]);
	else if (before !== null) await connection.send([["DEL", keys.sweepIntent]]);
	const removed: Holding[] = [];
	for (let start = 0; start < expired.length; start += page) {
		const some = expired.slice(start, start + page);
		const replies = await connection.send(
			some.map(({ hash, usedAt }) => {
				const names = [keys.used, keys.text(hash), keys.about(hash), keys.ref(hash)];
				return ["EVAL", removeUnlessUsed, String(names.length), ...names, hash, String(usedAt)];
			}),
		);
		removed.push(...some.filter((_, index) => replies[index] === 1));
	}
	await tidyCalls(connection, keys);
	return sweepOf(holdings, removed);
}

/**
 * Takes texts that are gone out of the sets of their calls. A set whose id stays in use, as `call_0` of many models does,
 * never expires as a whole.
 */
async function tidyCalls(connection: RedisConnection, keys: RedisKeys): Promise<void> {
	for await (const sets of scanKeys(connection, keys.calls)) {
		const members = await connection.send(sets.map((set): Command => ["ZRANGE", set, "0", "-1"]));
		for (const [index, set] of sets.entries()) {
			const found = members[index];
			const hashes = Array.isArray(found) ? found.map(String) : [];
			for (let start = 0; start < hashes.length; start += page) {
				const some = hashes.slice(start, start + page);
				const there = await connection.send(some.map((hash): Command => ["EXISTS", keys.text(hash)]));
				await forget(connection, { set, keys, hashes: some.filter((_, at) => there[at] === 0) });
			}
		}
	}
}

/** Removes hashes whose text is gone from a set, unless it was stored again meanwhile. */
async function forget(
	connection: RedisConnection,
	{ set, keys, hashes }: { readonly set: string; readonly keys: RedisKeys; readonly hashes: readonly string[] },
): Promise<void> {
	if (hashes.length === 0) return;
	const script = "if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('ZREM', KEYS[1], ARGV[1]) end return 0";
	await connection.send(hashes.map((hash) => ["EVAL", script, "2", set, keys.text(hash), hash]));
}
