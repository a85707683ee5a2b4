import { describe, expect, it } from "vitest";
import type { ReplayReport } from "../../src/engine/replaying/report.ts";
import { compareArms, oddsRatio, readOutcomes, successOf } from "./success.ts";
import { armsText, successText } from "./success-text.ts";

type Files = Pick<ReplayReport, "files">;

/** A replayed file under one policy. */
const file = (name: string, calls: number, faults: number, billed = 50) => ({
	file: `runs/${name}`,
	policies: [
		{
			policy: "balanced",
			llm_calls: calls,
			faults_per_100_calls: (100 * faults) / calls,
			billed_with_faults: billed,
			ratio_with_faults: billed / 100,
		},
	],
});

describe("the success of replayed runs", () => {
	const report = {
		files: [
			file("a.json", 20, 0),
			file("b.json", 20, 1),
			file("c.json", 60, 3, 90),
			file("d.json", 60, 0),
			file("e", 9, 9),
		],
	} as unknown as Files;
	const outcomes = readOutcomes("file,solved\na.json,1\nb.json,0\r\nc.json,1\nd.json,1\n");

	it("is counted for runs with a known outcome, solved or not", () => {
		const [balanced] = successOf(report, outcomes, 2);
		expect(balanced?.solved).toEqual({
			runs: 3,
			solved: 3,
			withFault: 1,
			calls: 140,
			faultsPer100Calls: 300 / 140,
			ratio: 190 / 300,
		});
		expect(balanced?.unsolved).toEqual({
			runs: 1,
			solved: 0,
			withFault: 1,
			calls: 20,
			faultsPer100Calls: 5,
			ratio: 0.5,
		});
	});

	it("is compared between runs with and without a fault, among runs of about as many calls", () => {
		expect(successOf(report, outcomes, 2)[0]?.classes).toEqual([
			{ fewestCalls: 20, mostCalls: 20, withFault: { runs: 1, solved: 0 }, without: { runs: 1, solved: 1 } },
			{ fewestCalls: 60, mostCalls: 60, withFault: { runs: 1, solved: 1 }, without: { runs: 1, solved: 1 } },
		]);
	});
});

it("a text of a policy shows a dash for the share of no runs", () => {
	const report = { files: [file("a.json", 20, 0)] } as unknown as Files;
	const text = successText(successOf(report, readOutcomes("file,solved\na.json,1\n")));
	expect(text).toMatch(/balanced +solved +1 +0\.500 +0\.00 +0\n/);
	expect(text).toMatch(/balanced +unsolved +0 *\n/);
	expect(text).toMatch(/balanced +20 to 20 +0 +– +1 +1\.00\n/);
	expect(text).toMatch(/balanced +– +–\n/);
});

describe("the common odds ratio", () => {
	const of = (solved: number, runs: number) => ({ solved, runs });

	it("has the logit interval in a single class", () => {
		const odds = oddsRatio([{ withFault: of(30, 50), without: of(20, 50) }]);
		const factor = Math.exp(1.96 * Math.sqrt(1 / 30 + 1 / 20 + 1 / 20 + 1 / 30));
		expect(odds?.value).toBeCloseTo(2.25);
		expect(odds?.low).toBeCloseTo(2.25 / factor);
		expect(odds?.high).toBeCloseTo(2.25 * factor);
	});

	it("is 1 where each class has no difference, though the classes differ", () => {
		const odds = oddsRatio([
			{ withFault: of(9, 10), without: of(81, 90) },
			{ withFault: of(18, 90), without: of(2, 10) },
		]);
		expect(odds?.value).toBeCloseTo(1);
		expect(odds?.low).toBeLessThan(1);
	});

	it("is unknown if no class has runs of both kinds", () => {
		expect(oddsRatio([{ withFault: of(0, 0), without: of(5, 9) }])).toBeUndefined();
	});
});

describe("the arms of an experiment", () => {
	it("are compared with the first one on the tasks in common", () => {
		const arms = compareArms(
			readOutcomes(
				"arm,task,solved\nraw,1,1\nraw,2,1\nraw,3,0\nraw,4,0\nmasked,1,1\nmasked,2,0\nmasked,3,0\nmasked,9,1\n",
			),
		);
		expect(arms).toMatchObject([{ arm: "masked", tasks: 3, solved: 1, solvedByFirst: 2, differing: 1 }]);
		const deviation = Math.sqrt(1 / 9 - 1 / 27);
		expect(arms[0]?.difference.value).toBeCloseTo(-1 / 3);
		expect(arms[0]?.difference.high).toBeCloseTo(-1 / 3 + 1.96 * deviation);
		expect(armsText(arms)).toMatch(/masked +3 +2 +1 +1 +-0\.333 +-0\.867 to 0\.200\n/);
	});
});
