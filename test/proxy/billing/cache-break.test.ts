import { describe, expect, it } from "vitest";
import { breakDollars, type Comparison, findBreak, type SeenRequest } from "../../../src/proxy/billing/cache-break.ts";
import type { RequestHead } from "../../../src/proxy/billing/request-head.ts";
import { cacheTerms } from "../../../src/proxy/billing/terms.ts";
import type { SizedPart } from "../../../src/proxy/billing/unedited-bill.ts";
import type { Usage } from "../../../src/proxy/billing/usage.ts";
import { policyOf } from "../../support/policy-of.ts";

const { prices } = policyOf();
const messages = [{ content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }] }];
const terms = cacheTerms({ model: "claude-opus-4-5", messages }, "anthropic", prices);
const automatic = cacheTerms({ model: "gpt-5" }, "openai", prices);

const head: RequestHead = {
	tools: [
		{ name: "mcp__files__read", hash: "1" },
		{ name: "shell", hash: "2" },
	],
	system: "You are an agent. Today is 2026-11-28. Read with care.",
	systemChars: 54,
};
const headTokens = 5_000;
const ofMessage = 2_000;

/** A request of some messages in turns, of which the sent form of some is another. */
function seenOf(
	count: number,
	what: { readonly changed?: number; readonly masked?: number; readonly head?: string } = {},
	more: Partial<SeenRequest> = {},
): SeenRequest {
	const unedited: SizedPart[] = [
		{ key: what.head ?? "head", tokens: headTokens },
		...Array.from({ length: count }, (_, message) => {
			return { key: message === what.changed ? "other" : `message ${message}`, tokens: ofMessage };
		}),
	];
	const sent = unedited.map((part, at) => (at - 1 === what.masked ? { key: "masked", tokens: 50 } : part));
	return { model: "one", head, settings: {}, parts: { unedited, sent }, usage: usageOf(0, 0), ...more };
}

const usageOf = (cacheRead: number, cacheWrite: number): Usage => ({ input: 0, cacheRead, cacheWrite, output: 0 });

const all = (count: number) => headTokens + count * ofMessage;

/** Before: 20 messages, all cached. Now: 22. */
function compare(now: SeenRequest, read: number, more: Partial<Comparison> = {}) {
	const before = seenOf(20, {}, { usage: usageOf(all(18), 2 * ofMessage) });
	const whole = now.parts.sent.reduce((sum, { tokens }) => sum + tokens, 0);
	return findBreak({
		before,
		now: { ...now, usage: usageOf(read, whole - read) },
		terms,
		isCold: false,
		isResumed: false,
		pause: 1_000,
		roleOf: (message) => (message % 2 === 0 ? "user" : "assistant"),
		changed: [],
		keepsHead: true,
		beginsTurn: () => false,
		...more,
	});
}

describe("the cache of a conversation", () => {
	it("has not broken while all that was cached is read", () => {
		expect(compare(seenOf(22), all(20))).toBeUndefined();
		// Blocks of the provider.
		expect(compare(seenOf(22), all(20) - 1_000)).toBeUndefined();
		// Another model, effort or system prompt breaks nothing by itself.
		expect(compare(seenOf(22, {}, { model: "two", settings: { speed: "fast" } }), all(20))).toBeUndefined();
	});

	it("has not broken where the user went back to an earlier message", () => {
		const back = seenOf(10, { changed: 9 });
		expect(compare(back, all(9))).toBeUndefined();
		expect(compare(back, headTokens)?.cause).toBe("earlier_message");
	});

	const changes = {
		model: { model: "two" },
		tools: { head: { ...head, tools: [...head.tools, { name: "mcp__db__query", hash: "3" }] } },
		system: { head: { ...head, system: head.system.replace("28", "29") } },
		effort: { settings: { "output_config.effort": "high" } },
		earlier_message: {},
		masking: {},
	} as const;
	const order = Object.keys(changes) as (keyof typeof changes)[];
	const subsets = Array.from({ length: 2 ** order.length - 1 }, (_, set) =>
		order.filter((_, bit) => ((set + 1) >> bit) % 2 === 1),
	);

	it("broke for the first of all changes in the order of the prompt, and for a pause before any", () => {
		for (const subset of subsets) {
			const has = (one: keyof typeof changes) => subset.includes(one);
			const heads = {
				...head,
				...(has("tools") ? { tools: changes.tools.head.tools } : {}),
				...(has("system") ? { system: changes.system.head.system } : {}),
			};
			const now = seenOf(
				22,
				{
					...(has("tools") || has("system") ? { head: "other" } : {}),
					...(has("earlier_message") ? { changed: 4 } : {}),
					...(has("masking") ? { masked: 7 } : {}),
				},
				{ ...(has("model") ? changes.model : {}), ...(has("effort") ? changes.effort : {}), head: heads },
			);
			const [first] = subset;
			const isInHead = ["model", "tools", "system"].includes(first as string);
			const read = isInHead ? 0 : headTokens;
			expect([subset, compare(now, read)?.cause]).toEqual([subset, first]);
			expect(compare(now, 0, { isCold: true })?.cause).toBe("pause");
		}
		expect(subsets).toHaveLength(63);
	});

	it("broke with the tokens that came again, whatever was taken out", () => {
		expect(compare(seenOf(22, { changed: 4 }), all(4))).toMatchObject({
			cause: "earlier_message",
			detail: "message 5 of 22 (user)",
			tokens: 15 * ofMessage,
		});
		const changed = [{ reason: "masked", message: 7 }];
		expect(compare(seenOf(22, { masked: 7 }), all(7), { changed })).toMatchObject({
			cause: "masking",
			detail: "1 result masked, from message 8 of 22 on",
			tokens: 12 * ofMessage,
		});
	});

	it("broke with nearly all of a system prompt that is a message", () => {
		const system = { ...head, system: head.system.replace("28", "29") };
		const roleOf = (message: number) => (message === 0 ? "system" : message % 2 === 0 ? "assistant" : "user");
		const found = compare(seenOf(22, { changed: 0 }, { head: system }), 0, {
			terms: automatic,
			roleOf,
			keepsHead: false,
		});
		expect(found).toMatchObject({ cause: "system", tokens: all(20) });
	});

	it("names tools with their servers, and hashes anything that does not look like a name", () => {
		const tools = [
			{ name: "mcp__a b: the user's words__x", hash: "1" },
			{ name: "shell", hash: "9" },
		];
		const found = compare(seenOf(22, { head: "other" }, { head: { ...head, tools } }), 0);
		expect(found?.detail).toMatch(/^tools: \+unnamed-[0-9a-f]{8}, -mcp__files__read, ~shell$/);
		expect(found?.servers).toEqual([expect.stringMatching(/^unnamed-[0-9a-f]{8}$/), "files"]);
		const other = compare(seenOf(22, { head: "other" }, { head: { ...head, tools: head.tools.toReversed() } }), 0);
		expect(other?.detail).toBe("tools: the same 2 in another order");
	});

	it("says where the system prompt differs, and whether in a number, without its text", () => {
		const withSystem = (system: string) =>
			compare(seenOf(22, { head: "other" }, { head: { ...head, system, systemChars: system.length } }), 0)?.detail;
		expect(withSystem(head.system.replace("28", "29"))).toBe(
			"system differs at 36 of 54 characters, in a number or a time",
		);
		expect(withSystem(`${head.system} Never stop.`)).toBe("system differs at 54 of 66 characters");
		expect(withSystem(head.system.replace("agent", "poet"))).toBe("system differs at 11 of 53 characters");
	});

	it("broke for an unknown cause where a change is after the text that was read, or explains too little", () => {
		// All tools were read, and the messages up to the 10th.
		const tools = { head: { ...head, tools: [] } };
		expect(compare(seenOf(22, { head: "other" }, tools), all(10))?.cause).toBe("unknown");
		// Not even the tools were read.
		const whole = { detail: expect.stringContaining("not even the tools and the system prompt") };
		expect(compare(seenOf(22), 0)).toMatchObject({ cause: "unknown", ...whole });
		// A masking of ours is a cause all the same.
		expect(compare(seenOf(22, { masked: 7 }), 0)).toMatchObject({ cause: "masking", ...whole });
		expect(compare(seenOf(22, { masked: 2 }), all(9))?.cause).toBe("masking");
		// Without a breakpoint of their own they are lost with the messages.
		expect(compare(seenOf(22, { masked: 7 }), 0, { keepsHead: false })?.cause).toBe("masking");
		expect(compare(seenOf(22), headTokens)?.cause).toBe("unknown");
	});

	it("is not known to be there while a provider that caches by itself reads nothing", () => {
		const before = seenOf(20, {}, { usage: { input: all(20), cacheRead: 0, cacheWrite: 0, output: 0 } });
		const more = { before, terms: automatic };
		expect(compare(seenOf(22), 0, more)).toBeUndefined();
		// A change that is known explains it.
		expect(compare(seenOf(22, {}, { model: "two" }), 0, more)?.cause).toBe("model");
		expect(
			compare(seenOf(22, {}, { model: "two" }), 0, { ...more, terms: { ...automatic, caching: "never_read" } }),
		).toBeUndefined();
	});

	it("broke where a request asks for no cache", () => {
		const unasked = cacheTerms({ model: "claude-opus-4-5" }, "anthropic", prices);
		const found = compare(seenOf(22), 0, { terms: unasked });
		expect(found).toMatchObject({ cause: "effort", detail: "cache_control: some → none" });
	});

	it("has not broken where a provider that caches by itself stores a prompt late", () => {
		const usage = { input: 2 * ofMessage, cacheRead: all(18), cacheWrite: 0, output: 0 };
		const more = { before: seenOf(20, {}, { usage }), terms: automatic };
		expect(compare(seenOf(22), all(18), more)).toBeUndefined();
		expect(compare(seenOf(22), all(16), more)?.cause).toBe("unknown");
	});

	it("broke for no known cause where the API itself may leave out reasoning, and says so", () => {
		const usage = { input: 2 * ofMessage, cacheRead: all(18), cacheWrite: 0, output: 0 };
		const before = seenOf(20, {}, { usage, model: "gpt-5" });
		const more = { before, terms: automatic, beginsTurn: () => true };
		expect(compare(seenOf(22, {}, { model: "gpt-5" }), all(10), more)).toMatchObject({
			cause: "unknown",
			detail: expect.stringMatching(/the API leaves out the reasoning of earlier turns$/),
		});
	});

	it("broke on a resume that comes late, or with a result that we have changed", () => {
		const late = { before: undefined, pause: 9 * 60_000, isCold: true };
		expect(compare(seenOf(22), 0, late)).toMatchObject({
			cause: "pause",
			detail: "9 min since the last request; the cache lasts 5 min",
			tokens: all(21),
		});
		const changed = [{ reason: "cut", message: 6 }];
		expect(compare(seenOf(22, { masked: 6 }), all(6), { before: undefined, changed })).toMatchObject({
			cause: "cut_on_resume",
			detail: "1 result cut, from message 7 of 22 on",
			tokens: 14 * ofMessage,
		});
		// The first request of a conversation, or one whose last result alone is new.
		expect(compare(seenOf(22), headTokens, { before: undefined })).toBeUndefined();
		expect(compare(seenOf(1), 0, { ...late, changed })).toBeUndefined();
		const elsewhere = { before: undefined, isResumed: true };
		expect(compare(seenOf(22), all(21), elsewhere)).toBeUndefined();
		expect(compare(seenOf(22), headTokens, elsewhere)).toMatchObject({ cause: "unknown", tokens: 21 * ofMessage });
		expect(compare(seenOf(22), 0, { ...elsewhere, terms: automatic })).toBeUndefined();
		const last = [{ reason: "cut", message: 21 }];
		expect(compare(seenOf(22, { masked: 21 }), headTokens, { before: undefined, changed: last })).toBeUndefined();
	});
});

it("a break costs the price of its tokens less the price of reading them", () => {
	// Claude Opus 4.5: 5 US dollars a million tokens; 1.25 to write, 0.1 to read.
	expect(breakDollars(100_000, usageOf(5_000, 120_000), terms)).toBeCloseTo(0.5 * 1.15, 6);
	expect(breakDollars(100_000, usageOf(5_000, 120_000), cacheTerms({ model: "a" }, "openai", prices))).toBeUndefined();
});
