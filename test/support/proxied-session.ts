import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { PalimpsestError } from "../../src/errors.ts";
import { planNext } from "../../src/proxy/sending/plan.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { type ProxyOptions, startProxyTo } from "../proxy/upstream.ts";
import { claudePrices } from "./claude-models.ts";
import { scratchFolder } from "./scratch-folder.ts";
import type { SessionScript } from "./scripted-session.ts";
import { type PlayerOptions, playSession } from "./session-player.ts";
import { startStandInProvider } from "./stand-in-provider.ts";
import type { StandInThinking } from "./stand-in-thinking.ts";

export type SessionFault = "archive" | "memory" | "planner";

export interface ProxiedSession {
	readonly script: SessionScript;
	readonly player?: Partial<PlayerOptions>;
	readonly thinking?: Partial<StandInThinking>;
	readonly proxy?: Partial<ProxyOptions>;
	/** Proxies on one folder that take the requests in turns; one unless given. */
	readonly proxies?: number;
	/** Before every so many-th request, the proxy is started again. */
	readonly restartsEvery?: number;
	/** What fails while the request of this number is sent, and nothing after it. */
	readonly fault?: { readonly kind: SessionFault; readonly request: number };
}

/** Plays a session through the proxy to a stand-in that checks thinking. */
export async function playThroughProxy(session: ProxiedSession) {
	const { script, player, thinking, proxies = 1, restartsEvery, fault } = session;
	const provider = await startStandInProvider({
		script,
		thinking: { account: "newer", ...thinking },
		prices: claudePrices,
	});
	const folder = `${await scratchFolder()}/archive`;
	const archive = (await openArchive({ where: folder })) as Archive;
	const faults = { archive: false, planner: false, hits: 0 };
	const failing: Archive = {
		...archive,
		put: async (...given) => {
			if (!faults.archive) return archive.put(...given);
			faults.hits += 1;
			throw new PalimpsestError("archive_unavailable", "The archive is away.");
		},
	};
	const planner: typeof planNext = async (planning) => {
		if (!faults.planner) return planNext(planning);
		faults.hits += 1;
		throw new Error("A plan fails.");
	};
	const start = () =>
		startProxyTo(provider.origin, { archive: failing, engine: { worked: () => 0, planner }, ...session.proxy });
	const started = await Promise.all(Array.from({ length: proxies }, start));
	let number = 0;
	const memory = unwritable(`${folder}/default.conversations`);
	const played = await playSession({
		baseUrl: () => (started[number % started.length] as (typeof started)[number]).url,
		script,
		...player,
		beforeRequest: async (request) => {
			number = request;
			for (const proxy of started) await proxy.settled();
			await memory.end();
			if (restartsEvery !== undefined && request % restartsEvery === 0) {
				const place = request % started.length;
				await started[place]?.close();
				started[place] = await start();
			}
			const isNow = fault?.request === request;
			faults.archive = isNow && fault.kind === "archive";
			faults.planner = isNow && fault.kind === "planner";
			if (isNow && fault.kind === "memory") faults.hits += await memory.begin();
		},
	});
	await provider.close();
	return { played, totals: provider.totals(), provider, hits: faults.hits };
}

/** Puts folders in the place of the files, so that nobody can write to them, not even a superuser. */
function unwritable(folder: string) {
	let moved: string[] = [];
	return {
		async begin(): Promise<number> {
			moved = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".jsonl"));
			for (const name of moved) {
				await rename(`${folder}/${name}`, `${folder}/${name}.away`);
				await mkdir(`${folder}/${name}`);
			}
			return moved.length;
		},
		async end(): Promise<void> {
			for (const name of moved.splice(0)) {
				await rm(`${folder}/${name}`, { recursive: true });
				await rename(`${folder}/${name}.away`, `${folder}/${name}`);
			}
		},
	};
}
