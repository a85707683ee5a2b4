import { describe, expect, it } from "vitest";
import { openArchive } from "../../src/archive/open.ts";
import type { ProxyOptions } from "../../src/proxy/server.ts";
import { claudePrices } from "../support/claude-models.ts";
const billAt = (requests: readonly { usage: { uncached: number; cacheRead: number; written: number; writtenForAnHour: number } }[], read: number) => requests.reduce((sum, { usage: u }) => sum + u.uncached + u.cacheRead * read + u.written * 1.25, 0);
import { scratchFolder } from "../support/scratch-folder.ts";
import { type PlayerOptions, playSession } from "../support/session-player.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";
import type { StandInThinking } from "../support/stand-in-thinking.ts";
import { startProxyTo } from "./upstream.ts";

interface Played {
	readonly turns: number;
	readonly chars: number;
	readonly model?: string;
	readonly thinking?: Partial<StandInThinking>;
	readonly parallel?: number;
	readonly player?: Partial<PlayerOptions>;
	readonly proxy?: Partial<ProxyOptions>;
}

async function play({ turns, chars, model = "claude-opus-4-8", thinking, parallel, player, proxy: options }: Played) {
	const script = { toolTurns: turns, fileChars: chars, ...(parallel ? { parallelCalls: parallel } : {}) };
	const strict = { account: "newer", ...thinking } as const;
	const provider = await startStandInProvider({ script, thinking: strict, prices: claudePrices });
	const folder = await scratchFolder();
	const archive = await openArchive({ where: `${folder}/archive` });
	const proxy = await startProxyTo(provider.origin, { archive, ...options });
	const played = await playSession({
		baseUrl: proxy.url,
		script,
		model,
		...player,
		beforeRequest: async (request) => {
			await proxy.settled();
			await player?.beforeRequest?.(request);
		},
	});
	await provider.close();
	return { played, totals: provider.totals(), proxy, provider };
}

describe("a strict session", () => {
	it.each([20_000, 9_000])("of 40 turns with results of %d characters ends right", async (chars) => {
		const raw = await (async () => {
			const script = { toolTurns: 40, fileChars: chars };
			const provider = await startStandInProvider({ script, thinking: { account: "newer" }, prices: claudePrices });
			await playSession({ baseUrl: provider.origin, script, model: "claude-opus-4-8" });
			await provider.close();
			return { ...provider.totals(), at: (read: number) => billAt(provider.requests, read) };
		})();
		const { played, totals, proxy, provider } = await play({ turns: 40, chars });
		console.log([0.1, 0.05, 0.025].map((read) => (billAt(provider.requests, read) / raw.at(read)).toFixed(3)), chars, "billed", totals.billed / raw.billed, "sent", totals.sent / raw.sent, JSON.stringify({ ...totals }), JSON.stringify(played.errors), JSON.stringify(proxy.totals()));
		expect(played.isRight).toBe(true);
		expect(played.errors).toEqual([]);
	});
});
