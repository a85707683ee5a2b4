import type { ContextParts } from "../../src/engine/replaying/bill.ts";
import type { PolicyFigures, ReplayReport, ReplaySeries } from "../../src/engine/replaying/report.ts";

/** A name that a page must show and must not obey. */
export const hostileName = `</script><script>alert(1)</script><!-- "quoted" & 'so' \u2028\u2029.json`;

/** Policies of the fixture, and the tokens that each takes out at its masking, every so many calls. */
const cuts = { raw: [0, 0], "window:8": [700, 1], balanced: [9_000, 15], "<b>mine</b>.toml": [4_000, 7] } as const;
export const policyNames = Object.keys(cuts);

/** A report as `palimpsest replay` makes it, of conversations with the given names and numbers of calls. */
export function replayFixture(conversations: Readonly<Record<string, number>>): {
	report: ReplayReport;
	series: ReplaySeries[];
} {
	const names = Object.keys(conversations);
	const series = names.flatMap((file) =>
		Object.entries(cuts).map(([policy, [cut, every]]) => {
			const context = Array.from({ length: conversations[file] ?? 0 }, (_, call) => partsAt(call, cut, every));
			let sum = 0;
			return { file, policy, context, billed: context.map((parts) => (sum += 0.2 * totalOf(parts))) };
		}),
	);
	const figuresOf = (among: readonly ReplaySeries[]) =>
		policyNames.map((policy, place) => {
			const own = among.filter((one) => one.policy === policy);
			const raw = among.filter((one) => one.policy === "raw");
			return figures(policy, place, { own, raw });
		});
	const masking = {
		masked_tool_results: 12,
		tool_chars_before: 345_678,
		tool_chars_after: 23_456,
		tokens_before: 98_765,
		tokens_after: 7_654,
	};
	const files = names.map((file) => {
		return { ...masking, file, model: null, policies: figuresOf(series.filter((one) => one.file === file)) };
	});
	const report = { ...masking, billed_in: "input_tokens", prices: [], policies: figuresOf(series), files } as const;
	return { report, series };
}

function partsAt(call: number, cut: number, every: number): ContextParts {
	const arrived = 1_000 * (call + 1);
	const results = cut === 0 ? arrived : Math.max(500, arrived - cut * (1 + Math.floor(call / every)));
	return {
		system: 1_500,
		user: 800,
		assistant: 300 * (call + 1),
		results,
		placeholders: Math.round((arrived - results) / 20),
	};
}

export function totalOf({ system, user, assistant, results, placeholders }: ContextParts): number {
	return system + user + assistant + results + placeholders;
}

function figures(
	policy: string,
	place: number,
	{ own, raw }: { readonly own: readonly ReplaySeries[]; readonly raw: readonly ReplaySeries[] },
): PolicyFigures {
	const inputOf = (some: readonly ReplaySeries[]) =>
		some.flatMap(({ context }) => context).reduce((sum, parts) => sum + totalOf(parts), 0);
	const billedOf = (some: readonly ReplaySeries[]) => some.reduce((sum, { billed }) => sum + (billed.at(-1) ?? 0), 0);
	const sizes = own.flatMap(({ context }) => context.map(totalOf));
	return {
		policy,
		conversations: own.length,
		llm_calls: sizes.length,
		input_tokens: inputOf(own),
		cached_tokens: Math.round(0.8 * inputOf(own)),
		output_tokens: 300 * sizes.length,
		billed: billedOf(own),
		ratio_to_raw: billedOf(own) / billedOf(raw),
		worst_ratio_to_raw: 1.125,
		faults_per_100_calls: 1.25 * place,
		billed_with_faults: billedOf(own) + 0.05 * place * billedOf(raw),
		ratio_with_faults: billedOf(own) / billedOf(raw) + 0.05 * place,
		bound_with_faults: 0.61,
		worst_ratio_with_faults: 1.25,
		fault_cost_to_raw: 0.05 * place,
		billed_output: 1_500 * sizes.length,
		output_share: 0.2,
		ratio_with_output: 0.901,
		average_context_ratio: inputOf(own) / inputOf(raw),
		peak_context_tokens: sizes.reduce((most, size) => Math.max(most, size), 0),
		calls_over_window: 3,
		calls_of_known_window: sizes.length,
		masked_tool_results: 4 * place,
		repeated_tokens: 0,
		recall: { identifiers: 1 - 0.061 * place, lines: 1 - 0.042 * place },
		recall_in_digests: { identifiers: 0.017, lines: null },
	};
}
