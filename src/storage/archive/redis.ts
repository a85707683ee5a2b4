import type { Retention, Sweep } from "./archive.ts";
import {
	type Driver,
	type Entry,
	type HoldingPage,
	type ListingPlace,
	readAbout,
	rememberHash,
	type Stored,
	writeAbout,
} from "./driver.ts";
import { type Command, connectRedis, type RedisAddress, type RedisConnection, textsOf } from "./redis-connection.ts";
import { ambiguous, callKey, hexDigitsOfRef } from "./reference.ts";
import {
	decideSweep,
	type Holding,
	readIntent,
	type SweepTime,
	safeForMs,
	secondThoughtsMs,
	sweepOf,
} from "./retention.ts";

const pieceBytes = 1 << 20;
const longestExpiryMs = 10 * 365 * 24 * 3_600_000;

/** Milliseconds after which a key expires that nobody uses: twice the retention's age, so that a sweep comes first. */
export function expiryOf({ maxAgeMs }: Pick<Retention, "maxAgeMs">): string {
	const lifetime = 2 * Math.max(maxAgeMs, safeForMs) + secondThoughtsMs;
	return String(Math.ceil(Math.min(lifetime, longestExpiryMs)));
}

const intentForMs = String(30 * secondThoughtsMs);
const page = 1000;

/** Keys expire by the clock of Redis after twice the retention's age without use. Sweeps apply the retention itself. */
export async function createRedisDriver(
	options: RedisAddress & { readonly namespace: string; readonly retention: Retention; readonly now: () => number },
): Promise<Driver> {
	const { namespace, retention, now } = options;
	const connection = await connectRedis(options);
	const keys = keysOf(namespace);
	const expiry = expiryOf(retention);
	/** Texts whose stored bytes are damaged. */
	const distrusted = new Set<string>();

	/** Asks to keep a text that is stored, or to store these bytes. */
	const keepOf = ({ hash, about }: Entry, text?: Buffer): Command => {
		const call = callKey(about.toolCallId);
		const calls = about.toolCallId === undefined ? [] : [keys.call(call)];
		const names = [keys.text(hash), keys.about(hash), keys.ref(hash), keys.used, ...calls];
		const given = [hash, String(about.bytes), String(now()), expiry, call, writeAbout(about), String(about.archivedAt)];
		return ["EVAL", keep, String(names.length), ...names, ...given, ...(text ? [text] : [])];
	};
	/** Returns the entries whose bytes Redis lacks. */
	const writeOnce = async (entries: readonly Entry[], isGiven: (entry: Entry) => boolean): Promise<Entry[]> => {
		const given = new Set<string>();
		const commands = entries.map((entry) => {
			const isFirst = !given.has(entry.hash) && isGiven(entry);
			if (isFirst) given.add(entry.hash);
			return keepOf(entry, isFirst ? Buffer.concat([...entry.pieces()]) : undefined);
		});
		const replies = await connection.send(commands);
		if (replies.includes(isAmbiguous)) throw ambiguous();
		for (const hash of given) distrusted.delete(hash);
		return entries.filter((_, at) => replies[at] === isMissing);
	};

	return {
		location: connection.location,
		async write(entries) {
			const missing = await writeOnce(entries, ({ hash }) => distrusted.has(hash));
			if (missing.length > 0) await writeOnce(missing, () => true);
		},
		async hashesFrom(prefixes) {
			const isEarlier = (prefix: string) => prefix.length < hexDigitsOfRef;
			const keyOf = (prefix: string) => (isEarlier(prefix) ? keys.short(prefix) : keys.ref(prefix));
			const replies = await connection.send(prefixes.map((prefix) => ["GET", keyOf(prefix)]));
			const found = replies.flatMap((hash) => (hash === null ? [] : String(hash)));
			for (const [at, prefix] of prefixes.entries()) {
				// The key has expired, or this version archived the text.
				if (replies[at] === null && isEarlier(prefix)) found.push(...(await usedFrom(connection, keys, prefix)));
			}
			return [...new Set(found)];
		},
		async read(hash) {
			const [exists] = await connection.send([["EXISTS", keys.text(hash)]]);
			if (exists !== 1) return undefined;
			// The time of use comes first. A sweep in between then leaves the text alone.
			await connection.send([
				["ZADD", keys.used, String(now()), hash],
				["SET", keys.ref(hash), hash, "PX", expiry, "NX"],
				...[keys.used, keys.ref(hash), keys.about(hash), keys.text(hash)].map((name) => ["PEXPIRE", name, expiry]),
			]);
			return piecesOf(connection, keys.text(hash));
		},
		distrust: (hash) => rememberHash(distrusted, hash),
		async aboutsOf(hash) {
			const [fields] = await connection.send([["HGETALL", keys.about(hash)]]);
			const flat = textsOf(fields);
			return flat.flatMap((call, at) => (at % 2 === 0 ? (readAbout(flat[at + 1] ?? "", call) ?? []) : []));
		},
		async find(toolCallId) {
			const call = callKey(toolCallId);
			const [members] = await connection.send([["ZRANGE", keys.call(call), "0", "-1"]]);
			const hashes = textsOf(members);
			const exist = hashes.map((hash): Command => ["EXISTS", keys.text(hash)]);
			const replies = await connection.send([...exist, ...hashes.map((hash) => ["HGET", keys.about(hash), call])]);
			return hashes.flatMap((hash, index): Stored[] => {
				const about = readAbout(String(replies[hashes.length + index]), call);
				return replies[index] === 1 && about?.toolCallId === toolCallId ? [{ hash, about }] : [];
			});
		},
		async *hashes() {
			for await (const { texts } of holdingPages(connection, keys)) for (const { hash } of texts) yield hash;
		},
		holdings: (after) => holdingPages(connection, keys, after),
		async peek(hashes) {
			const [replies] = hashes.length === 0 ? [] : await connection.send([["MGET", ...hashes.map(keys.text)]]);
			return (Array.isArray(replies) ? replies : []).map((reply) => (Buffer.isBuffer(reply) ? reply : undefined));
		},
		async claimSweep() {
			const [claimed] = await connection.send([["SET", keys.sweepMarker, "1", "PX", String(safeForMs), "NX"]]);
			return claimed !== null;
		},
		sweep: (time) => sweepRedis(connection, keys, { retention, time }),
		async clear() {
			const count = (await holdingsIn(connection, keys)).length;
			for await (const names of scanKeys(connection, keys.all)) await connection.send([["DEL", ...names]]);
			distrusted.clear();
			return count;
		},
		close: connection.close,
	};
}

const isMissing = 0;
const isAmbiguous = -1;

/** Marks a text as used and adds the record of a call, in one command: a client spends more on fourteen than Redis on all of them. */
const keep = `
local text, about, ref, used, call = unpack(KEYS)
local hash, bytes, now, expiry, name, record, since, given = unpack(ARGV)
if not given and (redis.call('STRLEN', text) ~= tonumber(bytes) or redis.call('EXISTS', text) == 0) then return ${isMissing} end
local owner = redis.call('GET', ref)
if owner and owner ~= hash then return ${isAmbiguous} end
if given then redis.call('SET', text, given, 'PX', expiry) else redis.call('PEXPIRE', text, expiry) end
redis.call('ZADD', used, now, hash)
redis.call('SET', ref, hash, 'PX', expiry)
redis.call('HSETNX', about, name, record)
redis.call('PEXPIRE', used, expiry)
redis.call('PEXPIRE', about, expiry)
if call then
	redis.call('ZADD', call, 'NX', since, hash)
	redis.call('PEXPIRE', call, expiry)
end
return 1`;

/**
 * The keys of a namespace. The braces keep them on one node of a Redis Cluster.
 *
 * - `text:{hash}`: the bytes of a text;
 * - `about:{hash}`: a hash with the record of the text (JSON) for each tool call;
 * - `ref:{15 digits}`: the hash whose ref has these digits;
 * - `call:{call}`: a sorted set of the hashes of a tool call;
 * - `used`: a sorted set of all hashes by the time of their last use, in ms;
 * - `swept`: exists for an hour after an automatic sweep;
 * - `sweep-intent`: the intent of an automatic sweep that waits (JSON);
 * - `short:{8 digits}`: of older versions: the hash that a reference of 8 characters names.
 */
function keysOf(namespace: string) {
	const prefix = `palimpsest:{${namespace}}:`;
	return {
		all: `${prefix}*`,
		text: (hash: string) => `${prefix}text:${hash}`,
		about: (hash: string) => `${prefix}about:${hash}`,
		short: (digits: string) => `${prefix}short:${digits}`,
		ref: (hash: string) => `${prefix}ref:${hash.slice(0, hexDigitsOfRef)}`,
		call: (call: string) => `${prefix}call:${call}`,
		calls: `${prefix}call:*`,
		used: `${prefix}used`,
		sweepMarker: `${prefix}swept`,
		sweepIntent: `${prefix}sweep-intent`,
	};
}

type Keys = ReturnType<typeof keysOf>;

async function* piecesOf(connection: RedisConnection, key: string): AsyncGenerator<Buffer> {
	for (let start = 0; ; start += pieceBytes) {
		const [piece] = await connection.send([["GETRANGE", key, String(start), String(start + pieceBytes - 1)]]);
		if (!Buffer.isBuffer(piece) || piece.length === 0) return;
		yield piece;
		if (piece.length < pieceBytes) return;
	}
}

/** Lists keys in pages. A key that is written during the listing may be missing or come twice. */
async function* scanKeys(connection: RedisConnection, pattern: string): AsyncGenerator<readonly string[]> {
	let cursor = "0";
	do {
		const [reply] = await connection.send([["SCAN", cursor, "MATCH", pattern, "COUNT", String(page)]]);
		const [next, found] = Array.isArray(reply) ? reply : [];
		cursor = String(next ?? "0");
		const names = textsOf(found);
		if (names.length > 0) yield names;
	} while (cursor !== "0");
}

function* pagesOf<T>(items: readonly T[]): Generator<readonly T[]> {
	for (let start = 0; start < items.length; start += page) yield items.slice(start, start + page);
}

/** Redis itself compares the hashes, some at a time. */
async function usedFrom(connection: RedisConnection, keys: Keys, prefix: string): Promise<string[]> {
	const found: string[] = [];
	let cursor = "0";
	do {
		const [reply] = await connection.send([["ZSCAN", keys.used, cursor, "MATCH", `${prefix}*`, "COUNT", "10000"]]);
		const [next, members] = Array.isArray(reply) ? reply : [];
		cursor = String(next ?? "0");
		found.push(...textsOf(members).filter((_, at) => at % 2 === 0));
	} while (cursor !== "0");
	return found;
}

/** A page as one string, since replies to so many commands take much memory; before it, the place after which the next begins. */
const listPage = `
local from, used, hash = 0, ARGV[2], ARGV[3]
if used ~= '' then from = redis.call('ZCOUNT', KEYS[1], '(' .. used, '+inf') end
while true do
  local some = redis.call('ZREVRANGE', KEYS[1], from, from + ${page - 1}, 'WITHSCORES')
  if #some == 0 then return {'', ''} end
  local lines = {}
  for at = 1, #some, 2 do
    if used == '' or tonumber(some[at + 1]) < tonumber(used) or some[at] < hash then
      local bytes = redis.call('STRLEN', ARGV[1] .. some[at])
      if bytes > 0 or redis.call('EXISTS', ARGV[1] .. some[at]) == 1 then
        lines[#lines + 1] = some[at] .. ' ' .. some[at + 1] .. ' ' .. bytes
      end
    end
  end
  if #lines > 0 then return {some[#some] .. ' ' .. some[#some - 1], table.concat(lines, '\\n')} end
  from = from + ${page}
end`;

async function* holdingPages(
	connection: RedisConnection,
	keys: Keys,
	after?: ListingPlace,
): AsyncGenerator<HoldingPage> {
	let [used = "", hash = ""] = after ? [String(after.usedAt ?? ""), after.hash] : [];
	for (;;) {
		const [reply] = await connection.send([["EVAL", listPage, "1", keys.used, keys.text(""), used, hash]]);
		const [place, lines] = textsOf(reply);
		if (!lines) return;
		const texts = lines.split("\n").map((line): Holding => {
			const [name = "", usedAt, bytes] = line.split(" ");
			return { hash: name, usedAt: Number(usedAt), bytes: Number(bytes) };
		});
		yield { order: "use", texts };
		[used = "", hash = ""] = (place as string).split(" ");
	}
}

async function holdingsIn(connection: RedisConnection, keys: Keys): Promise<Holding[]> {
	const holdings: Holding[] = [];
	for await (const { texts } of holdingPages(connection, keys)) holdings.push(...texts);
	return holdings;
}

/** A script, since Redis may run commands of other processes between two of ours. */
const removeUnlessUsed = `
local used = redis.call('ZSCORE', KEYS[1], ARGV[1])
if used and tonumber(used) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
return 1`;

const forgetIfGone = "if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('ZREM', KEYS[1], ARGV[1]) end return 0";

async function sweepRedis(
	connection: RedisConnection,
	keys: Keys,
	{ retention, time }: { readonly retention: Retention; readonly time: SweepTime },
): Promise<Sweep> {
	const holdings = await holdingsIn(connection, keys);
	const [before] = await connection.send([["GET", keys.sweepIntent]]);
	const left = before === null ? undefined : readIntent(String(before));
	const { expired, intent } = decideSweep({ holdings, retention, time, intent: left });
	if (intent) await connection.send([["SET", keys.sweepIntent, JSON.stringify(intent), "PX", intentForMs]]);
	else if (before !== null) await connection.send([["DEL", keys.sweepIntent]]);
	const removed: Holding[] = [];
	for (const some of pagesOf(expired)) {
		const replies = await connection.send(
			some.map(({ hash, usedAt }) => {
				const names = [keys.used, keys.text(hash), keys.about(hash), keys.ref(hash)];
				return ["EVAL", removeUnlessUsed, String(names.length), ...names, hash, String(usedAt)];
			}),
		);
		removed.push(...some.filter((_, at) => replies[at] === 1));
	}
	// A set that stays in use never expires as a whole, such as the one of `call_0`, an id that many models use again.
	await tidy(connection, keys, [keys.used]);
	for await (const sets of scanKeys(connection, keys.calls)) await tidy(connection, keys, sets);
	return sweepOf(holdings, removed);
}

async function tidy(connection: RedisConnection, keys: Keys, sets: readonly string[]): Promise<void> {
	const members = await connection.send(sets.map((set): Command => ["ZRANGE", set, "0", "-1"]));
	const pairs = sets.flatMap((set, at) => textsOf(members[at]).map((hash) => ({ set, hash })));
	for (const some of pagesOf(pairs)) {
		const there = await connection.send(some.map(({ hash }): Command => ["EXISTS", keys.text(hash)]));
		const gone = some.filter((_, at) => there[at] === 0);
		await connection.send(gone.map(({ set, hash }) => ["EVAL", forgetIfGone, "2", set, keys.text(hash), hash]));
	}
}
