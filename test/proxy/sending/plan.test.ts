import { describe, expect, it } from "vitest";
import { inFrame } from "../../../src/engine/conversation/transcript.ts";
import { readConversation } from "../../../src/formats/detect.ts";
import { shortenText } from "../../../src/operations/truncate-stream.ts";
import { charsCheck } from "../../../src/operations/truncation-limit.ts";
import { policyOf } from "../../support/policy-of.ts";
import { protocolConversation, protocolSamples } from "../../support/text-protocols.ts";
import { sendSettled, startPlayed, statusOf } from "../played.ts";
import { isMasked, maskedIn, requestOf, sessionApis, turnsOf } from "../sessions.ts";

const minute = 60_000;

describe("after a pause longer than the lifetime of the provider's cache", () => {
	const turns = turnsOf(16, 15_000);
	const shown = (texts: readonly string[]) => turns.filter(({ output }) => texts.includes(output)).length;

	it.each(sessionApis)(
		"every candidate is masked at once and stays masked, in the same process and in a new one: %s",
		async (api) => {
			for (const isResumed of [false, true]) {
				const session = await startPlayed();
				const proxy = await session.start();
				for (let count = 1; count <= 11; count += 1) {
					await sendSettled(proxy, requestOf(api, turns.slice(0, count)));
					session.wait(minute);
				}
				expect(shown(session.lastTexts())).toBe(11);
				session.wait(6 * minute);
				const next = isResumed ? await session.start() : proxy;
				await sendSettled(next, requestOf(api, turns.slice(0, 11)));
				const after = shown(session.lastTexts());
				expect(after).toBeLessThan(11);
				const texts = session.lastTexts();
				session.wait(minute);
				await sendSettled(next, requestOf(api, turns.slice(0, 12)));
				expect(shown(session.lastTexts())).toBe(after + 1);
				for (const text of texts.filter(isMasked)) expect(session.lastTexts()).toContain(text);
			}
		},
	);

	const samples = protocolSamples.filter(({ name }) => /^(?:SWE-agent|Roo Code|ReAct)$/.test(name));

	it.each(samples)("observations are masked in their frames, and stay so: $name", async (sample) => {
		const session = await startPlayed();
		const proxy = await session.start();
		const request = (count: number) => {
			const outputs = turns.slice(0, count).map(({ output }) => output);
			const body = JSON.stringify({ model: "gpt-5", messages: protocolConversation(sample, outputs) });
			return { ...requestOf("chat", []), body };
		};
		const outputsIn = (texts: readonly string[]) =>
			turns.filter(({ output }) => texts.some((text) => text.includes(output))).length;
		for (let count = 1; count <= 11; count += 1) await sendSettled(proxy, request(count));
		session.wait(6 * minute);
		await sendSettled(proxy, request(11));
		const after = outputsIn(session.lastTexts());
		expect(after).toBeLessThan(11);
		const { messages } = JSON.parse(session.lastBody());
		await sendSettled(proxy, request(12));
		expect(outputsIn(session.lastTexts())).toBe(after + 1);
		const next = JSON.parse(session.lastBody()).messages;
		expect(next.slice(0, messages.length)).toEqual(messages);
		const frames = (document: unknown) =>
			readConversation(document).transcript.messages.map(({ results }) =>
				results.flatMap(({ texts }) => texts.map((text) => inFrame(text, ""))),
			);
		expect(frames(next)).toEqual(frames(JSON.parse(request(12).body).messages));
	});

	it("means an hour where the request asks for it", async () => {
		const session = await startPlayed();
		const proxy = await session.start();
		const request = (count: number) => {
			const { body, ...rest } = requestOf("anthropic", turns.slice(0, count));
			return { ...rest, body: String(body).replaceAll('"ephemeral"', '"ephemeral", "ttl": "1h"') };
		};
		for (let count = 1; count <= 11; count += 1) await sendSettled(proxy, request(count));
		expect(shown(session.lastTexts())).toBe(11);
		session.wait(50 * minute);
		await sendSettled(proxy, request(11));
		expect(shown(session.lastTexts())).toBe(11);
		session.wait(61 * minute);
		await sendSettled(proxy, request(11));
		expect(shown(session.lastTexts())).toBeLessThan(11);
	});
});

describe("a result that a hook has shortened", () => {
	it("is not cut again, and is masked under the reference of the whole", async () => {
		const policy = policyOf({ preset: "balanced", mask: { thrift: "high" } });
		const session = await startPlayed({ policy });
		const proxy = await session.start();
		const whole = turnsOf(1, 90_000)[0]?.output as string;
		const [ref = ""] = await session.archive.put([{ kind: "text", text: whole }]);
		const text = (await shortenText({
			text: whole,
			policy,
			archive: session.archive,
			command: "palimpsest",
			check: charsCheck(30_000),
			how: { htmlToText: undefined },
		})) as string;
		expect(text.length).toBeGreaterThan(20_000);
		const turns = turnsOf(24, 6_000).map((turn, index) => (index === 0 ? { ...turn, output: text } : turn));
		await sendSettled(proxy, requestOf("anthropic", turns.slice(0, 1)));
		expect(session.lastTexts()).toContain(text);
		for (let count = 2; count <= 24; count += 1)
			await sendSettled(proxy, requestOf("anthropic", turns.slice(0, count)));
		const [placeholder = "", ...more] = session.lastTexts().filter((one) => one.includes(ref));
		expect(more).toEqual([]);
		expect(placeholder.length).toBeLessThan(300);
	});
});

describe("a request that would pass a limit is masked first, against the schedule:", () => {
	const turns = turnsOf(36, 8_000);
	/** About three characters a token, which is less than the tokens that are counted here. */
	const tokensOf = (body: string) => Math.round(body.length / 3);

	async function playNear(model: string, layer: Parameters<typeof policyOf>[0] = {}) {
		const session = await startPlayed({ policy: policyOf({ preset: "balanced", ...layer }) }, ({ body }, response) => {
			const tokens = tokensOf(body.toString());
			const usage = { input_tokens: 3, cache_read_input_tokens: 0, cache_creation_input_tokens: tokens - 3 };
			response.writeHead(200, { "Content-Type": "application/json" });
			response.end(JSON.stringify({ usage: { ...usage, output_tokens: 9 } }));
		});
		const proxy = await session.start();
		for (let count = 1; count <= turns.length; count += 1) {
			const request = requestOf("anthropic", turns.slice(0, count));
			await sendSettled(proxy, { ...request, body: String(request.body).replace("claude-sonnet-4-5", model) });
		}
		const [conversation] = (await statusOf(proxy)).conversations;
		return {
			most: Math.max(...session.bodies().map(tokensOf)),
			first: session.bodies().findIndex((body) => maskedIn(body).length > 0),
			reasons: new Set(conversation.results.map(({ why }: { readonly why: string }) => why)),
		};
	}

	/** A policy that never masks by itself in a session of this length. */
	const rarely = { mask: { window_turns: 2, selection: "age", cadence: "stride", stride_turns: 100 } } as const;

	it("a step of the price", async () => {
		const { most, reasons } = await playNear("claude-haiku-5-5", rarely);
		expect(most).toBeLessThanOrEqual(100_000);
		expect(reasons).toEqual(new Set(["a price step or the window"]));
	});

	it("the window of the model", async () => {
		const guard = { context_window_override: 70_000, reserve_tokens: 10_000 };
		const { most, reasons } = await playNear("claude-sonnet-4-5", { ...rarely, guard });
		expect(most).toBeLessThanOrEqual(60_000);
		expect(reasons).toEqual(new Set(["a price step or the window"]));
	});

	it("and without such a limit it is not", async () => {
		const { most, first } = await playNear("claude-fable-5-2", rarely);
		expect([most > 100_000, first]).toEqual([true, -1]);
	});
});
