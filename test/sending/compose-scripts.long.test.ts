import { afterAll, describe, expect, it } from "vitest";
import { type ProxiedSession, playThroughProxy, type SessionFault } from "../support/proxied-session.ts";

const models = ["claude-opus-5-5", "claude-fable-5-2"];
const seen = { edited: 0, hits: 0 };

async function expectRight(session: ProxiedSession): Promise<void> {
	const { played, totals, provider, hits } = await playThroughProxy(session);
	expect(played.errors).toEqual([]);
	expect(played.isRight).toBe(true);
	expect(totals).toMatchObject({ blocksLost: 0, stripped: 0, blocksDropped: 0 });
	expect(totals.refused).toBeLessThanOrEqual(1);
	seen.edited += provider.requests.filter(({ body }) => /\[masked |\[Observation masked/.test(body)).length;
	seen.hits += hits;
}

const scripts: readonly (readonly [string, Omit<ProxiedSession, "script">, Partial<ProxiedSession["script"]>])[] = [
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

describe.each(models)("a session of 60 turns with %s keeps all its valid thinking", (model) => {
	it.each(scripts)("with %s", async (_, session, script) => {
		const player = { model, ...session.player };
		await expectRight({ ...session, player, script: { toolTurns: 60, fileChars: 9_000, ...script } });
	});
});

describe("a fault at any one request costs no request and no valid thinking", () => {
	const turns = 22;
	it.each<SessionFault>(["archive", "memory", "planner"])("of the %s", async (kind) => {
		const before = seen.hits;
		for (let request = 1; request <= turns + 1; request += 1) {
			const script = { toolTurns: turns, fileChars: request % 3 === 0 ? 20_000 : 9_000 };
			await expectRight({ script, fault: { kind, request } });
		}
		expect(seen.hits - before).toBeGreaterThan(turns / 3);
	});
});

afterAll(() => {
	process.stderr.write(`Scripts of sessions: ${JSON.stringify(seen)}\n`);
	expect(seen.edited).toBeGreaterThan(500);
});
