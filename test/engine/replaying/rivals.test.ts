import { describe, expect, it } from "vitest";
import type { ReplayHistory } from "../../../src/engine/masking/history.ts";
import { type Rival, rivalSchedule } from "../../../src/engine/replaying/rivals.ts";
import { policyOf } from "../../support/policy-of.ts";
import { historyOf, turnsOf } from "../../support/replay-history.ts";
import { transcriptFrom } from "../../support/transcripts.ts";

/** Turns whose results have about so many tokens each. */
const agent = (turns: number, tokens: number) =>
	turnsOf(Array.from({ length: turns }, (_, turn) => `${turn} ${"word ".repeat(tokens)}`));
const read = (document: unknown[]) => historyOf(transcriptFrom(document), policyOf({}));
/** For each result, how many results there were when it was masked; `undefined` if it never was. */
function resultsWhenMasked(history: ReplayHistory, rival: Rival) {
	return Array.from(rivalSchedule(history, rival), (index) =>
		Number.isFinite(index) ? history.firstResult[index] : undefined,
	);
}

describe("clear:TRIGGER:KEEP:AT_LEAST", () => {
	const history = read(agent(8, 200));

	it("clears every result but the last ones at each call if it may free any amount", () => {
		const found = resultsWhenMasked(history, { kind: "clear", trigger: 0, keep: 3, atLeast: 0 });
		expect(found).toEqual([4, 5, 6, 7, 8, undefined, undefined, undefined]);
	});

	it("waits until a clearing frees the least amount", () => {
		const atLeast = (history.results[0]?.saves ?? 0) * 1.5;
		const found = resultsWhenMasked(history, { kind: "clear", trigger: 0, keep: 3, atLeast });
		expect(found).toEqual([5, 5, 7, 7, undefined, undefined, undefined, undefined]);
	});

	it("never clears a result that is smaller than the placeholder", () => {
		const small = read(turnsOf(["ok", ...Array.from({ length: 3 }, (_, turn) => `${turn} ${"word ".repeat(200)}`)]));
		const found = resultsWhenMasked(small, { kind: "clear", trigger: 0, keep: 1, atLeast: 0 });
		expect(found).toEqual([undefined, 3, 4, undefined]);
	});

	it("leaves a context alone that is not over the trigger", () => {
		const trigger = history.messageTokens.reduce((sum, tokens) => sum + tokens, 0);
		const found = resultsWhenMasked(history, { kind: "clear", trigger, keep: 0, atLeast: 0 });
		expect(found).toEqual(Array(8).fill(undefined));
	});
});

describe("last:N:EVERY", () => {
	it("keeps the last N observations at each call, and counts the task as the first", () => {
		const found = resultsWhenMasked(read(agent(6, 100)), { kind: "last", keep: 2, every: 1 });
		expect(found).toEqual([3, 4, 5, 6, undefined, undefined]);
	});

	it("acts at every EVERYth observation", () => {
		const found = resultsWhenMasked(read(agent(9, 100)), { kind: "last", keep: 2, every: 4 });
		expect(found).toEqual([3, 7, 7, 7, 7, undefined, undefined, undefined, undefined]);
	});
});

describe("opencode", () => {
	const request = (text: string) => ({ role: "user", content: text });

	it("prunes results beyond 40 000 tokens and before the last two requests, at the next request", () => {
		const document = [...agent(8, 10_000), { role: "assistant", content: "Done." }];
		const asked = [...document, request("More."), { role: "assistant", content: "Done." }, request("And more.")];
		expect(resultsWhenMasked(read(asked), { kind: "opencode" })).toEqual(Array(8).fill(undefined));
		const again = [...asked, { role: "assistant", content: "Done." }, request("The last one.")];
		const found = resultsWhenMasked(read(again), { kind: "opencode" });
		expect(found.filter((one) => one !== undefined).length).toBeGreaterThan(2);
		expect(found.slice(-3)).toEqual([undefined, undefined, undefined]);
	});

	it("leaves results of failed calls alone", () => {
		const turns = Array.from({ length: 16 }, (_, turn) => [
			{ role: "assistant", content: [{ type: "tool_use", id: `call_${turn}`, name: "read", input: { turn } }] },
			{
				role: "user",
				content: [
					{
						type: "tool_result",
						tool_use_id: `call_${turn}`,
						content: `${turn} ${"word ".repeat(10_000)}`,
						is_error: turn % 2 === 1,
					},
				],
			},
		]).flat();
		const answer = { role: "assistant", content: "Done." };
		const document = [request("Do it."), ...turns, answer, request("More."), answer, request("More."), answer];
		const history = historyOf(
			transcriptFrom([...document, request("More.")]),
			policyOf({ mask: { keep_errors: false } }),
		);
		const found = resultsWhenMasked(history, { kind: "opencode" });
		const masked = found.flatMap((one, place) => (one === undefined ? [] : [place]));
		expect(masked).toEqual([0, 2, 4, 6, 8]);
	});

	it("prunes nothing within one request", () => {
		const noted = [
			{ role: "assistant", content: "Done." },
			{ role: "system", content: "Note." },
		];
		const document = [...agent(12, 10_000), ...noted, ...noted, ...noted];
		expect(resultsWhenMasked(read(document), { kind: "opencode" })).toEqual(Array(12).fill(undefined));
	});
});

describe("gemini-cli", () => {
	it("masks results beyond 50 000 tokens once they are over 30 000", () => {
		const history = read(agent(12, 10_000));
		const tokens = history.results[0]?.tokens ?? 0;
		const found = resultsWhenMasked(history, { kind: "gemini-cli" });
		const protectedResults = Math.floor(50_000 / tokens);
		const batch = Math.floor(30_000 / tokens) + 1;
		expect(found.slice(0, batch)).toEqual(Array(batch).fill(protectedResults + batch + 1));
		expect(found.slice(-protectedResults)).toEqual(Array(protectedResults).fill(undefined));
	});
});
