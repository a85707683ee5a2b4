import { describe, expect, it } from "vitest";
import { closingText } from "../../src/proxy/closing.ts";
import { sendSettled, statusOf } from "./played.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { type ProxyOptions, send, startProxyTo, startUpstream, until } from "./upstream.ts";

const program = { name: "claude", title: "Claude Code", upstreams: { anthropic: "https://gateway.example" } };

describe("the closing line of a proxy that no request has passed", () => {
	it("says which address the program may talk to, and how to see the way to the proxy", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		await send(proxy.url, { path: "/palimpsest/status" });
		expect(closingText(proxy.totals(), { address: proxy.url, isKept: true, program })).toBe(
			`no request passed the proxy at ${proxy.url}: Claude Code sent none, or sent them to https://gateway.example or another address of its settings directly. \`palimpsest launch --dry-run claude\` shows how it is pointed at the proxy`,
		);
		expect(closingText(proxy.totals(), { address: proxy.url, isKept: true })).toBe(
			`no request passed the proxy at ${proxy.url}: no program was pointed at it. Start one with \`palimpsest launch\`, or set its base URL to ${proxy.url}`,
		);
	});
});

describe("the closing line", () => {
	const request = requestOf("anthropic", turnsOf(3, 2_000));
	let upstreamUrl = "";

	async function closingAfter(
		requests: readonly Parameters<typeof send>[1][],
		{
			status = 200,
			body = '{"usage":{"input_tokens":2000,"output_tokens":3}}',
			options = {},
		}: { readonly status?: number; readonly body?: string; readonly options?: Partial<ProxyOptions> } = {},
	) {
		const upstream = await startUpstream((_, response) => response.writeHead(status).end(body));
		upstreamUrl = upstream.url;
		const proxy = await startProxyTo(upstream.url, options);
		for (const one of requests) await send(proxy.url, one);
		await until(() => proxy.totals().asked === requests.length);
		await proxy.settled();
		const line = closingText(proxy.totals(), { address: proxy.url, isKept: true, program });
		// Its pages have ended with it.
		expect(line).not.toContain(proxy.url);
		return line;
	}

	it("says that no conversation was among the requests", async () => {
		const head = { method: "HEAD", path: "/" };
		expect(await closingAfter([head])).toBe("1 request passed, none with a conversation");
	});

	it.each([401, 400, 500])("says how many requests got no good answer: %i", async (status) => {
		expect(await closingAfter([request, request], { status })).toBe(
			`all 2 requests failed: ${upstreamUrl} answered ${status}`,
		);
	});

	it("says so of an upstream that is away", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		expect((await send(proxy.url, request)).status).toBe(502);
		const line = () => closingText(proxy.totals(), { address: proxy.url, isKept: true });
		expect(line()).toBe("the only request failed: http://127.0.0.1:9 does not answer (ECONNREFUSED)");
		await send(proxy.url, request);
		expect(line()).toBe("all 2 requests failed: http://127.0.0.1:9 does not answer (ECONNREFUSED)");
	});

	it("says why nothing was saved, and where the figures are", async () => {
		expect(await closingAfter([request, request])).toMatch(
			/^saved nothing(?: of \$[\d.]+)? in 2 requests: no result was old or large enough for an edit to pay, [\d,]+ tokens sent, 0 left out; see palimpsest stats$/,
		);
		expect(await closingAfter([request], { options: { holdout: 1 } })).toMatch(
			/^saved nothing(?: of \$[\d.]+)? in 1 request: no request got new decisions, .*, 1 request without new decisions \(held out: 1\); see/,
		);
	});

	describe("of a saving", () => {
		async function line(more: object, isKept = true) {
			const proxy = await startProxyTo("http://127.0.0.1:9");
			const known = { asked: 35, requests: 35, tokensSent: 400_000, tokensLeftOut: 90_000, usd: 0.72, usdSaved: 0.06 };
			const totals = { ...proxy.totals(), ...known, billed: 900, billedUnedited: 1_000, ...more };
			return closingText(totals, { address: proxy.url, isKept });
		}
		const tokens = ", 400,000 tokens sent, 90,000 left out";

		it.each([
			["in dollars", {}, `saved $0.06 of $0.78 (8 %) in 35 requests${tokens}`],
			["of a part", { usdUntoldRequests: 3 }, `saved $0.06 in 32 of 35 requests${tokens}`],
			[
				"of models without a price",
				{ usd: 0, usdSaved: 0, unpricedRequests: 35, usdUntoldRequests: 35 },
				`saved 10 % of the input bill in 35 requests to a model without a known price${tokens}`,
			],
			[
				"that is unknown",
				{ untoldRequests: 35, usdUntoldRequests: 35, usdSaved: 0, estimated: 35 },
				`saved an unknown part of $0.72 in 35 requests${tokens}, 35 requests estimated, without a saving: the upstream reports no usage`,
			],
			[
				"below zero",
				{ usdSaved: -0.02 },
				`cost $0.02 more than without edits in 35 requests: an edit makes the provider read what follows once more, and this ended before that had paid${tokens}`,
			],
		])("%s", async (_, more, text) => {
			expect(await line(more)).toBe(`${text}; see palimpsest stats`);
			expect(await line(more, false)).toBe(text);
		});
	});

	it("claims no ratio for requests whose answer tells no usage", async () => {
		expect(await closingAfter([request], { body: '{"usage":{"input_tokens":0,"output_tokens":0}}' })).toMatch(
			/, 1 request estimated, without a saving: the upstream reports no usage; see palimpsest stats$/,
		);
	});

	it("says what a program pays that asks for no cache", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		const bill = { asked: 4, requests: 4, billed: 900, billedUnedited: 1_000, untoldBilled: 0, untoldRequests: 0 };
		const totals = { ...proxy.totals(), ...bill, unasked: { requests: 3, billed: 90_000, usd: 0.27 } };
		expect(closingText(totals, { address: proxy.url, isKept: true })).toContain(
			", 3 requests without cache_control, which a Claude model needs to cache: $0.27 more than with it",
		);
	});

	it("counts pings that keep a cache warm as a cost", async () => {
		const proxy = await startProxyTo("http://127.0.0.1:9");
		const totals = {
			...{ ...proxy.totals(), asked: 4, requests: 4, tokensLeftOut: 9, usd: 0.9, usdSaved: 0.3 },
			keptWarm: { pings: 2, billed: 300, usd: 0.1, failed: 0 },
		};
		const line = closingText(totals, { address: proxy.url, isKept: true });
		expect(line).toContain("saved $0.20 of $1.20 (17 %) in 4 requests");
		expect(line).toContain(", 2 pings kept caches warm (billed 300)");
	});

	it("counts threads, and requests in an unreadable encoding", async () => {
		const thread = {
			...request,
			body: JSON.stringify({ ...JSON.parse(String(request.body)), thread: { type: "continue" } }),
		};
		const encoded = { ...request, headers: { ...request.headers, "Content-Encoding": "unknown" } };
		expect(await closingAfter([thread, encoded])).toBe(
			"2 requests passed, none with a conversation, 1 thread of new messages alone, which cannot be edited, 1 request in an encoding that cannot be read",
		);
	});

	it("names requests whose messages fit no format, and so does the status", async () => {
		const messages = [{ who: "user", says: "Hello." }];
		const odd = { ...request, body: JSON.stringify({ model: "claude-sonnet-4-5", messages }) };
		expect(await closingAfter([odd, odd])).toBe(
			"2 requests passed, none with a conversation, 2 requests without new decisions (the messages fit no format: 2)",
		);
		const upstream = await startUpstream((_, response) => response.writeHead(200).end("{}"));
		const proxy = await startProxyTo(upstream.url);
		await sendSettled(proxy, odd);
		const { undecided, faults, requests } = await statusOf(proxy);
		expect([undecided, faults.failed, requests.passed]).toEqual([{ no_format: 1 }, 0, 1]);
	});
});
