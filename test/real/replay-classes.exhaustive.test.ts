import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replayText } from "../../src/commands/replay-table.ts";
import type { PolicyFigures, ReplayReport } from "../../src/engine/replaying/report.ts";
import { startReplay } from "../../src/operations/replay.ts";
import { replayedPolicies } from "../../src/operations/replay-policies.ts";
import { ratesOfModel } from "../../src/operations/replay-rates.ts";
import { packageFolder } from "../support/built-cli.ts";
import { policyOf } from "../support/policy-of.ts";
import { conversationsFolder, everyConversation, hasRealData } from "../support/real-conversations.ts";

/** A model of each class of prices. */
const classes = [
	"claude-opus-5.5",
	"claude-opus-5",
	"claude-fable-5.2",
	"claude-haiku-5.5",
	"gpt-5.6",
	"gemini-3.1-pro",
] as const;
const rivals = ["window:8", "clear:30000:3:20000", "last:5:10", "opencode", "gemini-cli"];
const thrifts = ["balanced:high", "balanced", "balanced:low"];
const onPage = ["window:8", "clear:30000:3:20000", "balanced"];
const inReadme = ["window:8", "clear:30000:3:20000", "balanced", "balanced:low"];
const clears = [30_000, 50_000, 80_000, 100_000, 150_000].flatMap((trigger) =>
	[1, 3, 10].flatMap((keep) => [10_000, 30_000, 60_000].map((least) => `clear-ours:${trigger}:${keep}:${least}`)),
);

const read = (file: string) => readFileSync(join(packageFolder, file), "utf8");

async function reportOf(model: string): Promise<ReplayReport> {
	const policy = policyOf();
	const policies = await replayedPolicies(["raw", ...rivals, ...thrifts, ...clears].join(), []);
	const rates = await ratesOfModel(model, policy.prices);
	const replay = await startReplay({ policy: policyOf(), policies, rates, model, minTurns: 20 });
	for (const file of everyConversation().sort()) {
		await replay.add({ file, conversation: JSON.parse(readFileSync(join(conversationsFolder, file), "utf8")) });
	}
	return replay.report();
}

const of = ({ policies }: ReplayReport, name: string) =>
	policies.find(({ policy }) => policy === name) as PolicyFigures;

/** A line of a table in docs/evidence.md and test/lab/README.md. */
const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |\n`;
const shown = (one: PolicyFigures) => `${one.ratio_with_faults.toFixed(3)} at ${one.faults_per_100_calls.toFixed(2)}`;

describe.skipIf(!hasRealData)("the classes of prices on the development set", async () => {
	const reports = new Map<string, ReplayReport>();
	for (const model of hasRealData ? classes : []) reports.set(model, await reportOf(model));
	const all = [...reports];

	it("the page on replay has what the command prints", () => {
		const [[, report]] = all as [(typeof all)[number]];
		const shown = { ...report, policies: onPage.map((name) => of(report, name)) };
		const [table = ""] = replayText(shown, { eachFile: false, all: false }).split("\ncost: ");
		expect(read("docs/measure.md")).toContain(table);
	});

	it("README has the bills and faults of its policies at the prices of its three models", () => {
		const rows = inReadme.map((name) => row([name, ...all.slice(0, 3).map(([, report]) => shown(of(report, name)))]));
		expect(read("README.md")).toContain(rows.join(""));
	});

	it("the page of evidence has these bills, faults and price steps", () => {
		const bills = [
			...[...rivals, ...thrifts].map((name) => row([name, ...all.map(([, report]) => shown(of(report, name)))])),
			row(["output in the bill of raw", ...all.map(([, report]) => of(report, "raw").output_share.toFixed(2))]),
		];
		const steps = all.flatMap(([model, report]) => {
			const { raw_calls_over, conversations } = of(report, "raw").price_step ?? {};
			if (raw_calls_over === undefined) return [];
			return ["raw", ...rivals.slice(1, 3), ...thrifts].map((name) => {
				const { calls_over, ratio_with_faults } = of(report, name).price_step as NonNullable<
					PolicyFigures["price_step"]
				>;
				const share = (calls_over / raw_calls_over).toFixed(2);
				return row([model, `${conversations}`, name, `${calls_over}`, share, ratio_with_faults.toFixed(3)]);
			});
		});
		process.stderr.write([...bills, "\n", ...steps].join(""));
		for (const table of [bills, steps])
			expect(read(table === steps ? "test/lab/README.md" : "docs/evidence.md")).toContain(table.join(""));
	});

	it.each(classes)(
		"at the prices of %s no rival has a lower bill with faults and fewer faults than a thrift",
		(model) => {
			const report = reports.get(model) as ReplayReport;
			const isBelow = (one: PolicyFigures, other: PolicyFigures) =>
				one.ratio_with_faults < other.ratio_with_faults && one.faults_per_100_calls < other.faults_per_100_calls;
			const below = thrifts.flatMap((thrift) =>
				[...rivals, ...clears]
					.filter((rival) => isBelow(of(report, rival), of(report, thrift)))
					.map((rival) => [thrift, rival]),
			);
			expect(below).toEqual([]);
		},
	);

	it.each(classes.filter((model) => model !== "claude-haiku-5.5"))(
		"a thrift has about as many faults at the prices of %s",
		(model) => {
			const faults = thrifts.map((thrift) => of(reports.get(model) as ReplayReport, thrift).faults_per_100_calls);
			const limits = [2.4, 1.1, 0.4];
			faults.forEach((found, place) => {
				expect(found).toBeLessThanOrEqual(limits[place] as number);
				expect(found).toBeGreaterThan((limits[place] as number) / 2.5);
			});
		},
	);

	it("stays below the price step of Haiku 5.5 where it can", () => {
		for (const thrift of thrifts) {
			const step = of(reports.get("claude-haiku-5.5") as ReplayReport, thrift).price_step;
			expect(step?.calls_over).toBeLessThanOrEqual(0.25 * (step?.raw_calls_over ?? 0));
			expect(step?.ratio_with_faults).toBeLessThanOrEqual(0.45);
		}
	});
});
