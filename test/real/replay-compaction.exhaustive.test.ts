import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { PolicyFigures, ReplayReport } from "../../src/engine/replaying/report.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfModel } from "../../src/operations/replay-rates.ts";
import { packageFolder } from "../support/built-cli.ts";
import { policyOf } from "../support/policy-of.ts";
import { conversationsFolder, everyConversation, hasRealData } from "../support/real-conversations.ts";

const models = ["claude-opus-5.5", "claude-opus-5", "claude-fable-5.2", "claude-haiku-5.5"] as const;
const others = [
	["balanced:low", "balanced", "balanced:high"],
	["balanced:low:provider", "balanced:provider", "balanced:high:provider"],
];
const cuts = "arrival:16000:4000";
const compactions = ["provider:80000", "provider:120000", "summary:120000"].map((one) => `${cuts}+compact:${one}`);
const [cheapest] = compactions as [string];
const shown = [cuts, "whole+balanced:high", "balanced:high", "balanced:high:provider", ...compactions];

async function reportOf(model: string): Promise<ReplayReport> {
	const range = [`${cheapest}:1000`, `${cheapest}:4000`];
	const policies = await replayedPolicies(["raw", ...new Set([...shown, ...others.flat(), ...range])].join(), []);
	const rates = await ratesOfModel(model, policyOf().prices);
	const replay = await startReplay({ policy: policyOf(), policies, rates, model, minTurns: 20 });
	for (const file of everyConversation().sort())
		await replay.add({ file, conversation: JSON.parse(readFileSync(join(conversationsFolder, file), "utf8")) });
	return replay.report();
}

const of = ({ policies }: ReplayReport, name: string) =>
	policies.find(({ policy }) => policy === name) as PolicyFigures;

/** The least bill with so many faults: between the thrifts of a way in a straight line, and that of the highest beyond. */
function leastAt(report: ReplayReport, faults: number): number {
	const bills = others.map((names) => {
		const points = names
			.map((name) => of(report, name))
			.sort((a, b) => a.faults_per_100_calls - b.faults_per_100_calls);
		const at = points.findIndex((one) => one.faults_per_100_calls >= faults);
		const [below, above] = [points[at - 1], points[at]];
		if (!below || !above) return (above ?? points.at(-1))?.ratio_with_faults ?? 1;
		const part = (faults - below.faults_per_100_calls) / (above.faults_per_100_calls - below.faults_per_100_calls);
		return below.ratio_with_faults + part * (above.ratio_with_faults - below.ratio_with_faults);
	});
	return Math.min(...bills);
}

describe.skipIf(!hasRealData)("compaction on the development set", async () => {
	const reports: ReplayReport[] = [];
	for (const model of hasRealData ? models : []) reports.push(await reportOf(model));
	const row = (name: string, cell: (report: ReplayReport) => string) =>
		`| ${[name, ...reports.map(cell)].join(" | ")} |\n`;

	it("the page of evidence has each way, its range, and the bill against masking and clearing at equal faults", () => {
		const ways = shown.map((name) =>
			row(name, (report) => {
				const { ratio_with_faults: bill, faults_per_100_calls: faults } = of(report, name);
				return `${bill.toFixed(3)} at ${faults.toFixed(2)}`;
			}),
		);
		const range = row(`${cheapest}, range`, (report) => {
			const [least, most] = [of(report, `${cheapest}:1000`), of(report, `${cheapest}:4000`)];
			return `${least.ratio_to_raw.toFixed(3)} to ${most.ratio_with_faults.toFixed(3)}`;
		});
		const against = compactions.slice(0, 2).map((name) =>
			row(`${name}, × least`, (report) => {
				const one = of(report, name);
				return (one.ratio_with_faults / leastAt(report, one.faults_per_100_calls)).toFixed(2);
			}),
		);
		const table = [...ways, range, ...against].join("");
		expect(readFileSync(join(packageFolder, "docs/evidence.md"), "utf8")).toContain(table);
	});
});
