import { describe, expect, it } from "vitest";
import type { Archive } from "../../../src/storage/archive/archive.ts";
import { openArchive } from "../../../src/storage/archive/open.ts";
import { type Api, createProviderCache } from "../../support/provider-cache.ts";
import { usualPrices } from "../../support/stand-in-provider.ts";
import { sendSettled } from "../played.ts";
import { requestOf, type SessionApi, sessionApis, textsIn, turnsOf } from "../sessions.ts";
import { startProxyTo, startUpstream } from "../upstream.ts";

const names: Readonly<Record<SessionApi, Api>> = {
	anthropic: "anthropic",
	chat: "openai-chat",
	responses: "openai-responses",
	gemini: "gemini",
};

/** The original of each placeholder that the proxy put into a request. */
function placeholdersIn(came: string, sent: string): Map<string, string> {
	const originals = textsIn(JSON.parse(came));
	const found = textsIn(JSON.parse(sent)).map((text, place) => [text, originals[place] as string] as const);
	return new Map(found.filter(([text, original]) => text !== original));
}

/** The input of a session at the prices of a provider whose cache keeps everything. */
function billOf(api: SessionApi, bodies: readonly string[]): number {
	const use = createProviderCache(() => 0);
	return bodies.reduce((sum, body) => {
		const { uncached, cacheRead, written } = use(names[api], "model", JSON.parse(body));
		return sum + uncached + cacheRead * usualPrices.cacheRead + written * usualPrices.cacheWrite;
	}, 0);
}

/** Requests within which a break must pay. One at the very end of a session cannot: nobody knows that it ends. */
const paysWithin = 10;

describe.each(sessionApis)("the bill by the end of a session (%s)", (api) => {
	it.each([
		[35, 12_000],
		[60, 6_000],
	])("of %d turns of %d characters is higher without any one break, but for the last", async (count, chars) => {
		const upstream = await startUpstream();
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const proxy = await startProxyTo(upstream.url, { archive });
		const turns = turnsOf(count, chars);
		const came: string[] = [];
		for (let shown = 0; shown <= count; shown += 1) {
			const request = requestOf(api, turns.slice(0, shown));
			came.push(String(request.body));
			await sendSettled(proxy, request);
		}
		const sent = upstream.received.map(({ body }) => body.toString());
		const placeholders = sent.map((body, index) => placeholdersIn(came[index] as string, body));
		const billed = billOf(api, sent);
		const acts = placeholders.flatMap((now, index) => {
			const before = placeholders[index - 1];
			const fresh = Array.from(now).filter(([text]) => !before?.has(text));
			return fresh.length === 0 ? [] : [{ index, fresh }];
		});
		expect(acts.length).toBeGreaterThan(0);
		const gains = acts.map(({ index, fresh }) => {
			const without = sent.map((body, request) =>
				request < index
					? body
					: fresh.reduce(
							(left, [text, original]) => left.replace(JSON.stringify(text), () => JSON.stringify(original)),
							body,
						),
			);
			expect(without.at(-1)).not.toBe(sent.at(-1));
			return { request: index, results: fresh.length, gain: Math.round(billOf(api, without) - billed) };
		});
		const early = gains.filter(({ request }) => request <= count - paysWithin);
		expect(early.length).toBeGreaterThan(0);
		expect(early.filter(({ gain }) => gain < 0)).toEqual([]);
		// What a break costs that came too late is little.
		const raw = billOf(api, came);
		for (const { gain } of gains) expect(gain).toBeGreaterThan(-0.05 * raw);
		expect(billed).toBeLessThan(raw);
	});
});
