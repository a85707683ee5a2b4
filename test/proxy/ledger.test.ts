import type { ServerResponse } from "node:http";
import zlib from "node:zlib";
import { describe, expect, it } from "vitest";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { createLedger } from "../../src/proxy/ledger.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { plainFacts, play, sendSettled, statusOf } from "./played.ts";
import { requestOf, type SessionApi, sessionApis, turnsOf } from "./sessions.ts";
import { type Received, send, startProxyTo, startUpstream, until } from "./upstream.ts";

const turns = turnsOf(30, 10_000);

/** A provider with an endless cache: what stands at the start of the request before is read from it. */
function cachingProvider(api: SessionApi) {
	let before = "";
	const bills: { input: number; read: number }[] = [];
	return {
		bills,
		answer({ body }: Received, response: ServerResponse): void {
			const text = body.toString().replace(/,\s*"cache_control": \{\s*"type": "ephemeral"\s*\}/g, "");
			let same = 0;
			while (same < before.length && before[same] === text[same]) same += 1;
			before = text;
			const input = Math.round(text.length / 4);
			const read = Math.round(same / 4);
			bills.push({ input, read });
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(JSON.stringify(answers[api](input, read)));
		},
	};
}

const answers: Readonly<Record<SessionApi, (input: number, read: number) => unknown>> = {
	anthropic: (input, read) => ({
		usage: {
			input_tokens: 3,
			cache_read_input_tokens: read,
			cache_creation_input_tokens: input - read - 3,
			output_tokens: 7,
		},
	}),
	chat: (input, read) => ({
		usage: { prompt_tokens: input, completion_tokens: 7, prompt_tokens_details: { cached_tokens: read } },
	}),
	responses: (input, read) => ({
		usage: { input_tokens: input, output_tokens: 7, input_tokens_details: { cached_tokens: read } },
	}),
	gemini: (input, read) => ({
		usageMetadata: {
			promptTokenCount: input,
			cachedContentTokenCount: read,
			candidatesTokenCount: 4,
			thoughtsTokenCount: 3,
		},
	}),
};

describe.each(sessionApis)("the ledger of a session (%s)", (api) => {
	it("holds the provider's own bill, and the bill of the unedited requests", async () => {
		const provider = cachingProvider(api);
		const upstream = await startUpstream(provider.answer);
		const archive = await openArchive({ where: "memory" });
		const proxy = await startProxyTo(upstream.url, { archive });
		const plain = cachingProvider(api);
		const nobody = { writeHead: () => {}, end: () => {} } as unknown as ServerResponse;
		for (let count = 0; count <= turns.length; count += 1) {
			const request = requestOf(api, turns.slice(0, count));
			await sendSettled(proxy, request);
			plain.answer({ body: Buffer.from(request.body as string) } as Received, nobody);
		}
		await until(() => proxy.totals().requests === turns.length + 1);
		const billOf = (bills: typeof provider.bills) =>
			bills.reduce((sum, { input, read }) => {
				const written = input - read;
				if (api === "anthropic") return sum + read * 0.1 + (written - 3) * 1.25 + 3;
				return sum + read * 0.1 + written;
			}, 0);
		const totals = proxy.totals();
		expect(totals.billed).toBeCloseTo(billOf(provider.bills), 3);
		// It is estimated by whole messages.
		expect(totals.billedUnedited / billOf(plain.bills)).toBeGreaterThan(0.93);
		expect(totals.billedUnedited / billOf(plain.bills)).toBeLessThan(1.07);
		expect(totals.tokensSent).toBe(provider.bills.reduce((sum, { input }) => sum + input, 0));
		const came = plain.bills.reduce((sum, { input }) => sum + input, 0);
		expect((totals.tokensSent + totals.tokensLeftOut) / came).toBeGreaterThan(0.93);
		expect((totals.tokensSent + totals.tokensLeftOut) / came).toBeLessThan(1.07);
		const { conversations, requests, edited } = await statusOf(proxy);
		expect(conversations).toHaveLength(1);
		expect(conversations[0]).toMatchObject({ requests: 31, output_tokens: 7 * 31, state: "edited" });
		expect(requests.edited).toBeGreaterThan(5);
		expect(edited.ratio).toBeCloseTo(totals.billed / totals.billedUnedited, 2);
		expect(edited.ratio).toBeLessThan(0.95);
	});
});

describe("usage", () => {
	const events = (...data: readonly unknown[]) =>
		data.map((one) => `event: any\ndata: ${JSON.stringify(one)}\n\n`).join("");
	const streams: Readonly<Record<SessionApi, string>> = {
		anthropic: events(
			{
				type: "message_start",
				message: {
					usage: { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 },
				},
			},
			{ type: "content_block_delta", delta: { text: 'Its "usage": {"input_tokens": 999} is a quotation.' } },
			{ type: "message_delta", usage: { output_tokens: 50, input_tokens: null } },
		),
		chat: `${events({ choices: [{ delta: {} }], usage: null }, { choices: [], usage: { prompt_tokens: 125, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 100 } } })}data: [DONE]\n\n`,
		responses: events(
			{ type: "response.created", response: { usage: null } },
			{
				type: "response.completed",
				response: { usage: { input_tokens: 125, output_tokens: 50, input_tokens_details: { cached_tokens: 100 } } },
			},
		),
		gemini: events(
			{ usageMetadata: { promptTokenCount: 125, cachedContentTokenCount: 100 } },
			{ usageMetadata: { promptTokenCount: 125, cachedContentTokenCount: 100, candidatesTokenCount: 50 } },
		),
	};

	it.each(
		sessionApis.flatMap((api) => (["identity", "gzip", "br"] as const).map((encoding) => [api, encoding] as const)),
	)("is read from a stream of %s (%s) in pieces of any size, and the bytes pass unchanged", async (api, encoding) => {
		const plain = Buffer.from(streams[api]);
		const bytes =
			encoding === "gzip" ? zlib.gzipSync(plain) : encoding === "br" ? zlib.brotliCompressSync(plain) : plain;
		const upstream = await startUpstream((_, response) => {
			const headers = {
				"Content-Type": "text/event-stream",
				...(encoding !== "identity" && { "Content-Encoding": encoding }),
			};
			response.writeHead(200, headers);
			for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
			response.end();
		});
		const proxy = await startProxyTo(upstream.url);
		const got = await send(proxy.url, requestOf(api, turns.slice(0, 2)));
		expect(got.body).toEqual(bytes);
		await until(() => proxy.totals().requests === 1);
		expect(proxy.totals().tokensSent).toBe(125);
		expect((await statusOf(proxy)).edited).toMatchObject({ output_tokens: 50, cache_read_tokens: 100 });
	});

	it("with the lifetimes of written tokens is billed at both prices", async () => {
		const upstream = await startUpstream((_, response) => {
			const cache_creation = { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 300 };
			const usage = {
				input_tokens: 10,
				cache_creation_input_tokens: 400,
				cache_read_input_tokens: 1_000,
				cache_creation,
			};
			response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ usage }));
		});
		const proxy = await startProxyTo(upstream.url);
		await send(proxy.url, requestOf("anthropic", turns.slice(0, 2)));
		await until(() => proxy.totals().requests === 1);
		expect(proxy.totals().billed).toBeCloseTo(10 + 100 + 100 * 1.25 + 300 * 2, 6);
	});

	it("that cannot be a count of tokens is unknown, so that the bill is an estimate without a saving", async () => {
		const usage =
			'{"usage":{"prompt_tokens":-1e308,"prompt_tokens_details":{"cached_tokens":1e308},"completion_tokens":1e999}}';
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(usage);
		});
		const proxy = await startProxyTo(upstream.url);
		for (let time = 0; time < 2; time += 1) await send(proxy.url, requestOf("chat", turns.slice(0, 2)));
		await until(() => proxy.totals().requests === 2);
		const { edited, conversations } = await statusOf(proxy);
		for (const one of [edited, ...conversations])
			expect(one).toMatchObject({ output_tokens: 0, estimated_requests: 2, ratio: null, usd_saved: null });
		expect(edited.billed).toBeGreaterThan(2_000);
	});

	it("that an answer does not report is estimated", async () => {
		const upstream = await startUpstream((_, response) => response.end("no JSON"));
		const proxy = await startProxyTo(upstream.url);
		await send(proxy.url, requestOf("chat", turns.slice(0, 2)));
		await until(() => proxy.totals().requests === 1);
		expect(proxy.totals().tokensSent).toBeGreaterThan(2_000);
		expect(proxy.totals().billed).toBeGreaterThan(2_000);
	});

	it("that an answer does not tell is estimated in the provider's tokens", async () => {
		const answers = [{ usage: { prompt_tokens: 50_000 } }, {}];
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(JSON.stringify(answers.shift()));
		});
		const proxy = await startProxyTo(upstream.url);
		for (let time = 0; time < 2; time += 1) await send(proxy.url, requestOf("chat", turns.slice(0, 2)));
		await until(() => proxy.totals().requests === 2);
		expect(proxy.totals()).toMatchObject({ tokensSent: 100_000, tokensLeftOut: 0 });
	});

	it.each([
		["anthropic", { type: "error", error: { type: "overloaded_error" } }],
		["chat", { error: { code: "server_error" }, choices: [{ delta: { content: "" }, finish_reason: "error" }] }],
		["responses", { type: "response.failed", response: { error: { code: "server_error" }, usage: null } }],
		["responses", { type: "error", code: "server_error" }],
		["gemini", { error: { code: 503, status: "UNAVAILABLE" } }],
	] as const)("is none where an answer of %s with status 200 has failed: %j", async (api, error) => {
		const upstream = await startUpstream((_, response) => {
			response.writeHead(200, { "Content-Type": "text/event-stream" }).end(events(error));
		});
		const proxy = await startProxyTo(upstream.url);
		await send(proxy.url, requestOf(api, turns.slice(0, 2)));
		await until(() => proxy.totals().failed === 1);
		expect(proxy.totals()).toMatchObject({ asked: 1, requests: 0, billed: 0 });
	});
});

describe("held-out conversations", () => {
	it("are never edited, and their share is kept", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url, { holdout: 0.5 });
		let heldOut = 0;
		for (let session = 0; session < 40; session += 1) {
			const large = turnsOf(2, 20_000).map((turn) => ({ ...turn, id: `${turn.id}s${session}` }));
			await play(proxy, large);
			const [first, second] = upstream.received.slice(-2).map(({ body }) => body.toString());
			const isHeldOut = first === requestOf("anthropic", large.slice(0, 1)).body;
			expect(second === requestOf("anthropic", large).body).toBe(isHeldOut);
			if (isHeldOut) heldOut += 1;
		}
		expect(heldOut).toBeGreaterThan(8);
		expect(heldOut).toBeLessThan(32);
		const { held_out, undecided } = await statusOf(proxy);
		expect([held_out.requests, undecided]).toEqual([2 * heldOut, { held_out: 2 * heldOut }]);
	});
});

describe("the names of models and tools", () => {
	it("stay on one line and have a limit", () => {
		const ledger = createLedger({ now: () => 0 });
		const name = `\u001b[2Jname\r\nall: 0 requests\u202e\u2028${"x".repeat(1_000_000)}`;
		const result = {
			key: "1",
			message: 2,
			isNew: true,
			reason: "masked",
			why: "it pays",
			toolName: name,
			ref: undefined,
		} as const;
		const facts = {
			...plainFacts,
			model: name,
			terms: cacheTerms({}, "openai", policyOf().prices),
			results: [{ ...result, tokensBefore: 9, tokensAfter: 1 }],
		} as const;
		ledger.enter(facts, { api: "openai", wasEdited: true, usage: undefined });
		const [conversation] = ledger.status().conversations;
		for (const shown of [conversation?.model, conversation?.results[0]?.tool]) {
			expect(shown).toMatch(/^\[2Jname all: 0 requests x+…$/);
			expect(shown?.length).toBeLessThan(110);
		}
	});
});

describe("the status of many conversations", () => {
	it("has the sums of all, and the requests and results of the latest twenty", async () => {
		const upstream = await startUpstream();
		const proxy = await startProxyTo(upstream.url);
		for (let session = 0; session < 25; session += 1) {
			const own = turns.slice(0, 2).map((turn) => ({ ...turn, id: `${turn.id}s${session}` }));
			await send(proxy.url, requestOf("anthropic", own));
		}
		await until(() => proxy.totals().requests === 25);
		const { conversations } = (await statusOf(proxy)) as {
			conversations: { requests: number; points: unknown[]; results: unknown[] }[];
		};
		expect(conversations.map(({ requests }) => requests)).toEqual(new Array(25).fill(1));
		expect(conversations.map(({ points }) => points.length)).toEqual([
			...new Array(20).fill(1),
			...new Array(5).fill(0),
		]);
	});
});
