import type { ContextParts } from "../engine/replaying/bill.ts";
import type { BilledUnit, ReplayReport, ReplaySeries } from "../engine/replaying/report.ts";

// The scripts of the pages are bundled with this file, so it imports nothing that needs Node.js.

export type ReplayPageData = ReturnType<typeof replayPageData>;

/**
 * Packs the series. `columns` has lists of whole numbers, each as the difference from the one before; a list is stored
 * once, also if several policies share it, and files and series have its place. `billed` is multiplied by the power of ten
 * `billedDecimals`. The policies are in the order of the report, which decides the colours.
 */
export function replayPageData(
	{ policies }: ReplayReport,
	{ series, billedIn }: { readonly series: readonly ReplaySeries[]; readonly billedIn: BilledUnit },
) {
	const columns: number[][] = [];
	const places = new Map<string, number>();
	const keep = (values: readonly number[]): number => {
		const differences = values.map((value, index) => value - (values[index - 1] ?? 0));
		const key = differences.join();
		const place = places.get(key) ?? columns.push(differences) - 1;
		places.set(key, place);
		return place;
	};
	const largestBill = series.reduce((most, { billed }) => Math.max(most, billed.at(-1) ?? 0), 0);
	const billedDecimals = largestBill === 0 ? 0 : Math.min(12, Math.max(0, 6 - Math.ceil(Math.log10(largestBill))));
	const drawFile = (file: string) => {
		const ofFile = series.filter((one) => one.file === file);
		const calls = Math.max(0, ...ofFile.map(({ context }) => context.length));
		const sizes = Array.from({ length: calls }, (_, call) =>
			ofFile.flatMap(({ context }) => Object.values(context[call] ?? {})).reduce((sum, size) => sum + size, 0),
		);
		const drawn = drawnCalls(sizes);
		const drawSeries = ({ policy, context, billed }: ReplaySeries) => {
			const part = (name: keyof ContextParts) => keep(drawn.map((call) => context[call]?.[name] ?? 0));
			return {
				policy,
				system: part("system"),
				user: part("user"),
				assistant: part("assistant"),
				results: part("results"),
				placeholders: part("placeholders"),
				billed: keep(drawn.map((call) => Math.round((billed[call] ?? 0) * 10 ** billedDecimals))),
			};
		};
		return { file, calls, at: keep(drawn.map((call) => call + 1)), series: ofFile.map(drawSeries) };
	};
	const files = [...new Set(series.map(({ file }) => file))].map(drawFile).filter(({ calls }) => calls > 0);
	const drawnPolicies = policies.map(({ policy, average_context_ratio, ratio_to_raw, recall }) => {
		return { policy, average_context_ratio, ratio_to_raw, recall };
	});
	return { billedIn, billedDecimals, policies: drawnPolicies, files, columns };
}

/** Two calls for each pixel of a wide screen. */
export const mostDrawnCalls = 2_000;

/** All calls if they are few, else the ends, and the smallest and largest of equal stretches, to keep the peaks. */
function drawnCalls(sizes: readonly number[]): number[] {
	if (sizes.length <= mostDrawnCalls) return sizes.map((_, call) => call);
	const stretches = Math.floor((mostDrawnCalls - 2) / 2);
	const inner = sizes.length - 2;
	const drawn = [0];
	for (let stretch = 0; stretch < stretches; stretch += 1) {
		const from = 1 + Math.floor((stretch * inner) / stretches);
		const to = 1 + Math.floor(((stretch + 1) * inner) / stretches);
		let [least, largest] = [from, from];
		for (let call = from; call < to; call += 1) {
			if ((sizes[call] as number) < (sizes[least] as number)) least = call;
			if ((sizes[call] as number) > (sizes[largest] as number)) largest = call;
		}
		drawn.push(...new Set([Math.min(least, largest), Math.max(least, largest)]));
	}
	return [...drawn, sizes.length - 1];
}

const whole = new Intl.NumberFormat("en");
const money = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 4 });
const percent = new Intl.NumberFormat("en", {
	style: "percent",
	minimumFractionDigits: 1,
	maximumFractionDigits: 1,
	// No “-0.0%”.
	signDisplay: "negative",
});

export const formatCount = (value: number): string => whole.format(Math.round(value));

/** `1 request`, `2 requests`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
	`${formatCount(count)} ${count === 1 ? one : many}`;

/** `94.1%`; a dash if the total is zero. */
export const formatShare = (value: number | null): string => (value === null ? "–" : percent.format(value));

export const formatCost = (value: number, unit: BilledUnit): string =>
	unit === "us_dollars" ? money.format(value) : formatCount(value);

const longestPolicy = 24;

/** What `balanced`, or else the policy with the least bill, would have saved and lost, for people. `undefined` with `raw` alone. */
export function savingSentence({ policies, files }: ReplayReport): string | undefined {
	const edited = policies.filter(({ policy }) => policy !== "raw");
	const least = edited.toSorted((one, other) => one.ratio_with_faults - other.ratio_with_faults)[0];
	const chosen = edited.find(({ policy }) => policy === "balanced") ?? least;
	if (!chosen) return undefined;
	const { policy, ratio_with_faults: ratio, faults_per_100_calls: faults } = chosen;
	const sessions = files.length === 1 ? "this session" : `these ${formatCount(files.length)} sessions`;
	const percentage = Math.round(Math.abs(1 - ratio) * 100);
	const cost = percentage === 0 ? "the same" : `${percentage} % ${ratio < 1 ? "less" : "more"}`;
	const name = policy.length > longestPolicy ? `…${policy.slice(1 - longestPolicy)}` : policy;
	return `With ${name} the input of ${sessions} would have cost ${cost}; ${faults.toFixed(2)} of 100 calls would have read a result again.`;
}
