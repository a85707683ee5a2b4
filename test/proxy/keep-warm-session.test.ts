import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { closingText } from "../../src/proxy/closing.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { claudePrices } from "../support/claude-models.ts";
import { createHandClock } from "../support/hand-clock.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { playSession } from "../support/session-player.ts";
import { startStandInProvider } from "../support/stand-in-provider.ts";
import { statusOf } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { type ProxyOptions, send, sendOwn, startProxyTo, startUpstream } from "./upstream.ts";

const minute = 60_000;
const turns = 30;
const model = "claude-opus-5-5";

/**
 * A session of 30 turns with pauses before some requests, through the proxy to a stand-in that checks requests as the API does
 * and whose cache expires by the same clock.
 */
async function play(how: {
	readonly pauses: Readonly<Record<number, number>>;
	readonly proxy: Partial<ProxyOptions>;
	readonly thinking?: Readonly<Record<string, unknown>>;
	/** Minutes that pass after the last answer. */
	readonly stays?: number;
}) {
	const clock = createHandClock();
	const script = { toolTurns: turns, fileChars: 14_000 };
	const thinking = { account: "newer", tokens: 50 } as const;
	const provider = await startStandInProvider({ script, now: clock.now, prices: claudePrices, thinking });
	const archive = await openArchive({ where: `${await scratchFolder()}/archive` });
	const { now, later } = clock;
	const proxy = await startProxyTo(provider.origin, { archive, now, later, ...how.proxy });
	const played = await playSession({
		baseUrl: proxy.url,
		script,
		model,
		...(how.thinking ? { thinking: how.thinking } : {}),
		beforeRequest: async (request) => {
			await proxy.settled();
			await clock.pass((how.pauses[request] ?? 0.1) * minute);
		},
	});
	await proxy.settled();
	await clock.pass((how.stays ?? 0) * minute);
	const status = await statusOf(proxy);
	await proxy.close();
	await provider.close();
	return { played, totals: provider.totals(), requests: provider.requests, status, clock };
}

const warm = { keepWarm: "until_closed" } as const;
const pauses = { 12: 8, 20: 13, 24: 40 };

describe("a session with pauses, kept warm", () => {
	let played: ReturnType<typeof play> | undefined;
	const playWarm = () => {
		played ??= play({ pauses, proxy: warm });
		return played;
	};
	const pingsOf = ({ requests }: Pick<Awaited<ReturnType<typeof play>>, "requests">) =>
		requests.filter(({ body }) => JSON.parse(body).max_tokens === 1);

	it("reads the cache after a pause, and costs less with its pings", async () => {
		const kept = await playWarm();
		const cold = await play({ pauses, proxy: {} });
		expect(kept.played).toMatchObject({ isRight: true, errors: [], repairs: 0 });
		expect(kept.totals.refused).toBe(cold.totals.refused);
		const pings = pingsOf(kept);
		// 8 minutes: one; 13: two; 40: two, and the cache is lost all the same.
		expect(pings).toHaveLength(5);
		for (const { usage } of pings) {
			expect(usage).toMatchObject({ written: 0, writtenForAnHour: 0 });
			expect(usage.cacheRead).toBeGreaterThan(20_000);
		}
		// The same requests but for the pings, and those after the first two pauses read the cache.
		const coldReads = (requests: typeof cold.requests) =>
			requests.filter(({ usage }, index) => index > 0 && usage.cacheRead < usage.written).length;
		expect(coldReads(cold.requests) - coldReads(kept.requests)).toBeGreaterThanOrEqual(2);
		expect(kept.totals.billed).toBeLessThan(0.95 * cold.totals.billed);
		expect(cold.status.kept_warm).toMatchObject({ pings: 0, billed: 0, failed: 0 });
	});

	it("has the bill of its pings in a line of its own, as the provider bills them", async () => {
		const kept = await playWarm();
		const pings = pingsOf(kept);
		const read = pings.reduce((sum, { usage }) => sum + usage.cacheRead * 0.05 + usage.uncached, 0);
		expect(kept.status.kept_warm).toMatchObject({ pings: 5, billed: Math.round(read), failed: 0 });
		expect(kept.status.edited.requests).toBe(kept.requests.length - pings.length);
		expect(kept.status.edited.billed + kept.status.kept_warm.billed).toBeCloseTo(kept.totals.billed, -1);
	});

	it("pays for two pings after its last answer where the program stays open", async () => {
		const open = await play({ pauses: {}, proxy: warm, stays: 60 });
		expect(open.status.kept_warm).toMatchObject({ pings: 2, failed: 0 });
		expect(open.clock.waiting()).toBe(0);
	});

	it("gets no ping with thinking of the type enabled", async () => {
		const thinking = { type: "enabled", budget_tokens: 2_000 };
		const { played, status } = await play({ pauses, proxy: warm, thinking });
		expect(played.isRight).toBe(true);
		expect(status.kept_warm).toMatchObject({ pings: 0, billed: 0, failed: 0 });
	});
});

describe("the proxy by itself", () => {
	/** A request over a connection that stays open; the answer says that 30 000 tokens are in the cache. */
	async function ask() {
		const clock = createHandClock();
		const usage = { input_tokens: 9, cache_read_input_tokens: 30_000, output_tokens: 5 };
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(JSON.stringify({ stop_reason: "end_turn", usage }));
		});
		const { now, later } = clock;
		const proxy = await startProxyTo(upstream.url, { now, later, keepWarm: "while_connected" });
		const agent = new Agent({ keepAlive: true });
		const { body, path, ...sent } = requestOf("anthropic", turnsOf(2));
		const answer = await new Promise<IncomingMessage>((resolve) => {
			const headers = { ...(sent.headers as Record<string, string>), "X-Api-Key": "sk-secret" };
			const { port } = proxy;
			request({ agent, host: "127.0.0.1", port, method: "POST", path, headers }, resolve).end(body);
		});
		await text(answer);
		await proxy.settled();
		return { clock, upstream, proxy, agent, answer };
	}

	it("keeps a cache warm while the connection of the last request is open", async () => {
		const { clock, upstream, answer, agent, proxy } = await ask();
		// Longer than two pings keep a cache of an hour.
		expect(answer.headers["keep-alive"]).toBe("timeout=10800");
		await clock.pass(5 * minute);
		expect(upstream.received).toHaveLength(2);
		const [asked, ping] = upstream.received.map(({ body }) => JSON.parse(body.toString()));
		expect(ping).toEqual({ ...asked, max_tokens: 1 });
		expect(upstream.received[1]?.headers["x-api-key"]).toBe("sk-secret");
		expect(JSON.stringify(await statusOf(proxy))).not.toContain("sk-secret");
		const line = "1 ping kept caches warm (billed 3,009)";
		expect((await sendOwn(proxy.url, { path: "/palimpsest/" })).body.toString()).toContain(`<p>${line}.</p>`);
		expect(closingText(proxy.totals(), { address: proxy.url, isKept: false })).toContain(`, ${line}`);
		agent.destroy();
	});

	it("sends no ping to another API, though a gateway there takes a cache_control, nor for a count of tokens", async () => {
		const clock = createHandClock();
		const cached = { prompt_tokens_details: { cached_tokens: 30_000 }, cache_read_input_tokens: 30_000 };
		const usage = { prompt_tokens: 30_009, completion_tokens: 5, input_tokens: 9, ...cached };
		const upstream = await startUpstream((_, response) => response.end(JSON.stringify({ usage })));
		const { now, later } = clock;
		const proxy = await startProxyTo(upstream.url, { now, later, keepWarm: "until_closed" });
		const chat = requestOf("chat", turnsOf(2));
		const claude = { model: "anthropic/claude-opus-5-5", max_tokens: 9, cache_control: { type: "ephemeral" } };
		await send(proxy.url, { ...chat, body: JSON.stringify({ ...JSON.parse(chat.body as string), ...claude }) });
		await send(proxy.url, { ...requestOf("anthropic", turnsOf(3)), path: "/v1/messages/count_tokens" });
		await proxy.settled();
		expect(clock.waiting()).toBe(0);
	});

	it("takes a program with a closed connection for one that has ended", async () => {
		const { clock, upstream, agent, proxy } = await ask();
		agent.destroy();
		// The proxy reads the end of that connection before a request on another.
		await statusOf(proxy);
		await clock.pass(5 * minute);
		expect(upstream.received).toHaveLength(1);
	});
});
