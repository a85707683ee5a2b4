/** A setting of a rule, with its sums of each source. */
export interface Setting {
	readonly name: string;
	/** With faults. */
	readonly bills: readonly number[];
	readonly faults: readonly number[];
}

export interface Point {
	/** With faults, against masking nothing. */
	readonly ratio: number;
	/** In 100 calls. */
	readonly faults: number;
}

/** What masking nothing costs in each source, and its calls. */
export interface Sources {
	readonly rawBills: readonly number[];
	readonly calls: readonly number[];
}

/** For each source, the setting with the least bill of those within the limit on all others; if none is, that of least faults. */
export function chooseWithout(sources: Sources, settings: readonly Setting[], limit: number): readonly Setting[] {
	return sources.calls.map((_, left) => {
		const points = settings.map((setting) => ({ setting, ...without(left, setting, sources) }));
		const allowed = points.filter(({ faults }) => faults <= limit);
		const order = allowed.length > 0 ? allowed : points.toSorted((a, b) => a.faults - b.faults).slice(0, 1);
		return order.reduce((best, one) => (one.ratio < best.ratio ? one : best)).setting;
	});
}

/** Each source under the setting that was chosen without it, added up. */
export function leftOut({ rawBills, calls }: Sources, chosen: readonly Setting[]): Point {
	const own = (of: "bills" | "faults") => sum(chosen.map((setting, source) => setting[of][source] as number));
	return { ratio: own("bills") / sum(rawBills), faults: (100 * own("faults")) / sum(calls) };
}

/** The figures of a setting on all sources but one. */
function without(left: number, { bills, faults }: Setting, { rawBills, calls }: Sources): Point {
	const others = (values: readonly number[]) => sum(values.toSpliced(left, 1));
	return { ratio: others(bills) / others(rawBills), faults: (100 * others(faults)) / others(calls) };
}

function sum(values: readonly number[]): number {
	return values.reduce((all, one) => all + one, 0);
}
