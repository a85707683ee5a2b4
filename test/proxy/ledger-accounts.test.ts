import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RequestLine } from "../../src/storage/figures/line.ts";
import { openFigures } from "../../src/storage/figures/store.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { awsFrame } from "../support/stand-in-cloud.ts";
import { early, linesIn, sendSettled, startPlayed } from "./played.ts";
import {
	type Caches,
	messagesApi,
	type PlayedApi,
	playedApis,
	startBooks,
	type UsageKind,
	untoldApi,
	usageKinds,
} from "./provider-books.ts";
import { requestOf, turnsOf } from "./sessions.ts";
import { until } from "./upstream.ts";

const turns = turnsOf(14, 5_000);
const hour = 3_600_000;

/** Every other answer is streamed. The session is resumed at once, and later after the provider's cache has expired. */
async function playAccounted(api: PlayedApi, caches: Caches, kind?: UsageKind) {
	const folder = join(await scratchFolder(), "figures");
	let time = Date.UTC(2026, 10, 28);
	const now = () => time;
	const books = startBooks({ api, caches, now, kind });
	const figures = openFigures({ keep: "all", folder, now });
	const session = await startPlayed({ figures, now, policy: early }, books.answer);
	const upstreams = { [api.upstream]: session.upstream.url };
	let proxy = await session.start({ upstreams });
	for (let count = 1; count <= turns.length; count += 1) {
		time += count === 10 ? 3 * hour : 1_000;
		if (count === 6 || count === 10) {
			await proxy.close();
			proxy = await session.start({ upstreams });
		}
		const request = api.requestAfter(turns.slice(0, count), { streams: count % 2 === 0 });
		await sendSettled(proxy, request).catch(() => {});
	}
	await until(() => proxy.totals().requests === turns.length - 9);
	const lines = await linesIn(folder, "request");
	const sum = (of: (line: RequestLine) => number) => lines.reduce((all, line) => all + of(line), 0);
	return { lines, sum, provider: books.totals };
}

describe.each(playedApis)("the figures of $name", (api) => {
	it.each(["reported", "none"] as const)(
		"sum to the provider's accounts across resumes (caches: %s)",
		async (caches) => {
			const { lines, sum, provider } = await playAccounted(api, caches);
			expect(lines).toHaveLength(provider.requests);
			expect(lines.filter(({ estimated }) => estimated)).toEqual([]);
			expect(sum((line) => line.billed) / provider.billed).toBeCloseTo(1, 2);
			expect(sum((line) => line.usd ?? 0) / provider.dollars).toBeCloseTo(1, 2);
			expect(sum((line) => line.left_out)).toBeGreaterThan(1_000);
			const overSteps = provider.overStep / provider.requests;
			if (api.name.includes("step")) expect(Math.abs(overSteps - 0.5)).toBeLessThan(0.4);
		},
	);
});

describe.each([messagesApi, ...playedApis.filter(({ tariff }) => !tariff.step)])("the figures of $name", (api) => {
	it.each(usageKinds)("sum to the provider's accounts across resumes (usage: %s)", async (kind) => {
		const { lines, sum, provider } = await playAccounted(api, "reported", kind);
		expect(lines).toHaveLength(provider.requests);
		const isTold = ["nested", "tiers", "packed"].includes(kind);
		// Of cut answers half are streamed, and some APIs tell the input of those before they end.
		const untold = isTold ? 0 : kind === "cut" && api.tellsInputFirst ? 2 : 4;
		expect(lines.filter(({ estimated }) => estimated)).toHaveLength(untold);
		expect(lines.filter(({ usd }) => usd === undefined)).toHaveLength(kind === "tiers" && api.otherTier === 0 ? 4 : 0);
		const within = isTold ? 0.001 : 0.01;
		expect(Math.abs(sum((line) => line.billed) / provider.billed - 1)).toBeLessThan(within);
		// How much of an answer was made before it was cut is not told, and the line says so.
		if (kind === "cut") expect(lines.filter(({ cut, estimated }) => cut || estimated)).toHaveLength(4);
		else expect(Math.abs(sum((line) => line.usd ?? 0) / provider.dollars - 1)).toBeLessThan(within);
	});
});

it("the figures have requests that pass unread: signed ones, threads, and those without messages", async () => {
	const folder = join(await scratchFolder(), "figures");
	const ofBedrock = playedApis.find(({ upstream }) => upstream === "bedrock") as PlayedApi;
	const ofResponses = playedApis.find(({ name }) => name.startsWith("Responses")) as PlayedApi;
	const signed =
		"AWS4-HMAC-SHA256 Credential=A/20261128/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0";
	const thread = JSON.stringify({
		model: "gpt-5.6",
		thread: { type: "continue" },
		input: [{ role: "user", content: "Go on." }],
	});
	const cases = [
		[
			ofBedrock,
			{ ...ofBedrock.requestAfter(turns.slice(0, 6), { streams: true }), headers: { authorization: signed } },
		],
		[ofResponses, { ...ofResponses.requestAfter([], { streams: false }), body: thread }],
		[
			ofResponses,
			{ ...ofResponses.requestAfter([], { streams: false }), body: '{"model":"gpt-5.6","input":"A title."}' },
		],
	] as const;
	const figures = openFigures({ keep: "all", folder });
	for (const [api, request] of cases) {
		const books = startBooks({ api, caches: "reported", now: Date.now });
		const session = await startPlayed({ figures }, books.answer);
		const proxy = await session.start({ upstreams: { [api.upstream]: session.upstream.url } });
		await sendSettled(proxy, request);
		const line = (await linesIn(folder, "request")).at(-1);
		expect(line?.billed).toBe(Math.round(books.totals.billed));
		expect(line?.usd).toBeCloseTo(books.totals.dollars, 4);
		expect([line?.unedited, line?.left_out]).toEqual([line?.billed, 0]);
	}
	const lines = await linesIn(folder, "request");
	expect(lines.map(({ undecided }) => undecided)).toEqual(["signed", "thread", undefined]);
	expect(lines[0]?.model).toContain("claude-haiku-5-5");
});

it("the figures have requests of Bedrock's Converse, also without a conversation", async () => {
	const folder = join(await scratchFolder(), "figures");
	const usage = { inputTokens: 3, cacheReadInputTokens: 4_000, cacheWriteInputTokens: 600, outputTokens: 10 };
	const session = await startPlayed({ figures: openFigures({ keep: "all", folder }) }, ({ path }, response) => {
		const isStream = path.endsWith("-stream");
		response.writeHead(200, { "Content-Type": isStream ? "application/vnd.amazon.eventstream" : "application/json" });
		response.end(isStream ? awsFrame(JSON.stringify({ usage, metrics: {} }), "plain") : JSON.stringify({ usage }));
	});
	const proxy = await session.start({ upstreams: { bedrock: session.upstream.url } });
	for (const path of ["converse", "converse-stream"])
		await sendSettled(proxy, {
			method: "POST",
			path: `/model/us.anthropic.claude-opus-5-5-v1%3A0/${path}`,
			body: "{}",
		});
	const line = { input: 3, read: 4_000, write: 600, output: 10, billed: 953, unedited: 953 };
	const lines = await linesIn(folder, "request");
	expect(lines).toMatchObject([line, line]);
	expect(lines[0]).toMatchObject({
		model: "us.anthropic.claude-opus-5-5-v1:0",
		usd: expect.closeTo((953 + 50) * 4.4e-6, 8),
	});
	expect(lines.map(({ undecided }) => undecided)).toEqual([undefined, undefined]);
});

it("the figures of answers without a usage are estimates close to the provider's accounts", async () => {
	const { lines, sum, provider } = await playAccounted(untoldApi, "untold");
	expect(lines.filter(({ estimated }) => estimated)).toHaveLength(provider.requests);
	expect(sum((line) => line.billed) / provider.billed).toBeCloseTo(1, 1);
});

it("the figures have the input of an answer that the program breaks off", async () => {
	const folder = join(await scratchFolder(), "figures");
	const usage = { input_tokens: 3, cache_read_input_tokens: 4_000, cache_creation_input_tokens: 600, output_tokens: 1 };
	const start = { type: "message_start", message: { type: "message", content: [], usage } };
	const session = await startPlayed({ figures: openFigures({ keep: "all", folder }) }, (_, response) => {
		response.writeHead(200, { "Content-Type": "text/event-stream" });
		response.write(`event: message_start\ndata: ${JSON.stringify(start)}\n\n`);
	});
	const proxy = await session.start();
	const { path, headers, body } = requestOf("anthropic", turns.slice(0, 3));
	const leaving = new AbortController();
	const answer = await fetch(proxy.url + path, {
		method: "POST",
		headers: headers as Record<string, string>,
		body: String(body),
		signal: leaving.signal,
	});
	await answer.body?.getReader().read();
	leaving.abort();
	await until(() => proxy.totals().requests === 1);
	expect(await linesIn(folder, "request")).toMatchObject([
		{ input: 3, read: 4_000, write: 600, billed: 3 + 400 + 750 },
	]);
});
