import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PolicyLayer } from "../../src/engine/policy/schema.ts";
import type { ReplayReport } from "../../src/engine/replaying/report.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { developmentSet, figuresOf, replayAll, replayArrived } from "../support/development-set.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData, realDataFolder } from "../support/real-conversations.ts";

const policy = policyOf();

async function replayed(names: string, minTurns: number): Promise<ReplayReport> {
	const policies = await replayedPolicies(names, []);
	const replay = await startReplay({ policy, policies, rates: ratesOfPrices(policy.prices), minTurns });
	const folder = join(realDataFolder, "conversations");
	for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
		if (!file.endsWith(".json")) continue;
		await replay.add({ file, conversation: JSON.parse(readFileSync(join(folder, file), "utf8")) });
	}
	return replay.report();
}

describe.skipIf(!hasRealData)("palimpsest replay on real conversations", () => {
	const window: PolicyLayer = { mask: { window_turns: 8 } };
	const measured: readonly (readonly [string, PolicyLayer])[] = [
		["window:8", window],
		["stride:10", { mask: { window_turns: 8, cadence: "stride", stride_turns: 10 } }],
		["break_even:8", { mask: { window_turns: 8, cadence: "break_even" } }],
		["balanced", { preset: "balanced" }],
		["balanced:high", { preset: "balanced", mask: { thrift: "high" } }],
		["raw", { mask: { enabled: false } }],
	];

	it("gives the figures used to choose the policies", async () => {
		const { policies, files } = await replayed(measured.map(([name]) => name).join(), 20);
		expect(files).toHaveLength(developmentSet.length);
		const raw = replayAll(policyOf({ mask: { enabled: false } }));
		for (const [index, [name, layer]] of measured.entries()) {
			const own = (layer.preset ? replayArrived : replayAll)(policyOf(layer), { forgets: true });
			const expected = figuresOf(own, raw);
			const figures = policies[index];
			expect(figures?.policy).toBe(name);
			expect(figures?.conversations).toBe(developmentSet.length);
			expect(figures?.billed).toBeCloseTo(expected.billed, 2);
			expect(figures?.ratio_to_raw).toBeCloseTo(expected.ratioToRaw, 9);
			expect(figures?.worst_ratio_to_raw).toBeCloseTo(expected.worstRatioToRaw, 9);
			expect(figures?.average_context_ratio).toBeCloseTo(expected.context, 9);
			for (const kind of ["identifiers", "lines"] as const) {
				expect(figures?.recall[kind]).toBe(expected[kind]);
			}
		}
	}, 300_000);

	it("bills the rules of other programs within two hundredths of raw of a second replay without pauses", async () => {
		const measured = {
			"clear:30000:3:5000": 0.633,
			"clear:30000:3:20000": 0.661,
			"clear:100000:3:5000": 0.811,
			"last:5:10": 0.64,
			opencode: 0.949,
		};
		const { policies } = await replayed([...Object.keys(measured), "gemini-cli"].join(), 20);
		for (const [index, [name, ratio]] of Object.entries(measured).entries()) {
			expect([name, Math.abs((policies[index]?.ratio_to_raw ?? 0) - ratio) < 0.02]).toEqual([name, true]);
		}
		// 0.968 with the preview of each output that Gemini CLI leaves in its place.
		expect(policies.at(-1)?.ratio_to_raw).toBeLessThan(0.968);
		expect(policies.at(-1)?.ratio_to_raw).toBeGreaterThan(0.93);
	});

	it("accepts every conversation of every format", async () => {
		const { policies, files } = await replayed("raw,balanced:high,window:2", 0);
		expect(files.length).toBeGreaterThan(200);
		for (const { file, policies } of files) {
			expect([file, policies[0]?.llm_calls ?? 0]).not.toEqual([file, 0]);
			expect([file, policies.every((one) => Number.isFinite(one.billed))]).toEqual([file, true]);
		}
		expect(policies[2]?.masked_tool_results).toBeGreaterThan(500);
		expect(policies[0]?.calls_of_known_window).toBeGreaterThan(500);
	});
});
