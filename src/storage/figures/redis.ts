import { randomUUID } from "node:crypto";
import { connectRedis } from "../archive/redis-connection.ts";
import { dayFileName } from "./day-file.ts";
import { type FigureLine, readLine } from "./line.ts";

export type RedisFigures = Awaited<ReturnType<typeof openRedisFigures>>;

const day = 24 * 3_600_000;

/** As those of files. */
const mostDays = 400;
const flushAfterMs = 1_000;
/** Lines that wait for Redis, and those of one command. */
const [mostWaiting, mostAtOnce] = [50_000, 500];
const page = 5_000;

/** Carried out once, also if its answer is lost and it is sent again. */
const append = `
if not redis.call('SET', KEYS[2], '1', 'NX', 'EX', 3600) then return 0 end
redis.call('RPUSH', KEYS[1], unpack(ARGV, 2))
redis.call('EXPIRE', KEYS[1], ARGV[1])
return 1`;

/**
 * The figures of all processes that have an archive in one Redis: a list of lines for each day, `palimpsest-figures:{NAMESPACE}:DAY`,
 * apart from the originals, so that clearing these leaves them. Nobody waits for a figure: lines go out once a second, and wait
 * while Redis is away. Throws PalimpsestError `archive_unavailable` without the client.
 */
export async function openRedisFigures({ url, namespace }: { readonly url: string; readonly namespace: string }) {
	const connection = await connectRedis({ url });
	const keyOf = (name: string) => `palimpsest-figures:{${namespace}}:${name}`;
	let waiting: { readonly key: string; readonly line: string }[] = [];
	let sending: { readonly id: string; readonly key: string; readonly lines: readonly string[] } | undefined;
	let underWay: Promise<void> | undefined;
	let timer: NodeJS.Timeout | undefined;

	const sendAll = async (): Promise<void> => {
		while (sending || waiting.length > 0) {
			if (!sending) {
				const key = (waiting[0] as (typeof waiting)[number]).key;
				const other = waiting.findIndex((one) => one.key !== key);
				const lines = waiting.splice(0, Math.min(other < 0 ? waiting.length : other, mostAtOnce));
				sending = { id: randomUUID(), key, lines: lines.map(({ line }) => line) };
			}
			const { id, key, lines } = sending;
			const keep = String((mostDays * day) / 1_000);
			await connection.send([["EVAL", append, "2", key, keyOf(`sent:${id}`), keep, ...lines]]);
			sending = undefined;
		}
	};
	const flush = (): Promise<void> => {
		clearTimeout(timer);
		timer = undefined;
		underWay ??= sendAll()
			.catch(later)
			.finally(() => {
				underWay = undefined;
			});
		return underWay;
	};
	const later = (): void => {
		timer ??= setTimeout(flush, flushAfterMs).unref();
	};

	return {
		/** Takes a line of a time, in ms since 1970. */
		write(at: number, line: string): void {
			waiting.push({ key: keyOf(dayFileName(at).slice(0, 10)), line });
			if (waiting.length > mostWaiting) waiting = waiting.slice(-mostWaiting);
			later();
		},
		/** Sends what waits, unless Redis is away. */
		flush,
		/** The lines of a period, the oldest day first. `onLeftOut` is called for each that cannot be read. */
		async *read({
			since,
			until = Date.now(),
			onLeftOut,
		}: {
			readonly since: number;
			readonly until?: number;
			readonly onLeftOut?: () => void;
		}): AsyncGenerator<FigureLine> {
			const first = Math.max(since, until - mostDays * day);
			for (let at = first; dayFileName(at) <= dayFileName(until); at += day) {
				const key = keyOf(dayFileName(at).slice(0, 10));
				for (let start = 0; ; start += page) {
					const [lines] = await connection.send([["LRANGE", key, String(start), String(start + page - 1)]]);
					const texts = Array.isArray(lines) ? lines.map(String) : [];
					for (const text of texts) {
						const line = readLine(text);
						if (!line) onLeftOut?.();
						else if (line.at >= since && line.at <= until) yield line;
					}
					if (texts.length < page) break;
				}
			}
		},
		async close(): Promise<void> {
			await flush();
			clearTimeout(timer);
			await connection.close();
		},
	};
}
