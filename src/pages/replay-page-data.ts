import type { ContextParts } from "../engine/replay/context-by-part.ts";
import type { PolicyFigures, ReplayReport, ReplaySeries } from "../pipeline/replay/replay-report.ts";
import { drawnCalls } from "./drawn-calls.ts";

/** What the plots of the replay page are drawn from, as the page carries it. */
export interface ReplayPageData {
	readonly billedIn: BilledUnit;
	/** Decimals that `billed` was multiplied away by. */
	readonly billedDecimals: number;
	/** Over all files, in the order of the report: the place of a policy gives it its colour. */
	readonly policies: readonly (Pick<PolicyFigures, "policy" | "average_context_ratio" | "recall"> & {
		readonly ratio_to_raw: number;
	})[];
	readonly files: readonly DrawnFile[];
	/** Each a list of whole numbers as differences from one to the next; many calls and policies share one. */
	readonly columns: readonly (readonly number[])[];
}

/** Whether figures of cost are in prices of one input token, or in US dollars. */
export type BilledUnit = "input_tokens" | "us_dollars";

/** A conversation whose calls can be drawn. */
export interface DrawnFile {
	readonly file: string;
	/** LLM calls of the conversation, drawn or not. */
	readonly calls: number;
	/** Place in `columns` of the numbers of the calls that are drawn, from 1. */
	readonly at: number;
	readonly series: readonly DrawnSeries[];
}

/** A policy over a conversation: places in `columns`. */
export interface DrawnSeries extends Readonly<Record<keyof ContextParts, number>> {
	readonly policy: string;
	readonly billed: number;
}

/** Packs the series: what is the same under several policies stands once, and numbers as small differences. */
export function replayPageData(
	{ policies }: ReplayReport,
	{ series, billedIn }: { readonly series: readonly ReplaySeries[]; readonly billedIn: BilledUnit },
): ReplayPageData {
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
	const byFile = new Map<string, ReplaySeries[]>();
	for (const one of series) {
		const ofFile = byFile.get(one.file);
		if (ofFile) ofFile.push(one);
		else byFile.set(one.file, [one]);
	}
	const files = Array.from(byFile, ([file, ofFile]): DrawnFile => {
		const calls = ofFile.reduce((most, { context }) => Math.max(most, context.length), 0);
		const sizes = Array.from({ length: calls }, (_, call) =>
			ofFile.reduce((sum, { context }) => sum + tokensOf(context[call]), 0),
		);
		const drawn = drawnCalls(sizes);
		return {
			file,
			calls,
			at: keep(drawn.map((call) => call + 1)),
			series: ofFile.map(({ policy, context, billed }) => {
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
			}),
		};
	}).filter(({ calls }) => calls > 0);
	return {
		billedIn,
		billedDecimals,
		policies: policies.map(({ policy, average_context_ratio, ratio_to_raw, recall }) => {
			return { policy, average_context_ratio, ratio_to_raw, recall };
		}),
		files,
		columns,
	};
}

function tokensOf(parts: ContextParts | undefined): number {
	if (parts === undefined) return 0;
	return parts.system + parts.user + parts.assistant + parts.results + parts.placeholders;
}
