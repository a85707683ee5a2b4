import { afterEach, describe, expect, it } from "vitest";
import { claudePrices } from "./claude-models.ts";
import { startRewritingProxy } from "./rewriting-proxy.ts";
import { finalText } from "./scripted-session.ts";
import { type PlayerOptions, playSession } from "./session-player.ts";
import { type StandInProvider, startStandInProvider } from "./stand-in-provider.ts";
import type { StandInThinking } from "./stand-in-thinking.ts";

type Json = Record<string, unknown>;

const script = { toolTurns: 8, fileChars: 2_000 };
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
	for (const close of closing.splice(0).reverse()) await close();
});

async function start(thinking: Partial<StandInThinking> = {}, played = script): Promise<StandInProvider> {
	const strict = { account: "newer", ...thinking } as const;
	const provider = await startStandInProvider({ script: played, thinking: strict, prices: claudePrices });
	closing.push(provider.close);
	return provider;
}

type Rewrite = Parameters<typeof startRewritingProxy>[1];

async function play(provider: StandInProvider, options: Partial<PlayerOptions> = {}, rewrite?: Rewrite) {
	const proxy = rewrite && (await startRewritingProxy(provider.origin, rewrite));
	if (proxy) closing.push(proxy.close);
	return playSession({ baseUrl: proxy?.origin ?? provider.origin, script, ...options });
}

/** Cuts the result of the first turn from a request on: the session before it was sent whole. */
const cutsFrom = (first: number): Rewrite => {
	return (messages, request) =>
		messages.map((message, index) => {
			if (index !== 2 || request < first) return message;
			return { ...message, content: (message.content as Json[]).map((block) => ({ ...block, content: "[cut]" })) };
		});
};

describe("a session that is not changed", () => {
	const clean = { refused: 0, blocksLost: 0, blocksDropped: 0, stripped: 0 };

	it("ends with the right answer, all its thinking and no cache break", async () => {
		const provider = await start();
		const played = await play(provider);
		expect(played).toMatchObject({ requests: 9, errors: [], repairs: 0, isRight: true, thinkingBlocks: 9 });
		expect(played.answers).toEqual([finalText(script)]);
		expect(provider.totals()).toMatchObject({
			...clean,
			requests: 9,
			cacheBreaks: 0,
			blocksSent: 36,
			thought: 9 * 400,
		});
	});

	it.each<[string, Partial<PlayerOptions>, Partial<StandInThinking>]>([
		["shown thinking", { thinking: { type: "adaptive", display: "summarized" } }, {}],
		["thinking of the type enabled", { thinking: { type: "enabled", budget_tokens: 2_000 } }, {}],
		["redacted thinking", {}, { redactedEvery: 2 }],
		["a system message in two forms", { alternatesSystem: true }, {}],
		["a block for the bill", { hasBillingHeader: true }, {}],
		["counted requests", { countsEvery: 2 }, {}],
		["words of the user", { userEvery: 3 }, {}],
		[
			"an older account",
			{ betas: ["thinking-binding-controls-2026-08-01", "context-management-2025-06-27"] },
			{ account: "older" },
		],
		["a gateway", {}, { isGateway: true }],
		["a model that does not check", { model: "claude-sonnet-4-5" }, {}],
	])("is right with %s", async (_, options, thinking) => {
		const provider = await start(thinking);
		const played = await play(provider, options);
		expect(played).toMatchObject({ errors: [], isRight: true, thinkingBlocks: 9, transformations: 0 });
		expect(provider.totals()).toMatchObject({ ...clean, requests: 9, blocksSent: 36 });
	});

	it("is right with several calls in an answer", async () => {
		const parallel = { ...script, parallelCalls: 3 };
		const provider = await start({}, parallel);
		const played = await play(provider, { script: parallel });
		expect(played).toMatchObject({ requests: 4, errors: [], isRight: true });
		const [history = []] = played.histories;
		expect(history.filter(({ role }) => role === "assistant").map(({ content }) => (content as []).length)).toEqual([
			4, 4, 3, 2,
		]);
		expect(provider.totals()).toMatchObject(clean);
	});

	it("is right with forks and rewinds, in which each branch keeps its own thinking", async () => {
		const provider = await start();
		const moves = [
			{ kind: "fork", at: 4, to: 2 },
			{ kind: "rewind", at: 6, to: 3 },
			{ kind: "fork", at: 7, to: 7 },
		] as const;
		const played = await play(provider, { moves, alternatesSystem: true, hasBillingHeader: true });
		expect(played).toMatchObject({ errors: [], isRight: true });
		expect(played.answers).toHaveLength(3);
		expect(played.thinkingBlocks).toBe(27);
		expect(played.requests).toBe(9 + 7 + 3 + 2);
		expect(provider.totals()).toMatchObject(clean);
	});

	it("goes on through another address, and after failures of the connection", async () => {
		const provider = await start();
		let base = provider.origin;
		const beforeRequest = (request: number) => {
			base = request === 3 || request === 5 ? "http://127.0.0.1:9" : provider.origin;
		};
		const played = await play(provider, { baseUrl: () => base, beforeRequest });
		expect(played).toMatchObject({ isRight: true, requests: 11 });
		expect(played.errors.map(({ request, status }) => [request, status])).toEqual([
			[3, 0],
			[5, 0],
		]);
		expect((await play(provider, { baseUrl: "http://127.0.0.1:9" })).answers).toEqual([undefined]);
	});
});

describe("a session with an old result that is cut later", () => {
	it("dies at the first request with thinking after it", async () => {
		const provider = await start();
		const played = await play(provider, {}, cutsFrom(4));
		expect(played).toMatchObject({ isRight: false, repairs: 0, answers: [undefined] });
		expect(played.errors).toHaveLength(1);
		expect(played.errors[0]).toMatchObject({ request: 4, status: 400 });
		expect(played.errors[0]?.message).toContain("messages.3.content.0: Invalid `signature` in `thinking` block.");
		expect(provider.totals()).toMatchObject({ requests: 3, refused: 1 });
		expect(provider.refusals[0]?.message).toContain("bound to a different conversation");
	});

	it("ends well with a host that removes all thinking, and loses some valid thinking", async () => {
		const provider = await start();
		const played = await play(provider, { repairs: "all" }, cutsFrom(4));
		expect(played).toMatchObject({ isRight: true, repairs: 1, thinkingBlocks: 6 });
		expect(played.errors).toHaveLength(1);
		expect(provider.totals()).toMatchObject({
			requests: 9,
			refused: 1,
			stripped: 1,
			blocksLost: 1,
			blocksGone: 3,
			blocksSent: 3 + 15,
		});
	});

	it("ends well with a host that takes out the named blocks, as long as they are named", async () => {
		const provider = await start();
		expect(await play(provider, { repairs: "named" }, cutsFrom(4))).toMatchObject({ isRight: true, repairs: 1 });
		expect(provider.totals()).toMatchObject({ refused: 1, stripped: 0, blocksLost: 0, blocksGone: 2 });
		const silent = await start({ hasMismatchHeader: false });
		expect(await play(silent, { repairs: "named" }, cutsFrom(4))).toMatchObject({ isRight: true, repairs: 1 });
		expect(silent.totals()).toMatchObject({ refused: 1, stripped: 1, blocksLost: 1, blocksGone: 3 });
	});

	it("goes on with drop_block, and what is left out is neither billed nor lost", async () => {
		const provider = await start();
		const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
		const betas = ["thinking-binding-controls-2026-08-01", "context-management-2025-06-27"];
		const played = await play(provider, { thinking, betas }, cutsFrom(4));
		expect(played).toMatchObject({ isRight: true, errors: [], repairs: 0, transformations: 12 });
		const totals = provider.totals();
		expect(totals).toMatchObject({ refused: 0, blocksDropped: 12, blocksLost: 0, blocksSent: 36 });
		expect(totals.stripped).toBe(0);
	});

	it("is accepted on an older account", async () => {
		const provider = await start({ account: "older" });
		const played = await play(provider, {}, cutsFrom(4));
		expect(played).toMatchObject({ isRight: true, errors: [], transformations: 0 });
	});

	it("is refused when its tokens are counted as well", async () => {
		const provider = await start();
		const model = "claude-opus-5-5";
		const played = await play(provider);
		const messages = (played.histories[0] ?? []).map((message, index) =>
			index === 2 ? { ...message, content: [{ ...(message.content as Json[])[0], content: "[cut]" }] } : message,
		);
		const body = JSON.stringify({ model, messages });
		const response = await fetch(`${provider.origin}/v1/messages/count_tokens`, { method: "POST", body });
		const { error } = (await response.json()) as { error: Json };
		expect([response.status, error.type]).toEqual([400, "invalid_request_error"]);
		expect(provider.totals()).toMatchObject({ requests: 9, refused: 1 });
	});
});

describe("the bill", () => {
	it("counts thinking by what was thought, not by its bytes", async () => {
		const [little, much] = [await start({ tokens: 10 }), await start({ tokens: 1_010 })];
		await play(little);
		await play(much);
		const [a, b] = [little.totals(), much.totals()];
		expect(b.sent - a.sent).toBe(1_000 * 36);
		expect(b.output - a.output).toBe(1_000 * 9);
		expect(b.billedOutput - a.billedOutput).toBe(1_000 * 9 * 5);
	});

	it("has no tokens of thinking that was left out", async () => {
		const provider = await start({ tokens: 1_000 });
		const thinking = { type: "adaptive", block_binding: { prefix_mismatch_behavior: "drop_block" } };
		const betas = ["thinking-binding-controls-2026-08-01", "context-management-2025-06-27"];
		await play(provider, { thinking, betas }, cutsFrom(4));
		const sent = provider.requests.map(({ usage }) => usage.uncached + usage.cacheRead + usage.written);
		expect((sent[3] ?? 0) - (sent[2] ?? 0)).toBeLessThan(0);
	});

	it("has thinking that the model repeats once, where the assumption is set", async () => {
		const provider = await start({ rethinks: 0.5 });
		await play(provider, { repairs: "all" }, cutsFrom(4));
		const thought = provider.requests.map(({ thinkingTokens }) => thinkingTokens);
		expect(thought).toEqual([400, 400, 400, 400 + 0.5 * 3 * 400, 400, 400, 400, 400, 400]);
	});

	it("is multiplied from a price step on", async () => {
		const provider = await start({ tokens: 30_000 });
		await play(provider, { model: "claude-haiku-5-5" });
		const over = provider.requests.map(({ usage }) => usage.uncached + usage.cacheRead + usage.written > 100_000);
		expect(over.filter((one) => one)).toHaveLength(5);
		expect(provider.totals().billedOutput).toBe(5 * 30_020 * (4 + 5 * 5));
	});

	it("reads the cache at the price of the model", async () => {
		const provider = await start();
		await play(provider);
		const bill = provider.requests.reduce((sum, { usage }) => {
			return sum + usage.uncached + 0.05 * usage.cacheRead + 1.25 * usage.written;
		}, 0);
		expect(provider.totals().billed).toBe(Math.round(bill));
	});
});
