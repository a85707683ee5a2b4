import { describe, expect, it } from "vitest";
import { answer, sampleHistory as history, plainHistory, tool, user } from "../engine/replaying/plain-history.ts";
import { clairvoyantRecall } from "./clairvoyant.ts";

describe("clairvoyantRecall", () => {
	// All results but their placeholders: 20 + 45 + 60 + 75 + 90.
	const least = 290;

	it.each([
		// Without any room only the two strings count that a result holds which cannot be masked.
		[0, 2],
		[least, 2],
		// Result 1 costs 40 in three calls, for three strings; result 0 costs 80 in three, for two.
		[least + 60, 3.5],
		[least + 120, 5],
		[least + 180, 5.5],
		[least + 360, 7],
		[1e9, 7],
	])("with %i tokens of input has %d strings in view", (inputTokens, strings) => {
		expect(clairvoyantRecall(history, { inputTokens, kind: "identifiers" })).toBeCloseTo(strings, 9);
	});

	it("counts lines apart", () => {
		expect(clairvoyantRecall(history, { inputTokens: least + 20, kind: "lines" })).toBeCloseTo(0.5, 9);
		expect(clairvoyantRecall(history, { inputTokens: least + 40, kind: "lines" })).toBe(1);
	});

	it("keeps a result for its early uses alone where the late ones cost more", () => {
		const one = plainHistory([
			user(10),
			answer(),
			tool([100, 80]),
			answer({ identifiers: [[0], [0]] }),
			tool([10, 0]),
			answer(),
			tool([10, 0]),
			answer({ identifiers: [[0]] }),
		]);
		// 10 + 35 + 50 + 65; the first call of the result costs 80, the third 160 more.
		const recalled = [0, 40, 80, 160, 240].map((room) =>
			clairvoyantRecall(one, { inputTokens: 160 + room, kind: "identifiers" }),
		);
		expect(recalled.map((one) => Number(one.toFixed(9)))).toEqual([0, 1, 2, 2.5, 3]);
	});

	it.each([
		// Each call costs 80 more. The second pays only with the third: three strings for 160.
		[
			[3, 1, 2],
			[3, 3.75, 4.5, 6],
		],
		[
			[3, 2, 1],
			[3, 4, 5, 6],
		],
	])("keeps a result that calls use for %j strings as long as it pays", (strings, expected) => {
		const used = strings.map((count) => answer({ identifiers: Array.from({ length: count }, () => [0]) }));
		const turns = used.flatMap((message) => [message, tool([10, 0])]);
		const one = plainHistory([user(10), answer(), tool([100, 80]), ...turns]);
		// 10 + 35 + 50 + 65.
		const recalled = [80, 120, 160, 240].map((room) =>
			clairvoyantRecall(one, { inputTokens: 160 + room, kind: "identifiers" }),
		);
		expect(recalled.map((one) => Number(one.toFixed(9)))).toEqual(expected);
	});

	it("counts a string of an old and a new result for the new one if that has to stay for fewer calls", () => {
		const turns = [answer(), tool([50, 40]), answer(), tool([10, 0]), answer(), tool([70, 60])];
		const history = plainHistory([user(10), ...turns, answer({ lines: [[0, 2]] })]);
		// 10 + 25 + 40 + 55; the old result costs 40 in three calls, the new one 60 in one.
		const recalled = [0, 30, 60].map((room) => clairvoyantRecall(history, { inputTokens: 130 + room, kind: "lines" }));
		expect(recalled.map((one) => Number(one.toFixed(9)))).toEqual([0, 0.5, 1]);
	});

	it("counts a string of several results for the one that has to stay for the fewest tokens", () => {
		const recalledOf = (holders: readonly number[], more: readonly number[] = []) =>
			[0, 40, 80, 160].map((room) => {
				const messages = [
					user(10),
					answer(),
					tool([100, 80], [50, 40], [50, 40]),
					answer({ identifiers: [holders, more] }),
				];
				return clairvoyantRecall(plainHistory(messages), { inputTokens: 10 + 10 + 45 + room, kind: "identifiers" });
			});
		expect(recalledOf([0, 1], [1])).toEqual([0, 2, 2, 2]);
		expect(recalledOf([1, 0], [1])).toEqual([0, 2, 2, 2]);
		expect(recalledOf([0], [1])).toEqual([0, 1, 1.5, 2]);
		// Of two that cost the same, the later one.
		expect(recalledOf([1, 2], [2])).toEqual([0, 2, 2, 2]);
	});

	it("is nothing without uses", () => {
		expect(clairvoyantRecall(plainHistory([user(1), answer()]), { inputTokens: 1e9, kind: "lines" })).toBe(0);
	});

	it("counts the tokens around each request", () => {
		const messages = [user(10), answer(), tool([100, 80]), answer({ identifiers: [[0]] })];
		const recalled = (inputTokens: number) =>
			clairvoyantRecall(plainHistory(messages, 7), { inputTokens, kind: "identifiers" });
		expect([59, 59 + 40, 59 + 80].map(recalled)).toEqual([0, 0.5, 1]);
	});
});
