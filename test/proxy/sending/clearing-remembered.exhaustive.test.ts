import { describe, expect, it } from "vitest";
import { createRandom, pick } from "../../bench/random.ts";
import { blocksOf, listOf } from "../../support/bound-prefix.ts";
import { applyContextManagement } from "../../support/context-editing.ts";
import { policyOf } from "../../support/policy-of.ts";
import { type ProxiedSession, playThroughProxy } from "../../support/proxied-session.ts";
import type { PlayerOptions } from "../../support/session-player.ts";
import type { StandInProvider } from "../../support/stand-in-provider.ts";

const policy = policyOf({ preset: "balanced", mask: { by: "provider" } });
const script = { toolTurns: 40, fileChars: 9_000 };
const strict = { account: "newer", tokens: 50 } as const;
const proxied = { script, player: { model: "claude-opus-5-5" }, thinking: strict, proxy: { policy } };
/** All that the host saw was right, and nothing was lost. */
const isClean = { errors: [], repairs: 0, isRight: true };
const hasAllReasoning = { blocksDropped: 0, blocksLost: 0, blocksGone: 0, stripped: 0 };

/** Throws where a result that the model was once shown cleared is shown again. Returns how many results were cleared. */
function checkCleared({ requests }: Pick<StandInProvider, "requests">): number {
	const cleared = new Set<unknown>();
	for (const { body } of requests) {
		const shown = applyContextManagement(JSON.parse(body))?.body ?? {};
		for (const { type, tool_use_id: id, content } of listOf(shown.messages).flatMap((one) => blocksOf(one.content))) {
			if (type !== "tool_result") continue;
			if (content === "[cleared]") cleared.add(id);
			else expect(cleared).not.toContain(id);
		}
	}
	return cleared.size;
}

describe("the remembered clearing", () => {
	const moves = [
		{ kind: "fork", at: 20, to: 12 },
		{ kind: "rewind", at: 34, to: 26 },
	] as const;
	const plain = { contextManagement: null, betas: ["interleaved-thinking-2025-05-14"] };
	const sessions: [string, Partial<ProxiedSession>, Partial<PlayerOptions>][] = [
		["a proxy that starts again before each third request", { restartsEvery: 3 }, {}],
		["two proxies on one memory", { proxies: 2 }, {}],
		["a fork and a rewind", {}, { moves }],
		["two proxies, a fork and a rewind", { proxies: 2, restartsEvery: 7 }, { moves }],
		["requests that count tokens", {}, { countsEvery: 3 }],
		["a caller that manages no context itself", {}, plain],
	];
	it.each(sessions)("is sent again, and no reasoning is lost: %s", async (_, how, player) => {
		const session = { ...proxied, ...how, player: { ...proxied.player, ...player } };
		const { played, totals, provider } = await playThroughProxy(session);
		expect(played).toMatchObject(isClean);
		expect(totals).toMatchObject({ refused: 0, ...hasAllReasoning });
		expect(totals.clearings).toBeGreaterThan(10);
		expect(checkCleared(provider)).toBeGreaterThan(5);
	});

	it.each(["archive", "memory", "planner"] as const)("survives a fault of the %s", async (kind) => {
		const fault = { kind, request: 20 };
		const { played, totals, hits, provider } = await playThroughProxy({ ...proxied, fault, proxies: 1 });
		expect(hits).toBeGreaterThan(0);
		expect(played).toMatchObject(isClean);
		expect(totals).toMatchObject({ refused: 0, ...hasAllReasoning });
		expect(checkCleared(provider)).toBeGreaterThan(5);
	});

	it.each(Array.from({ length: 8 }, (_, seed) => seed))("holds in a session of random turns: %d", async (seed) => {
		const random = createRandom(seed + 1);
		const one = <T>(...items: readonly T[]): T => pick(random, items);
		const fileChars = one(5_000, 9_000, 20_000);
		const session = {
			...proxied,
			script: { toolTurns: 40, fileChars, parallelCalls: one(1, 1, 3) },
			proxies: one(1, 2),
			restartsEvery: one(4, 9, 1_000),
			player: {
				model: one("claude-opus-5-5", "claude-fable-5-2", "claude-sonnet-4-5"),
				userEvery: one(5, 100),
				countsEvery: one(4, 100),
				alternatesSystem: one(true, false),
				moves: [
					{ kind: one("fork", "rewind"), at: one(12, 20), to: one(6, 11) },
					{ kind: "rewind", at: one(25, 30), to: one(13, 20) },
				] as const,
			},
		};
		const { played, totals, provider } = await playThroughProxy(session);
		expect(played).toMatchObject(isClean);
		expect(totals).toMatchObject({ refused: 0, ...hasAllReasoning });
		expect(checkCleared(provider)).toBeGreaterThan(0);
	});
});
