/** What one benchmark found, for people. */
export interface Section {
	readonly title: string;
	/** Short sentences under the title: what was measured on what. */
	readonly notes: readonly string[];
	readonly tables: readonly Table[];
	readonly targets: readonly Target[];
}

/** Rows of cells under headings. */
export interface Table {
	readonly caption?: string;
	/** Stands in docs/evidence.md too, perhaps without some columns: a comparison with peers that the targets do not show. */
	readonly isPublished?: true | { readonly without: readonly string[] };
	readonly columns: readonly string[];
	readonly rows: readonly (readonly string[])[];
}

/** A line that must hold, and whether it does. */
export interface Target {
	readonly what: string;
	readonly wanted: string;
	readonly measured: string;
	readonly met: boolean;
}

/** A target that a number be at most a limit. */
export function atMost(what: string, limit: number, measured: number, unit = "x"): Target {
	return { what, wanted: `<= ${limit} ${unit}`, measured: `${short(measured)} ${unit}`, met: measured <= limit };
}

/** A target that a number be at least a limit. */
export function atLeast(what: string, limit: number, measured: number, unit = "x"): Target {
	return { what, wanted: `>= ${limit} ${unit}`, measured: `${short(measured)} ${unit}`, met: measured >= limit };
}

/** A number in three digits or so. */
export function short(value: number): string {
	if (value === 0) return "0";
	const size = Math.abs(value);
	if (size >= 1000) return Math.round(value).toLocaleString("en-GB").replaceAll(",", " ");
	return String(Number(value.toPrecision(size >= 100 ? 3 : 2)));
}

/** A time, in the unit in which it reads best. */
export function duration(milliseconds: number): string {
	if (milliseconds >= 10_000) return `${short(milliseconds / 1000)} s`;
	if (milliseconds >= 1) return `${short(milliseconds)} ms`;
	return `${short(milliseconds * 1000)} µs`;
}

/** Says on standard error what is being done. */
export function progress(line: string): void {
	process.stderr.write(`${line}\n`);
}
