import { describe, expect, it } from "vitest";
import { embedJson } from "../../src/pages/embed-json.ts";
import { type ReplayPageData, replayPageData } from "../../src/pages/replay-page-data.ts";
import { replayFixture } from "./replay-fixture.ts";

/** Undoes the differences, as the page does. */
function column({ columns }: ReplayPageData, place: number): number[] {
	let sum = 0;
	return (columns[place] ?? []).map((difference) => (sum += difference));
}

describe("what the plots are drawn from", () => {
	it("is what was measured, call by call", () => {
		const { report, series } = replayFixture({ "a.json": 90, "b.json": 1 });
		const data = replayPageData(report, { series, billedIn: "input_tokens" });
		expect(data.files.map(({ file, calls }) => [file, calls])).toEqual([
			["a.json", 90],
			["b.json", 1],
		]);
		let compared = 0;
		for (const drawn of data.files)
			for (const one of drawn.series) {
				const { context, billed } =
					series.find(({ file, policy }) => file === drawn.file && policy === one.policy) ?? {};
				for (const part of ["system", "user", "assistant", "results", "placeholders"] as const)
					expect(column(data, one[part])).toEqual(context?.map((parts) => parts[part]));
				const packed = column(data, one.billed).map((value) => value / 10 ** data.billedDecimals);
				for (const [call, value] of packed.entries()) expect(value).toBeCloseTo(billed?.[call] ?? 0, -2);
				compared += 1;
			}
		expect(compared).toBe(8);
	});

	it("keeps the digits of small sums in dollars", () => {
		const { report, series } = replayFixture({ "a.json": 40 });
		const dear = series.map((one) => ({ ...one, billed: one.billed.map((tokens) => tokens * 3e-6) }));
		const data = replayPageData(report, { series: dear, billedIn: "us_dollars" });
		const last = column(data, data.files[0]?.series[0]?.billed ?? -1).at(-1) ?? 0;
		const expected = dear[0]?.billed.at(-1) ?? 0;
		expect(Math.abs(last / 10 ** data.billedDecimals / expected - 1)).toBeLessThan(1e-4);
	});

	it("is drawn from 2 000 calls of a longer conversation, and small", () => {
		const { report, series } = replayFixture({ "long.json": 9_000 });
		const data = replayPageData(report, { series, billedIn: "input_tokens" });
		const at = column(data, data.files[0]?.at ?? -1);
		expect(data.files[0]?.calls).toBe(9_000);
		expect([at[0], at.at(-1)]).toEqual([1, 9_000]);
		expect(at.length).toBeLessThanOrEqual(2_000);
		expect(at.length).toBeGreaterThan(1_000);
		// Four policies of seven numbers a call, most of them small or shared.
		expect(embedJson(data).length).toBeLessThan(200_000);
	});

	it("leaves out what has no calls", () => {
		const { report, series } = replayFixture({ "empty.json": 0 });
		expect(replayPageData(report, { series, billedIn: "input_tokens" }).files).toEqual([]);
	});
});
