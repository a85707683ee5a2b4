import { once } from "../../src/engine/conversation/lists.ts";
import { cacheSecondsOf, pricesFor } from "../../src/engine/masking/cache-time.ts";
import { costOfRewriting } from "../../src/engine/masking/fault-cost.ts";
import { type ReplayHistory, readHistory } from "../../src/engine/masking/history.ts";
import { replay } from "../../src/engine/masking/replay.ts";
import { findUses, type Uses } from "../../src/engine/masking/uses.ts";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import { wordings } from "../../src/engine/policy/wordings.ts";
import { meterFaults } from "../../src/engine/replaying/faults.ts";
import type { ArrivalLimit } from "../../src/engine/truncation/arrival-limit.ts";
import type { ReadConversation } from "../../src/formats/detect.ts";
import { tokenMeter } from "../../src/operations/count.ts";
import { startArrivals } from "../../src/operations/replay-arrival.ts";
import { ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { placeholdersOf } from "../../src/storage/restore/recognise.ts";
import { chooseWithout, leftOut, type Setting } from "./left-out.ts";

const reads = [0.1, 0.05, 0.025];
/** Input tokens that a fault counts as beside its cost, where a read costs 0.1; others change it as in the product. */
const faultPrices = [1_500, 2_500, 4_000, 6_000, 9_000, 12_000, 18_000, 26_000, 36_000];
/** Faults in 100 calls, at most. */
const limits = [2.4, 1, 0.8, 0.4];
const reporting = new Set(["run", "list", "write"]);

interface Rule {
	readonly family: "nothing" | "one number" | "over N to M" | "reads whole" | "two numbers";
	readonly name: string;
	readonly limitOf: ArrivalLimit;
}

const sizes = [2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000];
const ofCommands = [2_000, 3_000, 4_000, 6_000];
const toLess = [
	[4_000, 2_000],
	[8_000, 2_000],
	[8_000, 4_000],
	[16_000, 2_000],
	[16_000, 4_000],
	[16_000, 8_000],
] as const;

const rules: readonly Rule[] = [
	{ family: "nothing", name: "whole", limitOf: () => undefined },
	...sizes.flatMap((most): Rule[] => [
		{ family: "one number", name: `${most}`, limitOf: ({ chars }) => over(chars, most) },
		{
			family: "reads whole",
			name: `${most}, reads whole`,
			limitOf: ({ chars, kind }) => (kind === "read" ? undefined : over(chars, most)),
		},
	]),
	...toLess.map(([most, to]): Rule => {
		return { family: "over N to M", name: `${most} to ${to}`, limitOf: ({ chars }) => over(chars, most, to) };
	}),
	...ofCommands.flatMap((command) =>
		[8_000, 12_000, 16_000, 24_000].map((most): Rule => {
			const limitOf: ArrivalLimit = ({ chars, kind, isAsked }) =>
				over(chars, reporting.has(kind) && !isAsked ? command : most);
			return { family: "two numbers", name: `${most}, commands ${command}`, limitOf };
		}),
	),
];

function over(chars: number, most: number, to = most): number | undefined {
	return chars > most ? to : undefined;
}

/** Replays every rule of cutting on arrival with every price of a fault, and chooses among them without one source each. */
export async function startArrivalSearch() {
	const policy = resolvePolicy([{ preset: "balanced" }]);
	const { meter } = await tokenMeter(policy, undefined);
	const names: string[] = [];
	const calls: number[] = [];
	/** By price of a read. */
	const rawBills = new Map(reads.map((read): [number, number[]] => [read, []]));
	const settings = new Map(reads.map((read) => [read, new Map<string, Counted>()]));

	function historyOf(transcript: ReadConversation["transcript"], uses: () => Uses): ReplayHistory {
		return readHistory({
			transcript,
			policy: policy.mask,
			media: policy.media,
			wording: wordings(policy, "archived"),
			isPlaceholder: placeholdersOf(policy),
			countTokens: meter.countTokens,
			meter,
			uses,
			cacheTime: { seconds: policy.prices.cache_seconds },
		});
	}

	return {
		/** Adds a conversation of a source. */
		add(source: string, read: ReadConversation): void {
			const whole = historyOf(
				read.transcript,
				once(() => findUses(read.transcript)),
			);
			const place = placeOf(names, source);
			calls[place] = (calls[place] ?? 0) + whole.calls.length;
			for (const { family, name, limitOf } of rules) {
				const arrived = startArrivals(read, limitOf)(policy);
				const history = arrived
					? { ...historyOf(arrived.transcript, arrived.uses), cut: { whole, hides: arrived.hides } }
					: whole;
				for (const price of reads) {
					const given = { ...policy.prices, cache_read: price };
					const rates = ratesOfPrices(pricesFor(given, cacheSecondsOf(read.transcript.messages, given)));
					const ofPrice = settings.get(price) as Map<string, Counted>;
					for (const addedToFault of [undefined, ...faultPrices]) {
						const mask = { ...policy.mask, enabled: addedToFault !== undefined };
						const scaled = addedToFault && addedToFault / costOfRewriting(given);
						const { billed, faults } = meterFaults(
							history,
							replay(history, { mask, prices: given, addedToFault: scaled }),
							rates,
						);
						const key = `${name}, ${addedToFault === undefined ? "masks nothing" : `fault ${addedToFault}`}`;
						const counted = ofPrice.get(key) ?? { family, name: key, bills: [], faults: [] };
						ofPrice.set(key, counted);
						addAt(counted.bills, place, billed);
						addAt(counted.faults, place, faults);
						if (family === "nothing" && addedToFault === undefined) {
							addAt(rawBills.get(price) as number[], place, billed);
						}
					}
				}
			}
		},
		rows,
		/** A Markdown table. */
		table(): string {
			const cells = rows().map(({ price, limit, family, point, most }) => {
				return [price, limit, family, `${point.ratio.toFixed(3)} at ${point.faults.toFixed(2)}`, most];
			});
			const titles = ["price of a read", "faults at most", "rule", "left out", "chosen most often"];
			return [titles, titles.map(() => "---"), ...cells].map((row) => `| ${row.join(" | ")} |\n`).join("");
		},
	};

	/** The bill of each source under the setting that was chosen without it, by price, limit of faults and family. */
	function rows() {
		const families = [...new Set(rules.map(({ family }) => family))];
		return reads.flatMap((price) =>
			limits.flatMap((limit) =>
				families.map((family) => {
					const measured = { rawBills: rawBills.get(price) as number[], calls };
					const all = [...(settings.get(price) as Map<string, Counted>).values()];
					const ofFamily = all.filter((one) => one.family === family);
					const chosen = chooseWithout(measured, ofFamily, limit);
					return { price, limit, family, point: leftOut(measured, chosen), most: mostChosen(chosen) };
				}),
			),
		);
	}
}

interface Counted extends Setting {
	readonly family: Rule["family"];
	readonly bills: number[];
	readonly faults: number[];
}

function placeOf(names: string[], source: string): number {
	const found = names.indexOf(source);
	return found === -1 ? names.push(source) - 1 : found;
}

function addAt(sums: number[], place: number, value: number): void {
	sums[place] = (sums[place] ?? 0) + value;
}

function mostChosen(chosen: readonly Setting[]): string {
	const counts = new Map<string, number>();
	for (const { name } of chosen) counts.set(name, (counts.get(name) ?? 0) + 1);
	const [[name, count] = ["", 0]] = [...counts].sort(([, a], [, b]) => b - a);
	return `${name} (${count} of ${chosen.length})`;
}
