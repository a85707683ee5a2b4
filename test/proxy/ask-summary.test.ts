import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { recallOriginal } from "../../src/operations/recall.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { openFigures } from "../../src/storage/figures/store.ts";
import { policyOf } from "../support/policy-of.ts";
import { type ProxiedSession, playThroughProxy } from "../support/proxied-session.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { marker } from "../support/scripted-session.ts";
import { linesIn } from "./played.ts";

type Json = Readonly<Record<string, unknown>>;

const policy = policyOf({
	preset: "balanced",
	locale: "en",
	compaction: { by: "provider", keep_tool_groups: 3 },
	guard: { context_window_override: 24_000 },
});
const script = { toolTurns: 24, fileChars: 4_000 };
const strict = { account: "newer", tokens: 50 } as const;
const proxied = {
	script,
	player: { model: "claude-opus-5-5" },
	thinking: strict,
	proxy: { policy },
} satisfies ProxiedSession;
const isClean = { errors: [], repairs: 0, isRight: true, transformations: 0 };
const keepsReasoning = { refused: 0, blocksDropped: 0 };

const bodies = ({ provider }: Awaited<ReturnType<typeof playThroughProxy>>) =>
	provider.requests.map(
		({ body }) => JSON.parse(body) as Json & { messages: { role: string; content: Json[] | string }[] },
	);
const isSummary = ({ compaction }: Json) => compaction !== undefined;
const blockIn = ({ messages }: ReturnType<typeof bodies>[number]) => {
	const first = messages[0]?.content[0] as Json | undefined;
	return first?.type === "compaction" ? first : undefined;
};

describe("a session that the provider compacts", () => {
	it("ends right, with all reasoning of the kept turns and no refusal, is summarised again, and all of it is in the figures", async () => {
		const folder = join(await scratchFolder(), "figures");
		const figures = openFigures({ keep: "all", folder });
		const session = await playThroughProxy({ ...proxied, proxy: { policy, figures } });
		const own = (await linesIn(folder, "ping")).filter(({ summary }) => summary);
		expect(own).toHaveLength(bodies(session).filter(isSummary).length);
		const all = [...own, ...(await linesIn(folder, "request"))].reduce((sum, { usd = 0 }) => sum + usd, 0);
		const { billed, billedOutput } = session.totals;
		// Claude Opus 5.5: 4 US dollars a million tokens.
		expect(all / (((billed + billedOutput) * 4) / 1_000_000)).toBeCloseTo(1, 1);
		expect(session.played).toMatchObject(isClean);
		expect(session.totals).toMatchObject(keepsReasoning);
		const sent = bodies(session);
		expect(sent.filter(isSummary).length).toBeGreaterThan(1);
		// Once swapped in, the block is in every later request, until a newer one takes its place.
		const answers = sent.filter((body) => !isSummary(body));
		const first = answers.findIndex((body) => blockIn(body));
		expect(answers.slice(first).every((body) => blockIn(body))).toBe(true);
		expect(
			Math.max(...session.provider.requests.map(({ usage }) => usage.cacheRead + usage.uncached + usage.written)),
		).toBeLessThan(24_000);
		// Nothing of ours changes the tools within a session.
		expect(new Set(sent.map(({ tools }) => JSON.stringify(tools))).size).toBe(1);
		// The host's history stays whole.
		expect(session.played.histories[0]?.length).toBeGreaterThan(48);
	});

	it("is the same in two processes, after restarts, in forks and after rewinds, and no block stands for other messages", async () => {
		const moves = [
			{ kind: "fork", at: 18, to: 16 },
			{ kind: "rewind", at: 21, to: 20 },
		] as const;
		const session = await playThroughProxy({
			...proxied,
			proxies: 2,
			restartsEvery: 7,
			player: { ...proxied.player, moves },
		});
		expect(session.played).toMatchObject({ ...isClean, answers: [expect.any(String), expect.any(String)] });
		expect(session.totals).toMatchObject(keepsReasoning);
	});

	it("gets the host's own messages after a rewind before the summarised ones", async () => {
		const moves = [{ kind: "rewind", at: 18, to: 3 }] as const;
		const session = await playThroughProxy({ ...proxied, player: { ...proxied.player, moves } });
		expect(session.played).toMatchObject(isClean);
		expect(session.totals).toMatchObject({ blocksDropped: 0 });
		const answers = bodies(session).filter((body) => !isSummary(body));
		const first = answers.findIndex((body) => blockIn(body));
		expect(answers.slice(first).some((body) => !blockIn(body))).toBe(true);
	});

	it.each(["refusal", "max_tokens", 529] as const)(
		"goes on as before after %s, and does not ask again",
		async (end) => {
			const session = await playThroughProxy({ ...proxied, thinking: { ...strict, compaction: { ends: [end] } } });
			expect(session.played).toMatchObject(isClean);
			const sent = bodies(session);
			expect(sent.some((body) => blockIn(body))).toBe(false);
			// Asked again, it would have had a summary.
			expect(JSON.stringify(sent.at(-1)?.messages)).toContain("[masked");
		},
	);

	it("names one reference, by which every summarised result is recalled, and says system messages again", async () => {
		const archive = (await openArchive({ where: `${await scratchFolder()}/archive` })) as Archive;
		const session = await playThroughProxy({
			...proxied,
			script: { ...script, toolTurns: 30 },
			player: { ...proxied.player, alternatesSystem: true },
			proxy: { policy, archive },
		});
		const last = bodies(session).at(-1);
		const { content } = (last && blockIn(last)) as { content: string };
		const [, ref = ""] = /Original messages before this point: recall_original, ref=(\w+)\]/.exec(content) ?? [];
		const kept = JSON.stringify(last?.messages);
		const gone = Array.from({ length: 30 }, (_, turn) => marker(turn + 1)).filter((one) => !kept.includes(one));
		expect(gone.length).toBeGreaterThanOrEqual(20);
		for (const fact of gone.slice(0, 20)) {
			const recalled = await recallOriginal({ ref, grep: fact, archive, policy });
			expect(JSON.stringify(recalled)).toContain(fact);
		}
		expect(kept).toContain("Today is Friday.");
		expect(session.totals).toMatchObject(keepsReasoning);
	});

	it("is left to the host unless the policy says so, and for models without it", async () => {
		const without = await playThroughProxy({
			...proxied,
			proxy: { policy: policyOf({ preset: "balanced", guard: { context_window_override: 24_000 } }) },
		});
		expect(bodies(without).some(isSummary)).toBe(false);
		const older = await playThroughProxy({ ...proxied, player: { model: "claude-opus-4-5" } });
		expect(older.played.isRight).toBe(true);
		expect(bodies(older).some(isSummary)).toBe(false);
		expect(JSON.stringify(bodies(older).at(-1))).toContain("[masked");
	});
});
