import { describe, expect, it } from "vitest";
import type { Message, Transcript } from "../../src/engine/conversation/transcript.ts";
import { type ReplayHistory, readHistory } from "../../src/engine/masking/history.ts";
import { clearedText } from "../../src/engine/masking/placeholder.ts";
import { replay } from "../../src/engine/masking/replay.ts";
import { findUses } from "../../src/engine/masking/uses.ts";
import { wordings } from "../../src/engine/policy/wordings.ts";
import { meterSchedule } from "../../src/engine/replaying/bill.ts";
import { meterFaults } from "../../src/engine/replaying/faults.ts";
import { tokenMeter } from "../../src/operations/count.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { placeholdersOf } from "../../src/storage/restore/recognise.ts";
import { developmentSet } from "../support/development-set.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData } from "../support/real-conversations.ts";

const { meter } = await tokenMeter(policyOf(), undefined);

/** The conversation as if its model had bound so many tokens of reasoning to each answer that makes calls. */
function withReasoning(transcript: Transcript, tokens: number): Transcript {
	const thinking = (path: Message["paths"][number]) => [{ path, text: "", bound: true, hiddenTokens: tokens }];
	return {
		...transcript,
		messages: transcript.messages.map((message) =>
			message.calls.length > 0 ? { ...message, thinking: thinking(message.paths[0] ?? []) } : message,
		),
	};
}

const uses = developmentSet.map((transcript) => {
	let found: ReturnType<typeof findUses> | undefined;
	return () => {
		found ??= findUses(transcript);
		return found;
	};
});

function historiesOf(
	reasoning: number,
	thrift: "low" | "medium" | "high",
	placeholder: string | null = null,
): readonly ReplayHistory[] {
	const policy = policyOf({ preset: "balanced", mask: { thrift, placeholder_template: placeholder } });
	return developmentSet.map((transcript, index) =>
		readHistory({
			transcript: withReasoning(transcript, reasoning),
			policy: policy.mask,
			media: policy.media,
			wording: wordings(policy, "archived"),
			isPlaceholder: placeholdersOf(policy),
			countTokens: meter.countTokens,
			meter,
			uses: uses[index],
			cacheTime: { seconds: policy.prices.cache_seconds },
			bindsReasoning: true,
		}),
	);
}

/** The sums over all conversations, at the prices of Opus 5.5 unless a read costs otherwise. */
function figures(
	histories: readonly ReplayHistory[],
	thrift: "low" | "medium" | "high",
	share: number,
	{ oldestFirst = false, read = 0.05 } = {},
) {
	const policy = policyOf({
		preset: "balanced",
		mask: { thrift },
		prices: { cache_read: read, thinking_redone: share },
	});
	const { mask, prices } = policy;
	const sum = {
		billed: 0,
		withFaults: 0,
		raw: 0,
		output: 0,
		faults: 0,
		calls: 0,
		masked: 0,
		maskings: 0,
		atStart: 0,
		left: 0,
		all: 0,
	};
	let redone = 0;
	for (const whole of histories) {
		const { transcript } = whole;
		const schedule = replay(whole, { mask, prices, oldestFirst });
		// What the provider clears leaves all reasoning valid.
		const history = oldestFirst ? { ...whole, reasoning: undefined } : whole;
		const bill = meterSchedule(history, schedule, prices);
		const { faults, billed } = meterFaults(history, schedule, { ...ratesOfPrices(prices), thinkingRedone: share });
		const never = history.results.map(() => Number.POSITIVE_INFINITY);
		const moments = new Set(Array.from(schedule).filter((moment) => moment !== Number.POSITIVE_INFINITY));
		sum.raw += meterSchedule(history, never, prices).billed;
		sum.billed += bill.billed;
		sum.withFaults += billed;
		sum.faults += faults;
		sum.calls += bill.calls.length;
		sum.masked += bill.maskedResults;
		sum.maskings += moments.size;
		sum.atStart += [...moments].filter((moment) => {
			const last = transcript.messages[moment - 1];
			return last?.role === "user" && last.results.length === 0;
		}).length;
		sum.left += bill.reasoning.leftOut;
		sum.all += bill.reasoning.recorded;
		redone += bill.reasoning.redone;
	}
	return {
		ratio: sum.billed / sum.raw,
		withFaults: sum.withFaults / sum.raw,
		faults: (100 * sum.faults) / sum.calls,
		masked: sum.masked,
		maskings: sum.maskings,
		atStart: sum.atStart,
		leftOut: sum.left / sum.all,
		redone: redone / sum.all,
	};
}

const shares = [0, 0.15, 0.3, 0.6, 1];

describe.skipIf(!hasRealData)("reasoning that masking makes invalid", () => {
	it("makes masking wait, the more of it is produced again", () => {
		const lines = [
			"tokens of reasoning an answer, thrift, share | × raw | faults | masked | maskings | at start | left out | again",
		];
		for (const reasoning of [100, 500]) {
			for (const thrift of ["medium", "high"] as const) {
				const histories = historiesOf(reasoning, thrift);
				const rows = shares.map((share) => figures(histories, thrift, share));
				rows.forEach((row, index) => {
					const { ratio, faults, masked, maskings, atStart, leftOut, redone } = row;
					const numbers = [
						ratio.toFixed(3),
						faults.toFixed(2),
						masked,
						maskings,
						atStart,
						leftOut.toFixed(3),
						redone.toFixed(3),
					];
					lines.push(`${reasoning} ${thrift} ${shares[index]} | ${numbers.join(" | ")}`);
				});
				const [free, , usual, , dear] = rows;
				expect(usual?.masked).toBeLessThanOrEqual(free?.masked ?? 0);
				expect(dear?.masked).toBeLessThanOrEqual(usual?.masked ?? 0);
				expect(dear?.leftOut).toBeLessThanOrEqual(free?.leftOut ?? 0);
				for (const { ratio } of rows) expect(ratio).toBeLessThan(1);
			}
		}
		process.stderr.write(`${lines.join("\n")}\n`);
	});

	it("is kept where the provider clears, and no share changes the bill", () => {
		const lines = ["price of a read, reasoning, thrift, share | ours with faults | faults | the provider's | faults"];
		for (const reasoning of [0, 100, 500]) {
			for (const thrift of ["low", "medium", "high"] as const) {
				const own = historiesOf(reasoning, thrift);
				const cleared = historiesOf(reasoning, thrift, clearedText);
				for (const read of [0.05, 0.025]) {
					for (const share of reasoning === 0 ? [0] : [0, 0.3, 1]) {
						const ours = figures(own, thrift, share, { read });
						const theirs = figures(cleared, thrift, share, { read, oldestFirst: true });
						const numbers = [ours, theirs].map((one) => `${one.withFaults.toFixed(3)} | ${one.faults.toFixed(2)}`);
						lines.push(`${read} ${reasoning} ${thrift} ${share} | ${numbers.join(" | ")}`);
						expect(theirs.leftOut).not.toBeGreaterThan(0);
						expect(theirs.withFaults).toBeLessThan(1);
					}
				}
			}
		}
		process.stderr.write(`${lines.join("\n")}\n`);
	});
});
