import { once, setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { type LoadClient, messageOf, openLoadClient } from "./load-client.ts";
import { processorSeconds, startServer } from "./load-run.ts";
import { atMost, progress, type Section, short } from "./section.ts";
import { quantile } from "./statistics.ts";

const sessions = 400;
/** Of the server's processor time, which is 9 s of two processors: a busy machine gives it less in the same time. */
const seconds = 18;

/** What sessions got that want more than the server can do. */
interface Crowded {
	/** Calls of each session that were answered, in rising order. */
	readonly counts: readonly number[];
	/** The waits in ms that refused calls were told. */
	readonly waits: readonly number[];
}

/** How fair a server is to very many sessions. With `BEFORE`, also that build. */
export async function hostileServe(): Promise<Pick<Section, "tables" | "targets">> {
	const before = process.env.BEFORE;
	const builds = [["this build", undefined], ...(before === undefined ? [] : [["the build before", before] as const])];
	const all: (readonly [string, Crowded])[] = [];
	for (const [name, build] of builds as (readonly [string, string | undefined])[]) {
		progress(`hostile: ${sessions} sessions, ${name}`);
		all.push([name, await crowd(build)]);
	}
	const [now] = all.map(([, crowded]) => crowded) as [Crowded];
	return {
		tables: [
			{
				caption: `${sessions} sessions for ${seconds} s of the processor, each with one call after the other`,
				columns: ["server", "calls answered", "sessions without an answer", "median", "best", "different waits"],
				rows: all.map(([name, { counts, waits }]) => [
					name,
					short(counts.reduce((sum, count) => sum + count, 0)),
					String(unanswered(counts)),
					short(quantile(counts, 0.5)),
					String(counts.at(-1)),
					`${new Set(waits).size} of ${waits.length}`,
				]),
			},
		],
		targets: [
			atMost(
				`${sessions} sessions for ${seconds} s: sessions without an answer`,
				0,
				unanswered(now.counts),
				"sessions",
			),
			atMost(
				`${sessions} sessions for ${seconds} s: calls of the best by those of the median`,
				3,
				(now.counts.at(-1) ?? 0) / quantile(now.counts, 0.5),
			),
		],
	};
}

const unanswered = (counts: readonly number[]) => counts.filter((count) => count === 0).length;

async function crowd(build: string | undefined): Promise<Crowded> {
	const server = await startServer("palimpsest", build);
	const clients = await Promise.all(Array.from({ length: sessions }, () => openLoadClient(server.url)));
	const waits: number[] = [];
	await clients[0]?.post(call);
	const end = new AbortController();
	setMaxListeners(0, end.signal);
	const spent = () => processorSeconds(server.pid) ?? performance.now() / 1_000;
	const began = spent();
	const watch = setInterval(() => {
		if (spent() - began >= seconds) end.abort();
	}, 100);
	const counts = await Promise.all(clients.map((client) => callsUntil(client, end.signal, waits)));
	clearInterval(watch);
	for (const client of clients) client.close();
	await server.end();
	return { counts: counts.sort((a, b) => a - b), waits };
}

async function callsUntil(client: LoadClient, end: AbortSignal, waits: number[]): Promise<number> {
	const ended = once(end, "abort");
	let answered = 0;
	while (!end.aborted) {
		const response = await Promise.race([client.post(call), ended]).catch(() => undefined);
		if (response === undefined || !("body" in response)) break;
		const [, told] = /"palimpsest\/retry_after_ms":(\d+)/.exec(response.body.toString()) ?? [];
		if (told === undefined) {
			answered += 1;
			continue;
		}
		waits.push(Number(told));
		await pause(Number(told), undefined, { signal: end }).catch(() => undefined);
	}
	return answered;
}

/** Large enough for a thread. */
const messages = Array.from({ length: 24 }, (_, index) => [
	{ role: "user", content: `Read file ${index}.` },
	{
		role: "assistant",
		content: null,
		tool_calls: [{ id: `call_${index}`, type: "function", function: { name: "read", arguments: "{}" } }],
	},
	{ role: "tool", tool_call_id: `call_${index}`, content: `Line ${index} of a file. `.repeat(200) },
]).flat();
const call = messageOf("tools/call", { name: "mask_conversation", arguments: { messages } });
