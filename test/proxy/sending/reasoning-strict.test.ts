import { describe, expect, it } from "vitest";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { playSession } from "../../support/session-player.ts";
import { startStandInProvider } from "../../support/stand-in-provider.ts";
import { startProxyTo } from "../upstream.ts";

/** Plays a session of 30 turns, through a proxy or not, against a stand-in that checks reasoning as the API does. */
async function play(chars: number, how: { readonly isThroughProxy: boolean; readonly model: string }) {
	const script = { toolTurns: 30, fileChars: chars };
	const provider = await startStandInProvider({ script, thinking: { account: "newer", tokens: 50 } });
	const archive = await openArchive({ where: `${await scratchFolder()}/archive` });
	const proxy = how.isThroughProxy ? await startProxyTo(provider.origin, { archive }) : undefined;
	const { model } = how;
	const baseUrl = proxy?.url ?? provider.origin;
	const played = await playSession({ baseUrl, script, model, beforeRequest: () => proxy?.settled() });
	await provider.close();
	return { played, totals: provider.totals() };
}

describe("a session of 30 turns with reasoning that the API checks", () => {
	it.each([
		["claude-opus-5-5", 20_000, 1],
		["claude-fable-5-2", 20_000, 0],
	])("ends right and costs less: %s, results of %d characters", async (model, chars, refused) => {
		const raw = await play(chars, { isThroughProxy: false, model });
		const { played, totals } = await play(chars, { isThroughProxy: true, model });
		expect(played).toMatchObject({ isRight: true, errors: [], repairs: 0 });
		expect(totals).toMatchObject({ refused, blocksLost: 0, stripped: 0 });
		expect(totals.billed / raw.totals.billed).toBeLessThan(0.7);
	});
});
