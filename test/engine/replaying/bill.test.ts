import { describe, expect, it } from "vitest";
import { replay } from "../../../src/engine/masking/replay.ts";
import type { PolicyLayer } from "../../../src/engine/policy/schema.ts";
import { contextByPart, meterSchedule, outputByCall } from "../../../src/engine/replaying/bill.ts";
import { pngOf } from "../../support/media-samples.ts";
import { policyOf } from "../../support/policy-of.ts";
import { historyOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";
import { answer, plainHistory, tool, user } from "./plain-history.ts";

const turns = 6;

/** Turns in Anthropic's format, whose results stand in messages of the user, each with an image, some with text. */
const document = [
	{ role: "user", content: "Look at the pages." },
	...Array.from({ length: turns }, (_, turn) => [
		{ role: "assistant", content: [{ type: "tool_use", id: `call_${turn}`, name: "shot", input: { page: turn } }] },
		{
			role: "user",
			content: [
				{
					type: "tool_result",
					tool_use_id: `call_${turn}`,
					content: [
						...(turn % 2 === 0 ? [{ type: "text", text: "what the page says ".repeat(40) }] : []),
						{ type: "image", source: { type: "base64", media_type: "image/png", data: pngOf(900, 600) } },
					],
				},
			],
		},
	]).flat(),
	{ role: "assistant", content: "Done." },
];

function partsUnder(layer: PolicyLayer) {
	const policy = policyOf({ ...layer, mask: { window_turns: 2, ...layer.mask } });
	const history = historyOf(transcriptFrom(document), policy);
	const schedule = replay(history, { mask: policy.mask, prices: policy.prices });
	const bill = meterSchedule(history, schedule, policy.prices);
	return { history, bill, parts: contextByPart(history, schedule) };
}

describe("contextByPart", () => {
	it.each(["mask", "keep"] as const)("adds up to each call's input, no part negative, images: %s", (media) => {
		const { bill, parts } = partsUnder({ media });
		expect(parts.map((one) => Object.values(one).reduce((sum, tokens) => sum + tokens, 0))).toEqual(
			bill.calls.map(({ input }) => input),
		);
		for (const one of parts) expect(Math.min(...Object.values(one))).toBeGreaterThanOrEqual(0);
	});

	it("counts images with their results, and their replacements with the placeholders", () => {
		const { history, bill, parts } = partsUnder({ media: "mask" });
		const [image = 0] = history.transcript.messages[2]?.results[0]?.media.map(({ tokens }) => tokens) ?? [];
		expect(image).toBeGreaterThan(500);
		expect(bill.maskedResults).toBe(turns - 2);
		expect(parts.every(({ user }) => user < image)).toBe(true);
		expect(parts[2]?.results).toBeGreaterThan(2 * image);
		expect(parts.at(-1)?.results).toBeLessThan(2 * image + turns * 200);
		expect(parts.at(-1)?.placeholders).toBeGreaterThan(0);
		expect(parts.at(-1)?.placeholders).toBeLessThan((turns - 2) * 60);
	});
});

describe("outputByCall", () => {
	it("has the tokens of each answer, and of no other message", () => {
		const { history } = partsUnder({ media: "keep" });
		expect(outputByCall(history)).toEqual(history.calls.map((call) => history.messageTokens[call]));
	});

	it("adds up messages of one answer, and leaves out results that an assistant message holds", () => {
		const output = { type: "tool-look", toolCallId: "call_1", state: "output-available", input: { page: 1 } };
		const partsOf = (words: string) => [{ ...output, output: words }];
		const outputOf = (words: string) => {
			const list = [
				{ id: "1", role: "user", parts: [{ type: "text", text: "Look." }] },
				{ id: "2", role: "assistant", parts: [{ type: "text", text: "I look." }] },
				{ id: "3", role: "assistant", parts: partsOf(words) },
				{ id: "4", role: "assistant", parts: [{ type: "text", text: "Done." }] },
			];
			return outputByCall(historyOf(transcriptFrom(list), policyOf()));
		};
		const [short, long] = [outputOf("few words"), outputOf("many words ".repeat(500))];
		expect(short).toHaveLength(2);
		expect(long).toEqual(short);
	});
});

describe("a history in plain numbers", () => {
	const never = Number.POSITIVE_INFINITY;
	/** Calls are at messages 3, 5 and 8. */
	const history = plainHistory(
		[
			{ role: "system", tokens: 7 },
			user(20),
			{ role: "other", tokens: 2 },
			answer(),
			tool([100, 80], [50, 40]),
			answer(),
			answer(),
			tool([30, 20]),
			answer({ cold: true }),
		],
		3,
	);
	const prices = policyOf({ prices: { cache_read: 0.1, cache_write: 1.25 } }).prices;

	it("has the parts of each call", () => {
		expect(contextByPart(history, [never, never, never])).toEqual([
			{ system: 10, user: 22, assistant: 0, results: 0, placeholders: 0 },
			{ system: 10, user: 22, assistant: 5, results: 150, placeholders: 0 },
			{ system: 10, user: 22, assistant: 15, results: 180, placeholders: 0 },
		]);
		// A result that is masked as a call is made is not part of it.
		expect(contextByPart(history, [8, 5, 8]).slice(1)).toEqual([
			{ system: 10, user: 22, assistant: 5, results: 100, placeholders: 10 },
			{ system: 10, user: 22, assistant: 15, results: 0, placeholders: 40 },
		]);
		expect(contextByPart(history, [9, 9, 9]).at(-1)).toMatchObject({ results: 180, placeholders: 0 });
	});

	it("leaves a result that cannot be masked unchanged, for any schedule", () => {
		const kept = plainHistory([user(10), answer(), tool([100, 0]), answer()]);
		expect(contextByPart(kept, [3])).toEqual(contextByPart(kept, [Number.POSITIVE_INFINITY]));
	});

	it("counts no placeholder for results that are left out without one", () => {
		const results = history.results.map((one) => {
			const [edit] = one.outcome as Exclude<typeof one.outcome, string>;
			return { ...one, outcome: [edit, { ...edit, unsent: true }] as typeof one.outcome };
		});
		expect(contextByPart({ ...history, results }, [5, never, never])[1]).toMatchObject({
			results: 50,
			placeholders: 20,
		});
	});

	it("has the output of each answer, of several messages", () => {
		expect(outputByCall(history)).toEqual([5, 10, 5]);
		const first = plainHistory([{ ...answer(), role: "user" }, tool([9, 8]), answer(), user(1), answer({ tokens: 7 })]);
		expect(outputByCall(first)).toEqual([5, 7]);
		const holding = plainHistory([
			user(1),
			{ ...answer(), results: [{ tokens: 50, saves: 40 }] },
			answer({ tokens: 6 }),
		]);
		expect(outputByCall(holding)).toEqual([5, 6]);
	});

	it("is billed by the reads and writes of each call", () => {
		// After the pause nothing is read.
		expect(meterSchedule(history, [never, never, never], prices)).toEqual({
			calls: [
				{ input: 32, cached: 0 },
				{ input: 187, cached: 32 },
				{ input: 227, cached: 0 },
			],
			inputTokens: 446,
			cachedTokens: 32,
			billed: expect.closeTo(32 * 0.1 + 414 * 1.25, 9),
			peakTokens: 227,
			maskedResults: 0,
			reasoning: { recorded: 0, leftOut: 0, redone: 0 },
		});
		const masked = meterSchedule(history, [8, 5, 8], prices);
		expect(masked.calls).toEqual([
			{ input: 32, cached: 0 },
			{ input: 147, cached: 32 },
			{ input: 87, cached: 0 },
		]);
		expect(masked).toMatchObject({ inputTokens: 266, cachedTokens: 32, peakTokens: 147, maskedResults: 3 });
		expect(meterSchedule(plainHistory([user(3)]), [], prices)).toMatchObject({ calls: [], billed: 0, peakTokens: 0 });
	});
});
