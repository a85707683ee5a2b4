import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import path from "node:path";
import type { Policy } from "../../engine/policy/schema.ts";
import { PalimpsestError } from "../../errors.ts";
import { type ArchiveLocation, archivePlace } from "../../storage/archive/open.ts";
import { expiryOf } from "../../storage/archive/redis.ts";
import { type Command, connectRedis, type Reply, textsOf } from "../../storage/archive/redis-connection.ts";
import { mostBranches } from "./branch.ts";
import { createHeldLines } from "./held-lines.ts";
import type { Journal, Tail, Wait } from "./journal.ts";
import { memoryFolderFor } from "./memory.ts";

/** The longest that the start of a proxy waits for the connection. */
const connectingMs = 1_000;
/** Redis carries out a note in this share of the time that is left, or never: its answer then comes in the rest. */
const shareToCarryOut = 0.8;

/** Of the clock of Redis. */
const mostEstimates = 8;
/** A note that came too late is sent again. */
const mostTries = 3;
/** How often the time of a wait is looked at, in ms, and what counts where this thread came to that late. */
const tickMs = 5;
const busyTickMs = 2;

const day = 24 * 3_600_000;

/** Where an archive in Redis has the states of a fleet of proxies. `undefined` for other archives. */
export async function journalFor(location: ArchiveLocation, { archive }: Policy): Promise<Journal | undefined> {
	const { where: url, namespace } = location;
	if (archivePlace(url) !== "redis") return undefined;
	const maxAgeMs = archive.max_age_days * day;
	return openRedisJournal({ url, namespace, maxAgeMs, folder: memoryFolderFor(location) });
}

/**
 * A list of lines for each conversation in Redis, so that any process sends the same. A place is a number of lines. Keys expire
 * as the archive's do. While Redis is away, no request waits for it but the one that notices. What Redis has lost is written
 * again by a process that knows it. Each note is also published, so that a process knows it when Redis goes away.
 *
 * - `notes:{conversation}`: the list;
 * - `called:{conversation}`: the time of its last request, in ms;
 * - `decided:{result}`: the conversation that has decided on a result last;
 * - `branches:{conversation}`: a hash of its last branches, each with its messages, the time in µs, and its text;
 * - `enforced:{account}`: an account that checks reasoning, named under `key`;
 * - `appended`: a channel: the conversation, the place before a note, the SHA-1 of the line there, and the lines.
 */
export async function openRedisJournal(what: {
	readonly url: string;
	readonly namespace: string;
	readonly maxAgeMs: number;
	/** Where earlier versions kept the notes. */
	readonly folder?: string | undefined;
}): Promise<Journal> {
	const { folder } = what;
	let told = () => {};
	const connection = await connectRedis({ ...what, onReady: () => told() });
	const expiry = expiryOf(what);
	// The braces keep the keys on one node of a Redis Cluster.
	const prefix = `palimpsest:states:{${what.namespace}}:`;
	const keyOf = (conversation: string) => `${prefix}notes:${conversation}`;
	const calledKey = (conversation: string) => `${prefix}called:${conversation}`;
	const branchesKey = (conversation: string) => `${prefix}branches:${conversation}`;
	const channel = `${prefix}appended`;
	const held = createHeldLines();
	let isAway = false;
	/** The clock of Redis less ours, in ms: the last estimates, each too low by the time that its answer waited for this thread. */
	let estimates: readonly number[] = [];

	/** One round trip. Throws if that takes longer than the request waits. */
	const ask = async (commands: readonly Command[], wait: Wait): Promise<readonly Reply[]> => {
		if (isAway || wait.leftMs <= 0 || !connection.isReady()) throw notThere(connection.location);
		const asked = connection.send(commands);
		const replies = await inTimeOf(asked, wait);
		if (replies) return replies;
		isAway = true;
		asked
			.catch(() => {})
			.then(() => {
				isAway = false;
				if (connection.isReady()) told();
			});
		throw notThere(connection.location);
	};
	const lineAt = (after: number) => String(Math.max(0, after - 1));

	/** Of lines that begin with the last known one. */
	const tailOf = async (
		conversation: string,
		after: number,
		read: Pick<Tail, "lastCall"> & { lines: string[] },
		wait: Wait,
	) => {
		const { lastCall } = read;
		const known = held.of(conversation);
		const isKnown = after > 0 && known.length >= after;
		const lines = read.lines.slice(after > 0 ? 1 : 0);
		const isLost = after > 0 && (read.lines.length === 0 || (isKnown && read.lines[0] !== known[after - 1]));
		if (isLost) return { ...(await writeAgain(conversation, held.allOf(conversation), wait)), lastCall, isWhole: true };
		if (after === 0 || isKnown) held.add(conversation, after, lines);
		return { ...placed(lines, after), lastCall };
	};

	/** Puts back what Redis has lost, before what others have written since. */
	const writeAgain = async (
		conversation: string,
		known: readonly string[],
		wait: Wait,
	): Promise<Omit<Tail, "lastCall">> => {
		const [reply] = await ask([["LRANGE", keyOf(conversation), "0", "-1"]], wait);
		const there = textsOf(reply);
		const isThere = new Set(there);
		if (known.every((line) => isThere.has(line))) {
			held.add(conversation, 0, there);
			return placed(there, 0);
		}
		const isKnown = new Set(known);
		const all = [...known, ...there.filter((line) => !isKnown.has(line))];
		const length = String(there.length);
		const [written] = await ask([["EVAL", rewrite, "1", keyOf(conversation), length, expiry, ...all]], wait);
		if (written !== 1) throw notThere(connection.location);
		held.add(conversation, 0, all);
		return placed(all, 0);
	};

	const readEarlier = async (conversation: string, wait: Wait): Promise<Tail | undefined> => {
		const file = path.join(folder ?? "", `${conversation}.jsonl`);
		const about = folder === undefined ? undefined : await stat(file).catch(() => undefined);
		if (!about) return undefined;
		const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
		return { ...(await writeAgain(conversation, lines, wait)), lastCall: about.mtimeMs };
	};

	let key: string | undefined;
	const accountKey = async (nameBy: (key: string) => string, wait: Wait): Promise<string> => {
		if (key === undefined) {
			const made = randomBytes(32).toString("hex");
			const [, known] = await ask(
				[
					["SET", `${prefix}key`, made, "NX"],
					["GET", `${prefix}key`],
				],
				wait,
			);
			key = String(known);
		}
		return `${prefix}enforced:${nameBy(key)}`;
	};

	const readNow = async (conversation: string, after: number, wait: Wait): Promise<Tail> => {
		const commands: Command[] = [
			["LRANGE", keyOf(conversation), lineAt(after), "-1"],
			["GET", calledKey(conversation)],
			["TIME"],
		];
		const [list, called, time] = await ask(commands, wait);
		estimates = [aheadBy(time), ...estimates.slice(0, mostEstimates - 1)];
		const lines = textsOf(list);
		const earlier = after === 0 && lines.length === 0 ? await readEarlier(conversation, wait) : undefined;
		const lastCall = called === null ? undefined : Number(called);
		return earlier ?? (await tailOf(conversation, after, { lines, lastCall }, wait));
	};

	await connection.connect(connectingMs);
	connection.subscribe(channel, held.tell);
	return {
		read: (conversation, after, wait) =>
			readNow(conversation, after, wait).catch((error: unknown) => {
				const known = held.allOf(conversation);
				if (known.length > after) return { ...placed(known.slice(after), after), lastCall: undefined };
				throw error;
			}),
		async append(conversation, { lines, after, results }, wait) {
			const keys = [keyOf(conversation), ...results.map((result) => `${prefix}decided:${result}`)];
			for (let tries = 1; tries <= mostTries; tries += 1) {
				if (estimates.length === 0) estimates = [aheadBy((await ask([["TIME"]], wait))[0])];
				const until = performance.now() + shareToCarryOut * wait.leftMs + Math.max(...estimates);
				const given = [String(Math.floor(until)), expiry, lineAt(after), conversation, channel, ...lines];
				const [reply] = await ask([["EVAL", append, String(keys.length), ...keys, ...given]], wait);
				if (Array.isArray(reply))
					return tailOf(conversation, after, { lines: textsOf(reply), lastCall: undefined }, wait);
				// It came too late, since this thread was busy: nothing is carried out.
				estimates = [];
			}
			throw notThere(connection.location);
		},
		touch(conversation, at) {
			if (isAway || !connection.isReady()) return;
			const called: Command = ["SET", calledKey(conversation), String(at), "PX", expiry];
			connection.send([called, ["PEXPIRE", keyOf(conversation), expiry]]).catch(() => {});
		},
		async find(results, wait) {
			const [replies] = await ask([["MGET", ...results.map((result) => `${prefix}decided:${result}`)]], wait);
			return [
				...new Set((Array.isArray(replies) ? replies : []).flatMap((one) => (one === null ? [] : [String(one)]))),
			];
		},
		onBack: (listener) => {
			told = listener;
		},
		branches: {
			async read(conversation, wait) {
				const [reply] = await ask([["HGETALL", branchesKey(conversation)]], wait);
				const fields = textsOf(reply);
				return fields
					.flatMap((id, at) => {
						const [, messages, told, text] = (at % 2 === 0 && toldValue.exec(fields[at + 1] as string)) || [];
						return text === undefined ? [] : [{ id, messages: Number(messages), text, told: Number(told) }];
					})
					.toSorted((one, other) => other.told - one.told);
			},
			async tell(conversation, { id, messages, text }, wait) {
				const given = [id, String(messages), text, expiry, String(mostBranches)];
				await ask([["EVAL", tell, "1", branchesKey(conversation), ...given]], wait);
			},
		},
		accounts: {
			async has(nameBy, wait) {
				const [is] = await ask([["EXISTS", await accountKey(nameBy, wait)]], wait);
				return is === 1;
			},
			async add(nameBy, wait) {
				await ask([["SET", await accountKey(nameBy, wait), "1", "PX", expiry]], wait);
			},
		},
		close: connection.close,
	};
}

/** A note that comes late is not carried out: its request was sent without it. A user of Redis may lack the right to publish. */
const append = `
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 > tonumber(ARGV[1]) then return 0 end
local before = redis.call('LLEN', KEYS[1])
local last = before > 0 and redis.sha1hex(redis.call('LINDEX', KEYS[1], -1)) or ''
for at = 6, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
for at = 2, #KEYS do redis.call('SET', KEYS[at], ARGV[4], 'PX', ARGV[2]) end
redis.pcall('PUBLISH', ARGV[5], table.concat({ARGV[4], before, last, unpack(ARGV, 6)}, '\\n'))
return redis.call('LRANGE', KEYS[1], ARGV[3], -1)`;

const toldValue = /^(\d+) (\d+) (.*)$/s;

/** A branch that has gone on meanwhile stays. The one that was told longest ago goes. */
const tell = `
local before = redis.call('HGET', KEYS[1], ARGV[1])
if before and tonumber(string.match(before, '^%d+')) > tonumber(ARGV[2]) then return 0 end
local time = redis.call('TIME')
local told = time[1] .. string.format('%06d', time[2])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. told .. ' ' .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
local all, oldest, at = redis.call('HGETALL', KEYS[1]), nil, nil
if #all <= 2 * tonumber(ARGV[5]) then return 1 end
for one = 1, #all, 2 do
	local its = tonumber(string.match(all[one + 1], '^%d+ (%d+)'))
	if not at or its < at then oldest, at = all[one], its end
end
return redis.call('HDEL', KEYS[1], oldest)`;

const rewrite = `
if redis.call('LLEN', KEYS[1]) ~= tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
for at = 3, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`;

/** Milliseconds, at the moment when the answer has come. */
function aheadBy(time: Reply | undefined): number {
	const [seconds = 0, micros = 0] = textsOf(time).map(Number);
	return seconds * 1_000 + micros / 1_000 - performance.now();
}

function placed(lines: readonly string[], after: number): Omit<Tail, "lastCall"> {
	return { lines: lines.map((text, index) => ({ text, place: after + index + 1 })), end: after + lines.length };
}

/**
 * `undefined` if it takes longer than the time that is left, which it takes from that. The time for which this thread was busy, with
 * other requests, does not count: Redis had no part in it.
 */
function inTimeOf<T>(work: Promise<T>, wait: Wait): Promise<T | undefined> {
	return new Promise((resolve, reject) => {
		let since = performance.now();
		const tick = () => {
			const now = performance.now();
			const passed = now - since;
			wait.leftMs -= passed < 2 * tickMs ? passed : busyTickMs;
			since = now;
		};
		const look = () => {
			tick();
			if (wait.leftMs > 0) timer = setTimeout(look, Math.min(tickMs, wait.leftMs));
			else setImmediate(() => resolve(undefined));
		};
		let timer = setTimeout(look, Math.min(tickMs, wait.leftMs));
		work.then(resolve, reject).finally(() => {
			clearTimeout(timer);
			tick();
		});
	});
}

function notThere(location: string): PalimpsestError {
	return new PalimpsestError("archive_unavailable", `The states in ${location} cannot be read or written now.`);
}
