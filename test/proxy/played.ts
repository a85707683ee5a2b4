import type { ServerResponse } from "node:http";
import type { LogEvent } from "../../src/log.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import type { FigureLine } from "../../src/storage/figures/line.ts";
import { readFigures } from "../../src/storage/figures/store.ts";
import { policyOf } from "../support/policy-of.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { requestOf, type SessionApi, type Turn, textsIn } from "./sessions.ts";
import { type ProxyOptions, type Received, type Sent, send, sendOwn, startProxyTo, startUpstream } from "./upstream.ts";

export type RunningProxy = Awaited<ReturnType<typeof startProxyTo>>;

/** Masks all but the last two results, so that a short session shows what `balanced` does in a long one. */
export const early = policyOf({
	preset: "balanced",
	mask: { window_turns: 2, selection: "age", cadence: "every_turn" },
});

export async function memoryArchive(): Promise<Archive> {
	return (await openArchive({ where: "memory" })) as Archive;
}

/** A provider, an archive and a clock. Each proxy that is started knows what the others have decided. */
export async function startPlayed(
	options: Partial<ProxyOptions> = {},
	answer?: (received: Received, response: ServerResponse) => void,
) {
	const upstream = await startUpstream(answer);
	const archive = options.archive ?? (await memoryArchive());
	const memoryFolder = options.memoryFolder ?? (await scratchFolder());
	const events: LogEvent[] = [];
	let time = Date.UTC(2026, 0, 1);
	const shared = { log: (event: LogEvent) => void events.push(event), now: () => time, ...options };
	const bodies = () => upstream.received.map(({ body }) => body.toString());
	return {
		upstream,
		archive,
		memoryFolder,
		events,
		faults: () => events.flatMap(({ data }) => (data.fault === undefined ? [] : [data.fault])),
		wait(ms: number) {
			time += ms;
		},
		start: (more: Partial<ProxyOptions> = {}) =>
			startProxyTo(upstream.url, { ...shared, archive, memoryFolder, ...more }),
		bodies,
		lastBody: () => bodies().at(-1) as string,
		lastTexts: () => textsIn(JSON.parse(bodies().at(-1) as string)),
	};
}

/** Sends one request, and waits for what is planned on it. */
export async function sendSettled(proxy: RunningProxy, request: Sent) {
	const got = await send(proxy.url, request);
	await proxy.settled();
	return got;
}

/** The requests of a session after `from` turns to all of them, each once the one before it is planned on. */
export async function play(
	proxy: RunningProxy,
	turns: readonly Turn[],
	{ api = "anthropic" as SessionApi, from = 1 } = {},
) {
	for (let count = from; count <= turns.length; count += 1) {
		await sendSettled(proxy, requestOf(api, turns.slice(0, count)));
	}
}

export async function statusOf({ url }: { readonly url: string }) {
	return JSON.parse((await sendOwn(url, { path: "/palimpsest/status" })).body.toString());
}

/** The lines of a kind among the figures in a folder. */
export async function linesIn<Kind extends FigureLine["kind"]>(folder: string, kind: Kind) {
	const lines: FigureLine[] = [];
	for await (const line of readFigures({ since: 0, folder })) lines.push(line);
	return lines.filter((line): line is Extract<FigureLine, { readonly kind: Kind }> => line.kind === kind);
}

/** Facts of an edited request of one conversation, without results and parts. */
export const plainFacts = {
	conversation: "one",
	start: "start",
	why: "edited",
	isFrozen: false,
	isCold: false,
	isResumed: false,
	results: [],
	reasoningLeftOut: 0,
	parts: () => ({ unedited: [], sent: [] }),
	prompt: {
		at: 0,
		idle: undefined,
		head: () => ({ tools: [], system: "", systemChars: 0 }),
		settings: () => ({}),
		roleOf: () => undefined,
		keepsHead: () => true,
		called: () => new Set<string>(),
		tokensPerToolChar: () => 0,
		beginsTurn: () => false,
	},
} as const;

/** Opened and closed by a test. */
export function createGate() {
	let open = () => {};
	const isOpen = new Promise<void>((resolve) => {
		open = resolve;
	});
	return { isOpen, open: () => open() };
}
