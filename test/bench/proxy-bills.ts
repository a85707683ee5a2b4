import { requestOf, type SessionApi, sessionApis, turnsOf } from "../proxy/sessions.ts";
import { type Api, createProviderCache, type InputUsage } from "../support/provider-cache.ts";
import { timeOf, withProxy, withUpstream } from "./proxy-process.ts";
import { atMost, progress, short, type Table, type Target } from "./section.ts";

const accounts: Readonly<Record<SessionApi, Api>> = {
	anthropic: "anthropic",
	chat: "openai-chat",
	responses: "openai-responses",
	gemini: "gemini",
};
const scripts = [
	{ turns: 35, chars: 12_000, tokens: 0.68, billed: 0.92 },
	{ turns: 60, chars: 29_000, tokens: undefined, billed: 0.62 },
];

export const billsNote =
	"Bills: sessions of logs in each API, in which nothing but the results differs from turn to turn. A token is four bytes; the provider's cache is that of `test/support/provider-cache.ts`; a cached token costs 0.1 of an input token, one written to the cache 1.25. The same with real programs: `npm run hosts`.";

/** What the proxy saves in a session, by the accounting of a provider. */
export async function measureBills(): Promise<{ readonly tables: readonly Table[]; readonly targets: Target[] }> {
	const rows: string[][] = [];
	const targets: Target[] = [];
	for (const { turns, chars, tokens, billed } of scripts) {
		const name = `${turns} turns of ${short(chars)} characters`;
		const results: Bill[] = [];
		for (const api of sessionApis) {
			progress(`proxy: ${name}, ${api}`);
			const result = await billOf(api, turns, chars);
			results.push(result);
			const ratios = [tokensRatio(result), billedRatio(result)].map((ratio) => `${ratio.toFixed(3)} ×`);
			rows.push([name, api, ...ratios, String(result.breaks)]);
		}
		const worst = (of: (bill: Bill) => number) => Math.max(...results.map(of));
		if (tokens) targets.push(atMost(`proxy, ${name}: tokens sent, worst API`, tokens, worst(tokensRatio)));
		targets.push(atMost(`proxy, ${name}: billed, worst API`, billed, worst(billedRatio)));
		const tenths = worst(({ breaks }) => (breaks / (turns + 1)) * 10);
		targets.push(atMost(`proxy, ${name}: cache breaks in 10 requests, worst API`, 1, tenths, ""));
	}
	const columns = ["session", "API", "tokens sent", "billed", "cache breaks"];
	return { tables: [{ caption: "Bills of whole sessions", columns, rows }], targets };
}

interface Bill {
	readonly raw: Sums;
	readonly own: Sums;
	readonly breaks: number;
}

interface Sums {
	sent: number;
	billed: number;
}

function tokensRatio({ raw, own }: Bill): number {
	return own.sent / raw.sent;
}

function billedRatio({ raw, own }: Bill): number {
	return own.billed / raw.billed;
}

async function billOf(api: SessionApi, count: number, chars: number): Promise<Bill> {
	const [rawCache, ownCache] = [createProviderCache(() => 0), createProviderCache(() => 0)];
	const [raw, own]: [Sums, Sums] = [
		{ sent: 0, billed: 0 },
		{ sent: 0, billed: 0 },
	];
	let [left, breaks] = [0, 0];
	const enter = (sums: Sums, { uncached, cacheRead, written }: InputUsage): void => {
		sums.sent += uncached + cacheRead + written;
		sums.billed += uncached + cacheRead * 0.1 + written * 1.25;
	};
	const take = (body: Buffer): void => {
		const usage = ownCache(accounts[api], "model", JSON.parse(body.toString("utf8")));
		enter(own, usage);
		if (usage.cacheRead < left) breaks += 1;
		left = usage.cacheRead + usage.written;
	};
	const turns = turnsOf(count, chars);
	const play = (upstream: string) =>
		withProxy(upstream, async ({ address, idle }) => {
			for (let end = 0; end <= count; end += 1) {
				const { path, body } = requestOf(api, turns.slice(0, end));
				enter(raw, rawCache(accounts[api], "model", JSON.parse(String(body))));
				await timeOf(address, { path, body: String(body) });
				await idle();
			}
		});
	await withUpstream(play, take);
	return { raw, own, breaks };
}
