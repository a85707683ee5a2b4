import { expect } from "vitest";
import { type ProxiedSession, playThroughProxy } from "./proxied-session.ts";

/** Of the first some accounts are checked, of the second all. */
export const boundModels = ["claude-opus-5-5", "claude-fable-5-2"] as const;

/** Plays a session and expects its right end without an error, with all valid thinking. Returns how much was edited. */
export async function expectRightSession(
	session: ProxiedSession,
): Promise<{ readonly edited: number; readonly hits: number }> {
	const { played, totals, provider, hits } = await playThroughProxy(session);
	expect(played.errors).toEqual([]);
	expect(played.isRight).toBe(true);
	expect(totals).toMatchObject({ blocksLost: 0, stripped: 0, blocksDropped: 0 });
	expect(totals.refused).toBeLessThanOrEqual(1);
	return { edited: provider.requests.filter(({ body }) => /\[masked |\[Observation masked/.test(body)).length, hits };
}

export type SessionScript = readonly [
	name: string,
	session: Omit<ProxiedSession, "script">,
	script: Partial<ProxiedSession["script"]>,
];

/** Sessions of 60 turns. */
export const sessionScripts: readonly SessionScript[] = [
	["one call a turn", {}, {}],
	["results that are cut", {}, { fileChars: 20_000 }],
	["parallel calls", {}, { toolTurns: 180, fileChars: 4_000, parallelCalls: 3 }],
	["parallel calls whose results are cut", {}, { parallelCalls: 4, fileChars: 20_000 }],
	["words of the user, and requests that count tokens", { player: { userEvery: 5, countsEvery: 3 } }, {}],
	["a system message in two forms", { player: { alternatesSystem: true, hasBillingHeader: true } }, {}],
	["redacted thinking", { thinking: { redactedEvery: 3 } }, {}],
	["no header that names the block", { thinking: { hasMismatchHeader: false } }, {}],
	["an older account", { thinking: { account: "older" } }, {}],
	["a gateway", { thinking: { isGateway: true } }, {}],
	[
		"forks",
		{
			player: {
				moves: [
					{ kind: "fork", at: 20, to: 20 },
					{ kind: "fork", at: 40, to: 25 },
				],
			},
		},
		{},
	],
	[
		"rewinds",
		{
			player: {
				moves: [
					{ kind: "rewind", at: 20, to: 15 },
					{ kind: "rewind", at: 45, to: 20 },
					{ kind: "rewind", at: 50, to: 49 },
				],
			},
		},
		{},
	],
	["a proxy that is started again and again", { restartsEvery: 7 }, {}],
	["two proxies in turns", { proxies: 2 }, {}],
	["two proxies in turns that are started again", { proxies: 2, restartsEvery: 9 }, { fileChars: 20_000 }],
];

export function sessionOf([, session, script]: SessionScript, model: string): ProxiedSession {
	const player = { model, ...session.player };
	return { ...session, player, script: { toolTurns: 60, fileChars: 9_000, ...script } };
}
