import { describe, expect, it } from "vitest";
import { resultText } from "../../src/engine/conversation/transcript.ts";
import { pairResults } from "../../src/engine/conversation/turns.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { arrivesWhole, startArrivals } from "../../src/operations/replay-arrival.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { policyOf } from "../support/policy-of.ts";
import { turnsOf } from "../support/replay-history.ts";

const lineOf = (turn: number, line: number) => `turn ${turn} holds line ${line} for whoever needs it`;
const output = (turn: number, lines: number) =>
	Array.from({ length: lines }, (_, line) => lineOf(turn, line)).join("\n");

/** A large result, small ones, and answers that quote lines of the large one. */
const conversation = (...quoted: readonly number[]) =>
	turnsOf(
		[output(0, 400), ...quoted.map((_, index) => output(index + 1, 2))],
		["I begin.", ...quoted.map((line) => `I need\n${lineOf(0, line)}`)],
	);

async function figures(names: string, ...quoted: readonly number[]) {
	const policies = await replayedPolicies(names, []);
	const replay = await startReplay({ policy: policyOf(), policies, rates: ratesOfPrices(policyOf().prices) });
	await replay.add({ file: "one", conversation: conversation(...quoted) });
	return replay.report().policies;
}

describe("a conversation with results that are cut as they arrive", () => {
	it("has the results over the limit cut to it, and lists the removed strings", () => {
		const arrived = startArrivals(readConversation(conversation(0)))(
			policyOf({ truncate: { max_chars: 2_000, strategy: "auto" } }),
		);
		const [large, small] = pairResults(
			arrived?.transcript ?? { format: "", messages: [], surroundings: [], opensWithUser: true },
		);
		const left = large ? resultText(large.result) : "";
		expect(left.length).toBeLessThanOrEqual(2_000);
		expect(small && resultText(small.result)).toBe(output(1, 2));
		const lines = Array.from({ length: 400 }, (_, line) => lineOf(0, line));
		const hidden = lines.filter((line) => arrived?.hides(0, "lines", line));
		expect(hidden).toEqual(lines.filter((line) => !left.split("\n").includes(line)));
		expect(hidden.length).toBeGreaterThan(300);
		expect(lines.some((line) => arrived?.hides(1, "lines", line))).toBe(false);
	});

	it("is the same for policies with the same cuts, and absent for one without cuts", () => {
		const arrivedUnder = startArrivals(readConversation(conversation(0)));
		const layer = { truncate: { max_chars: 2_000 } };
		expect(arrivedUnder(policyOf(layer))).toBe(arrivedUnder(policyOf({ ...layer, mask: { window_turns: 3 } })));
		expect(arrivedUnder(policyOf({ truncate: arrivesWhole }))).toBeUndefined();
		expect(arrivedUnder(policyOf({ truncate: { max_chars: 100_000 } }))).toBeUndefined();
	});
});

describe("the faults of results that were cut", () => {
	it("are the calls that use a line of the omitted part, and not calls that use the kept part", async () => {
		const [raw, gone] = await figures("raw,head_tail:2000", 200, 210);
		expect([raw?.faults_per_100_calls, gone?.faults_per_100_calls]).toEqual([0, 100 / 3]);
		expect(raw?.recall.lines).toBe(1);
		expect(gone?.recall.lines).toBe(0);
		const [, kept] = await figures("raw,head_tail:2000", 1, 399);
		expect([kept?.faults_per_100_calls, kept?.recall.lines]).toEqual([0, 1]);
		expect(kept?.ratio_with_faults).toBe(kept?.ratio_to_raw);
		expect(kept?.ratio_to_raw).toBeLessThan(0.5);
	});

	it("cost a call more that brings the whole result back", async () => {
		const [raw, gone] = await figures("raw,head_tail:2000", 200);
		const [, kept] = await figures("raw,head_tail:2000", 1);
		const recalled = (gone?.billed_with_faults ?? 0) - (gone?.billed ?? 0);
		const whole = (raw?.billed ?? 0) - (kept?.billed ?? 0);
		expect(recalled).toBeGreaterThan(whole);
	});

	it("are at least as many, and their bill as high, as the bound says", async () => {
		for (const one of await figures(
			"head_tail:2000+balanced:high,arrival:2000+balanced,arrival:1000",
			200,
			3,
			300,
			210,
		)) {
			expect(one.bound_with_faults).toBeLessThanOrEqual(one.ratio_with_faults + 1e-9);
		}
	});
});

describe("the lines that a result repeats", () => {
	/** A file read twice, with one line more the second time. */
	const again = turnsOf(
		[output(0, 400), `${output(0, 400)}\na line more`, output(2, 2)],
		["I begin.", `I need\n${lineOf(0, 200)}`, "I go on."],
	);
	const billsOf = async (names: string) => {
		const policies = await replayedPolicies(names, []);
		const replay = await startReplay({ policy: policyOf(), policies, rates: ratesOfPrices(policyOf().prices) });
		await replay.add({ file: "one", conversation: again });
		return replay.report().policies.map((one) => [one.billed, one.faults_per_100_calls, one.repeated_tokens] as const);
	};

	it("are left out by `repeats` without a fault, and left in by a policy that cuts nothing", async () => {
		const [raw, whole, repeats, both] = await billsOf("raw,whole,repeats,repeats+whole");
		expect(whole).toEqual(raw);
		expect(repeats?.[1]).toBe(0);
		expect(repeats?.[0]).toBeLessThan(0.9 * (raw?.[0] ?? 0));
		expect([raw?.[2], whole?.[2]]).toEqual([0, 0]);
		expect(repeats?.[2]).toBeGreaterThan(1_000);
		expect(both).toEqual(repeats);
	});

	it("are left out by `balanced`, and not by `head_tail`", async () => {
		const arrivals = startArrivals(readConversation(again));
		const repeatsOf = async (name: string) => {
			const [policy] = await replayedPolicies(name, []);
			return policy?.kind === "replayed" ? (arrivals(policy.policy)?.repeats.length ?? 0) : -1;
		};
		expect(await repeatsOf("balanced")).toBeGreaterThan(0);
		expect(await repeatsOf("head_tail:100000+balanced")).toBe(0);
	});
});
