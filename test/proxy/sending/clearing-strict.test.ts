import { describe, expect, it } from "vitest";
import type { ProxyStatus } from "../../../src/proxy/status.ts";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { claudePrices } from "../../support/claude-models.ts";
import { policyOf } from "../../support/policy-of.ts";
import { playThroughProxy } from "../../support/proxied-session.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { playSession } from "../../support/session-player.ts";
import { startStandInProvider } from "../../support/stand-in-provider.ts";
import { statusOf } from "../played.ts";
import { startProxyTo } from "../upstream.ts";

const policy = policyOf({ preset: "balanced", mask: { by: "provider" } });
const script = { toolTurns: 40, fileChars: 9_000 };

async function play(how: { readonly isThroughProxy: boolean; readonly model: string }) {
	const provider = await startStandInProvider({
		script,
		thinking: { account: "newer", tokens: 50 },
		prices: claudePrices,
	});
	const archive = await openArchive({ where: `${await scratchFolder()}/archive` });
	const proxy = how.isThroughProxy ? await startProxyTo(provider.origin, { archive, policy }) : undefined;
	const baseUrl = proxy?.url ?? provider.origin;
	const played = await playSession({ baseUrl, script, model: how.model, beforeRequest: () => proxy?.settled() });
	await proxy?.settled();
	const status = proxy && ((await statusOf(proxy)) as ProxyStatus);
	await provider.close();
	return { played, provider, totals: provider.totals(), status };
}

/** How many tool uses the API cleared in each request. */
const clearedUses = (provider: Awaited<ReturnType<typeof play>>["provider"]) =>
	provider.requests.map(({ thinking }) => thinking?.applied[0]?.cleared_tool_uses ?? 0);

describe("a session of 40 turns in which the provider clears", () => {
	it.each(["claude-opus-5-5", "claude-sonnet-4-5"])(
		"keeps all reasoning, ends right and costs less: %s",
		async (model) => {
			const raw = await play({ isThroughProxy: false, model });
			const { played, provider, totals, status } = await play({ isThroughProxy: true, model });
			expect(played).toMatchObject({ isRight: true, errors: [], repairs: 0, transformations: 0 });
			expect(totals).toMatchObject({ refused: 0, blocksDropped: 0, blocksLost: 0, blocksGone: 0, stripped: 0 });
			expect(totals.billed / raw.totals.billed).toBeLessThan(0.9);
			const uses = clearedUses(provider);
			// Each decision holds until the next: the cleared results stay the same, and never come back.
			expect(uses).toEqual(uses.toSorted((a, b) => a - b));
			expect(new Set(uses).size - 1).toBe(totals.cacheBreaks);
			expect(totals.cacheBreaks).toBeGreaterThan(1);
			// The ledger knows the bill of the same session without the proxy, and has what the answers say.
			expect((status?.edited.billed_unedited ?? 0) / raw.totals.billed).toBeCloseTo(1, 1);
			const results = uses.reduce((sum, count) => sum + count, 0);
			expect(status?.edited).toMatchObject({
				provider_cleared_tokens: totals.cleared,
				provider_cleared_results: results,
			});
			const named = status?.conversations[0]?.results.filter(({ what }) => what === "cleared");
			expect(named).toHaveLength(uses.at(-1) ?? 0);
			// No result was edited: the history that the host sends is what the provider gets, but for one note a decision.
			const sent = JSON.stringify(JSON.parse(provider.requests.at(-1)?.body ?? "{}").messages);
			expect(sent).not.toContain("[masked");
			expect([...sent.matchAll(/Old tool results were cleared/g)]).toHaveLength(totals.cacheBreaks);
		},
	);
});

const strict = { account: "newer", tokens: 50 } as const;
const proxied = { script, player: { model: "claude-opus-5-5" }, thinking: strict, proxy: { policy } };
/** All that the host saw was right, and nothing was lost. */
const isClean = { errors: [], repairs: 0, isRight: true };
const hasAllReasoning = { blocksDropped: 0, blocksLost: 0, blocksGone: 0, stripped: 0 };

describe("a session in which the provider is asked to clear", () => {
	it("stays off after the provider has refused it once, and the host sees no error", async () => {
		const thinking = { ...strict, refusesClearing: true };
		const { played, totals } = await playThroughProxy({ ...proxied, thinking, restartsEvery: 5 });
		expect(played).toMatchObject(isClean);
		expect(totals).toMatchObject({ refused: 1, clearings: 0, ...hasAllReasoning });
	});

	it("leaves a request alone if its caller clears results itself", async () => {
		const own = { edits: [{ type: "clear_tool_uses_20250919", trigger: { type: "input_tokens", value: 40_000 } }] };
		const alone = await playThroughProxy({ ...proxied, player: { ...proxied.player, contextManagement: own } });
		expect(alone.played).toMatchObject(isClean);
		expect(alone.totals.refused).toBe(0);
		for (const { body } of alone.provider.requests) expect(JSON.parse(body).context_management).toEqual(own);
		expect(JSON.stringify(alone.provider.requests.map(({ body }) => body))).not.toContain(
			"Old tool results were cleared",
		);
	});

	it("cuts new results and clears them later, and the whole can be read again", async () => {
		const archive = (await openArchive({ where: `${await scratchFolder()}/archive` })) as Archive;
		const wide = { toolTurns: 30, fileChars: 20_000, recalls: true };
		const provider = await startStandInProvider({ script: wide, thinking: strict });
		const proxy = await startProxyTo(provider.origin, { archive, policy });
		const asked: string[] = [];
		const run = async (command: string) => {
			const ref = / recall (\w+)/.exec(command)?.[1] ?? "";
			asked.push(ref);
			return (await archive.get(ref))?.text.slice(-2_000) ?? "not found";
		};
		const played = await playSession({ baseUrl: proxy.url, script: wide, run, beforeRequest: () => proxy.settled() });
		await provider.close();
		expect(played).toMatchObject(isClean);
		expect(played.answers[0]).toContain("Recalled one.");
		expect(asked).toHaveLength(1);
		expect(provider.totals()).toMatchObject({ refused: 0, ...hasAllReasoning });
		expect(provider.totals().clearings).toBeGreaterThan(5);
	});
});
