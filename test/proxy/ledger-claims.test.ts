import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import type { SizedPart } from "../../src/proxy/billing/unedited-bill.ts";
import type { Usage } from "../../src/proxy/billing/usage.ts";
import { closingText } from "../../src/proxy/closing.ts";
import { createLedger } from "../../src/proxy/ledger.ts";
import { billText } from "../../src/proxy/ledger-text.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { policyOf } from "../support/policy-of.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { plainFacts, sendSettled, statusOf } from "./played.ts";
import { requestOf, type SessionApi, turnsOf } from "./sessions.ts";
import { type Received, type Sent, sendOwn, startProxyTo, startUpstream, until } from "./upstream.ts";

const turns = turnsOf(30, 10_000);

/** A provider with an endless cache; `prefixOf` is the text of a request by which it looks there. */
function cachingProvider(prefixOf = (body: string) => body) {
	let before = "";
	let billed = 0;
	const usageOf = (body: string) => {
		const text = prefixOf(body).replace(/,\s*"cache_control": \{\s*"type": "ephemeral"\s*\}/g, "");
		let same = 0;
		while (same < before.length && before[same] === text[same]) same += 1;
		before = text;
		const [whole, read] = [Math.round(text.length / 4), Math.round(same / 4)];
		billed += read * 0.1 + (whole - read) * 1.25;
		return {
			input_tokens: 0,
			cache_read_input_tokens: read,
			cache_creation_input_tokens: whole - read,
			output_tokens: 7,
		};
	};
	return {
		billed: () => billed,
		bill: ({ body }: Sent) => void usageOf(String(body)),
		answer: ({ body }: Received, response: ServerResponse) => {
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(JSON.stringify({ usage: usageOf(body.toString()) }));
		},
	};
}

describe("the bill of the unedited requests", () => {
	it("goes on after a resume in another process where the provider's cache is", async () => {
		const [provider, plain] = [cachingProvider(), cachingProvider()];
		const upstream = await startUpstream(provider.answer);
		const archive = await openArchive({ where: "memory" });
		const shared = { archive, memoryFolder: await scratchFolder() };
		const one = await startProxyTo(upstream.url, shared);
		for (let count = 0; count < 29; count += 1) {
			const request = requestOf("anthropic", turns.slice(0, count));
			await sendSettled(one, request);
			plain.bill(request);
		}
		await until(() => one.totals().requests === 29);
		expect((await statusOf(one)).edited.ratio).toBeLessThan(0.97);
		await one.close();
		const before = [provider.billed(), plain.billed()] as const;
		const other = await startProxyTo(upstream.url, shared);
		const request = requestOf("anthropic", turns.slice(0, 29));
		await sendSettled(other, request);
		plain.bill(request);
		await until(() => other.totals().requests === 1);
		const totals = other.totals();
		expect(totals.billed).toBeCloseTo(provider.billed() - before[0], 3);
		expect(totals.billedUnedited / (plain.billed() - before[1])).toBeGreaterThan(0.8);
		expect(totals.billedUnedited / (plain.billed() - before[1])).toBeLessThan(1.25);
	});

	it("does not count the billing header of Claude Code, which differs in each request", async () => {
		const withoutHeader = (body: string) => body.replace(/cch=\d+/, "");
		const [provider, plain] = [cachingProvider(withoutHeader), cachingProvider(withoutHeader)];
		const upstream = await startUpstream(provider.answer);
		const proxy = await startProxyTo(upstream.url, { archive: await openArchive({ where: "memory" }) });
		for (let count = 0; count <= turns.length; count += 1) {
			const request = requestOf("anthropic", turns.slice(0, count));
			const body = JSON.parse(String(request.body));
			body.system.unshift({ type: "text", text: `x-anthropic-billing-header: cc_version=2.1; cch=${count * 7_919};` });
			const headed = { ...request, body: JSON.stringify(body, null, 1) };
			await sendSettled(proxy, headed);
			plain.bill(headed);
		}
		await until(() => proxy.totals().requests === turns.length + 1);
		const { billed, billedUnedited, untoldRequests } = proxy.totals();
		const honest = provider.billed() / plain.billed();
		expect(untoldRequests).toBe(0);
		expect(billed / billedUnedited / honest).toBeGreaterThan(0.93);
		expect(billed / billedUnedited / honest).toBeLessThan(1.07);
	});

	it.each(["chat", "responses", "anthropic"] as const)(
		"counts all tokens where no read is ever reported (%s)",
		async (api: SessionApi) => {
			let [sent, came] = [0, 0];
			const upstream = await startUpstream(({ body }, response) => {
				const tokens = Math.ceil(body.length / 4);
				sent += tokens;
				const usage =
					api === "chat" ? { prompt_tokens: tokens, completion_tokens: 1 } : { input_tokens: tokens, output_tokens: 1 };
				response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ usage }));
			});
			const proxy = await startProxyTo(upstream.url, { archive: await openArchive({ where: "memory" }) });
			for (let count = 1; count <= turns.length; count += 1) {
				const request = requestOf(api, turns.slice(0, count));
				came += Math.ceil(String(request.body).length / 4);
				await sendSettled(proxy, request);
			}
			await until(() => proxy.totals().requests === turns.length);
			const { edited, conversations } = await statusOf(proxy);
			expect(edited.billed).toBe(sent);
			expect(edited.ratio / (sent / came)).toBeGreaterThan(0.93);
			expect(edited.ratio / (sent / came)).toBeLessThan(1.07);
			expect(edited.ratio).toBeLessThan(0.6);
			expect(edited.uncached_requests).toBeGreaterThan(15);
			expect(conversations[0].uncached_requests).toBe(proxy.totals().uncachedRequests);
			const page = (await sendOwn(proxy.url, { path: "/palimpsest/" })).body.toString();
			expect(page).toContain("priced without a cache");
		},
	);
});

const closing = (ledger: ReturnType<typeof createLedger>) =>
	closingText(ledger.totals(), { address: "http://127.0.0.1:8787", isKept: false });

describe("an unknown bill", () => {
	const { prices } = policyOf();
	const messages = [{ content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] }];
	const terms = cacheTerms({ model: "claude-opus-5", messages }, "anthropic", prices);
	const usageOf = (cacheRead: number, cacheWrite: number): Usage => ({ input: 0, cacheRead, cacheWrite, output: 3 });

	/** A request of 41 000 tokens, of which 21 000 are sent. `start` names its system prompt. */
	function enter(ledger: ReturnType<typeof createLedger>, conversation: string, start: string, usage: Usage) {
		const unedited: SizedPart[] = [
			{ key: start, tokens: 1_000 },
			{ key: "result", tokens: 20_500 },
			{ key: "more", tokens: 19_500 },
		];
		const sent = unedited.map((part) => (part.key === "result" ? { key: "masked", tokens: 500 } : part));
		const facts = {
			...plainFacts,
			conversation,
			model: "claude-opus-5",
			terms,
			parts: () => ({ unedited, sent }),
		} as const;
		ledger.count("requests");
		return ledger.enter(facts, { api: "anthropic", wasEdited: true, usage });
	}

	it("is shown as tokens alone, from the first request of its conversation on", () => {
		const ledger = createLedger({ now: () => 0 });
		enter(ledger, "known", "same", usageOf(0, 21_000));
		const { repeated } = enter(ledger, "known", "same", usageOf(21_000, 0));
		expect(repeated).toBe(21_000);
		const before = ledger.totals();
		expect(before.untoldRequests).toBe(0);
		for (let count = 0; count < 3; count += 1)
			enter(ledger, "unknown", `a prompt with ${count}`, usageOf(20_000, 1_000));
		const { edited, conversations } = ledger.status();
		const [unknown, known] = conversations;
		expect(unknown).toMatchObject({
			tokens_sent: 63_000,
			billed: 9_750,
			billed_unedited: null,
			ratio: null,
			untold_requests: 3,
		});
		expect(unknown?.points.map(([, , , unedited]) => unedited)).toEqual([0, 0, 0]);
		expect(known).toMatchObject({ untold_requests: 0, ratio: expect.any(Number) });
		expect(edited).toMatchObject({ requests: 5, untold_requests: 3, untold_billed: 9_750, ratio: known?.ratio });
		expect(unknown).toMatchObject({ usd: expect.any(Number), usd_saved: null, usd_untold_requests: 3 });
		expect(known?.usd_saved).toBeGreaterThan(0);
		expect(edited).toMatchObject({ usd_saved: known?.usd_saved, usd_untold_requests: 3, unpriced_requests: 0 });
		const { billed, billedUnedited, untoldRequests, untoldBilled } = ledger.totals();
		expect([untoldRequests, untoldBilled, billed]).toEqual([3, 9_750, before.billed + 9_750]);
		expect(billedUnedited).toBeCloseTo(before.billedUnedited, 6);
		expect(closing(ledger)).toMatch(
			/^saved \$0\.\d\d in 2 of 5 requests, .*, 3 requests without a known unedited bill$/,
		);
		expect(billText(edited)).toContain("for 3 requests the unedited bill is unknown");
	});

	it("has no ratio if no bill is known", () => {
		const ledger = createLedger({ now: () => 0 });
		for (const start of ["a", "b"]) enter(ledger, "unknown", start, usageOf(20_000, 1_000));
		const { edited } = ledger.status();
		expect(edited).toMatchObject({ billed_unedited: null, ratio: null });
		expect(closing(ledger)).toMatch(/^saved an unknown part of \$0\.\d\d in 2 requests, /);
		expect(billText(edited)).not.toContain("×");
		expect(createLedger({ now: () => 0 }).status().edited).toMatchObject({ billed_unedited: 0, ratio: 1 });
	});
});

it("a ledger without requests claims no bill", () => {
	const ledger = createLedger({ now: () => 0 });
	expect(closing(ledger)).toMatch(/^no request passed the proxy at http/);
	expect(billText(ledger.status().edited)).toBe("0");
});

const ofAnthropic = /,\s*"cache_control": \{\s*"type": "ephemeral"\s*\}/g;

it.each([
	["never asks for a cache", "anthropic", (body: string) => body.replaceAll(ofAnthropic, ""), 2],
	["asks for one", "anthropic", (body: string) => body, 0],
	["never asks a gateway with OpenAI's API for one", "chat", behindGateway({}), 2],
	["asks such a gateway for one", "chat", behindGateway({ cache_control: { type: "ephemeral" } }), 0],
	[
		"lets LiteLLM set the marks",
		"chat",
		behindGateway({ cache_control_injection_points: [{ location: "message" }] }),
		0,
	],
	["uses a model that caches by itself", "chat", (body: string) => body, 0],
] as const)("the ledger tells what a program pays more that %s", async (_, api, written, unasked) => {
	const input = 5_000;
	const upstream = await startUpstream((_, response) => {
		response.writeHead(200, { "Content-Type": "application/json" });
		response.end(JSON.stringify(answerOf(api, { input, read: 0 })));
	});
	const proxy = await startProxyTo(upstream.url);
	for (const count of [4, 5, 6]) {
		const { body, ...rest } = requestOf(api, turnsOf(count, 1_000));
		await sendSettled(proxy, { ...rest, body: written(String(body)) });
	}
	const { requests, billed, usd } = proxy.totals().unasked;
	expect([requests, usd > 0]).toEqual([unasked, unasked > 0]);
	// Two of three requests could read most of their input at a tenth of its price.
	if (unasked > 0) expect(billed / (2 * input)).toBeGreaterThan(0.4);
	expect(billed / (2 * input)).toBeLessThan(0.9);
});

it("the ledger blames no program whose gateway asks for the cache itself", async () => {
	const upstream = await startUpstream((_, response) => {
		response.writeHead(200, { "Content-Type": "application/json" });
		response.end(JSON.stringify(answerOf("chat", { input: 5_000, read: 4_000 })));
	});
	const proxy = await startProxyTo(upstream.url);
	for (const count of [4, 5, 6]) {
		const { body, ...rest } = requestOf("chat", turnsOf(count, 1_000));
		await sendSettled(proxy, { ...rest, body: behindGateway({})(String(body)) });
	}
	expect(proxy.totals().unasked.requests).toBe(0);
});

function behindGateway(added: object) {
	return (body: string) => JSON.stringify({ ...JSON.parse(body), model: "anthropic/claude-sonnet-4.5", ...added });
}

function answerOf(api: "anthropic" | "chat", { input, read }: { readonly input: number; readonly read: number }) {
	if (api === "anthropic") return { type: "message", content: [], usage: { input_tokens: input, output_tokens: 7 } };
	const usage = { prompt_tokens: input, completion_tokens: 7, prompt_tokens_details: { cached_tokens: read } };
	return { object: "chat.completion", choices: [], usage };
}
