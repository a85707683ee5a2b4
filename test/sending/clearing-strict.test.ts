import { describe, expect, it } from "vitest";
import { openArchive } from "../../src/archive/open.ts";
import { startProxyTo } from "../proxy/upstream.ts";
import { policyOf } from "../support/policy-of.ts";
import { playThroughProxy } from "../support/proxied-session.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { playSession } from "../support/session-player.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";

const policy = policyOf({ preset: "balanced", mask: { by: "provider" } });
const script = { toolTurns: 40, fileChars: 9_000 };

async function play(how: { readonly isThroughProxy: boolean; readonly model: string }) {
	const provider = await startStandInProvider({ script, thinking: { account: "newer", tokens: 50 } });
	const archive = await openArchive({ where: `${await scratchFolder()}/archive` });
	const proxy = how.isThroughProxy ? await startProxyTo(provider.origin, { archive, policy }) : undefined;
	const baseUrl = proxy?.url ?? provider.origin;
	const played = await playSession({ baseUrl, script, model: how.model, beforeRequest: () => proxy?.settled() });
	await provider.close();
	return { played, provider, totals: provider.totals() };
}

/** How many tool uses the API cleared in each request. */
const clearedUses = (provider: Awaited<ReturnType<typeof play>>["provider"]) =>
	provider.requests.map(({ thinking }) => thinking?.applied[0]?.cleared_tool_uses ?? 0);

describe("a session of 40 turns in which the provider clears", () => {
	it.each(["claude-opus-5-5", "claude-fable-5-2", "claude-sonnet-4-5"])(
		"keeps all reasoning, ends right and costs less: %s",
		async (model) => {
			const raw = await play({ isThroughProxy: false, model });
			const { played, provider, totals } = await play({ isThroughProxy: true, model });
			expect(played).toMatchObject({ isRight: true, errors: [], repairs: 0, transformations: 0 });
			expect(totals).toMatchObject({ refused: 0, blocksDropped: 0, blocksLost: 0, blocksGone: 0, stripped: 0 });
			expect(totals.billed / raw.totals.billed).toBeLessThan(0.75);
			const uses = clearedUses(provider);
			// Each decision holds until the next: the cleared results stay the same, and never come back.
			expect(uses).toEqual(uses.toSorted((a, b) => a - b));
			expect(new Set(uses).size - 1).toBe(totals.cacheBreaks);
			expect(totals.cacheBreaks).toBeGreaterThan(1);
			// No result was edited: the history that the host sends is what the provider gets, but for one note a decision.
			const sent = JSON.stringify(JSON.parse(provider.requests.at(-1)?.body ?? "{}").messages);
			expect(sent).not.toContain("[masked");
			expect([...sent.matchAll(/Old tool results were cleared/g)]).toHaveLength(totals.cacheBreaks);
		},
	);
});
