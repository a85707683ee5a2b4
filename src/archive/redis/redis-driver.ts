import { readAbout, writeAbout } from "../about-json.ts";
import type { Retention } from "../archive.ts";
import { callKey } from "../call-key.ts";
import { ambiguous } from "../create-archive.ts";
import type { About, Driver, Entry, Stored } from "../driver.ts";
import { safeForMs, secondThoughtsMs } from "../retention.ts";
import { type Command, connectRedis, type RedisAddress, type RedisConnection, type Reply } from "./connect-redis.ts";
import { redisKeys } from "./redis-keys.ts";
import { scanKeys } from "./scan-keys.ts";
import { holdingsInRedis, sweepRedis } from "./sweep-redis.ts";

const pieceBytes = 1 << 20;
const longestExpiryMs = 10 * 365 * 24 * 3_600_000;

/**
 * Stores in Redis, for several machines. What is not used for twice the retention's age expires there by itself, where no
 * sweep took it away before: Redis goes by a clock too, and takes no second look when that jumps.
 *
 * @throws PalimpsestError as `connectRedis` does.
 */
export async function createRedisDriver(
	options: RedisAddress & { readonly namespace: string; readonly retention: Retention; readonly now: () => number },
): Promise<Driver> {
	const { namespace, retention, now } = options;
	const connection = await connectRedis(options);
	const keys = redisKeys(namespace);
	const expiry = String(
		Math.ceil(Math.min(2 * Math.max(retention.maxAgeMs, safeForMs) + secondThoughtsMs, longestExpiryMs)),
	);
	const sent = new Set<string>();

	// The time of use first: a sweep that comes in between then leaves the text, or what follows finds it gone.
	const markUsed = (hash: string): Command[] => [
		["ZADD", keys.used, String(now()), hash],
		["PEXPIRE", keys.used, expiry],
		["SET", keys.ref(hash), hash, "PX", expiry, "NX"],
		["PEXPIRE", keys.ref(hash), expiry],
		["PEXPIRE", keys.about(hash), expiry],
		["PEXPIRE", keys.text(hash), expiry],
	];
	const describe = ({ hash, about }: Entry): Command[] => {
		const call = callKey(about.toolCallId);
		const named: Command[] = [
			["ZADD", keys.call(call), "NX", String(about.archivedAt), hash],
			["PEXPIRE", keys.call(call), expiry],
		];
		return [
			["HSETNX", keys.about(hash), call, writeAbout(about)],
			["PEXPIRE", keys.about(hash), expiry],
			...(about.toolCallId === undefined ? [] : named),
		];
	};
	const store = ({ hash, pieces }: Entry): Command[] => [
		["SET", keys.text(hash), Buffer.concat([...pieces()]), "PX", expiry],
		["SET", keys.ref(hash), hash, "PX", expiry, "NX"],
		["GET", keys.ref(hash)],
	];

	/** Answers with the entries whose text had gone since this process sent it. */
	const writeOnce = async (entries: readonly Entry[]): Promise<Entry[]> => {
		const commands: Command[] = [];
		const checks: ((replies: readonly Reply[]) => void)[] = [];
		const missing: Entry[] = [];
		const seen = new Set<string>();
		for (const entry of entries) {
			const { hash } = entry;
			const isKnown = sent.has(hash);
			if (!seen.has(hash)) {
				if (!isKnown) commands.push(...store(entry));
				const owner = commands.length - 1;
				commands.push(...markUsed(hash));
				const mark = commands.length - 1;
				checks.push((replies) => {
					if (!isKnown && String(replies[owner]) !== hash) throw ambiguous();
					if (replies[mark] !== 1) missing.push(entry);
				});
			}
			seen.add(hash);
			commands.push(...describe(entry));
		}
		const replies = await connection.send(commands);
		for (const check of checks) check(replies);
		for (const { hash } of entries) remember(sent, hash);
		return missing;
	};

	const aboutsOf = async (hash: string): Promise<About[]> => {
		const [values] = await connection.send([["HVALS", keys.about(hash)]]);
		return texts(values)
			.map(readAbout)
			.filter((about) => about !== undefined);
	};

	return {
		location: connection.location,
		async write(entries) {
			const missing = await writeOnce(entries);
			for (const { hash } of missing) sent.delete(hash);
			if (missing.length > 0) await writeOnce(missing);
		},
		async hashesFrom(prefix) {
			const [hash] = await connection.send([["GET", keys.ref(prefix)]]);
			return hash === null ? [] : [String(hash)];
		},
		async read(hash) {
			const [exists] = await connection.send([["EXISTS", keys.text(hash)]]);
			if (exists !== 1) return undefined;
			await connection.send(markUsed(hash));
			return piecesOf(connection, keys.text(hash));
		},
		distrust: (hash) => sent.delete(hash),
		aboutsOf,
		async find(toolCallId) {
			const call = callKey(toolCallId);
			const [members] = await connection.send([["ZRANGE", keys.call(call), "0", "-1"]]);
			const hashes = texts(members);
			const replies = await connection.send(
				hashes.flatMap((hash): Command[] => [
					["EXISTS", keys.text(hash)],
					["HGET", keys.about(hash), call],
				]),
			);
			return hashes.flatMap((hash, index): Stored[] => {
				const about = readAbout(String(replies[2 * index + 1]));
				return replies[2 * index] === 1 && about?.toolCallId === toolCallId ? [{ hash, about }] : [];
			});
		},
		async *hashes() {
			yield* (await holdingsInRedis(connection, keys)).map(({ hash }) => hash);
		},
		async holdings() {
			const all = await holdingsInRedis(connection, keys);
			const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
			return { originals: all.length, bytes, oldestUse: all[0]?.usedAt ?? null };
		},
		async claimSweep() {
			const [claimed] = await connection.send([["SET", keys.sweepMarker, "1", "PX", String(safeForMs), "NX"]]);
			return claimed !== null;
		},
		sweep: (time) => sweepRedis({ connection, keys, retention, time }),
		async clear() {
			const count = (await holdingsInRedis(connection, keys)).length;
			for await (const names of scanKeys(connection, keys.all)) await connection.send([["DEL", ...names]]);
			sent.clear();
			return count;
		},
		close: connection.close,
	};
}

const mostRemembered = 100_000;

function remember(hashes: Set<string>, hash: string): void {
	if (hashes.size >= mostRemembered) hashes.clear();
	hashes.add(hash);
}

function texts(reply: Reply | undefined): string[] {
	return Array.isArray(reply) ? reply.map(String) : [];
}

async function* piecesOf(connection: RedisConnection, key: string): AsyncGenerator<Buffer> {
	for (let start = 0; ; start += pieceBytes) {
		const [piece] = await connection.send([["GETRANGE", key, String(start), String(start + pieceBytes - 1)]]);
		if (!Buffer.isBuffer(piece) || piece.length === 0) return;
		yield piece;
		if (piece.length < pieceBytes) return;
	}
}
