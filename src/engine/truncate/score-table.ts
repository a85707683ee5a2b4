import type { LineFeatures } from "./line-features.ts";
import type { TextUnits } from "./text-units.ts";

const worth = { header: 1_000, row: 1, focus: 20 };
/** Rows over which the start and the end of a table count more. */
const edgeRows = 30;

/** Judges the lines of a table: its header, the rows that have to do with the focus, the first and the last rows. */
export function scoreTable(units: TextUnits, features: LineFeatures | undefined): Float32Array {
	const { count, line } = units;
	const most = features ? features.focus.reduce((sum, one) => Math.max(sum, one), 0) : 0;
	return Float32Array.from({ length: count }, (_, unit) => {
		if (line[unit] === 1) return worth.header;
		const edge = 2 * Math.exp(-unit / edgeRows) + Math.exp(-(count - 1 - unit) / edgeRows);
		const found = most > 0 && features ? (features.focus[unit] as number) / most : 0;
		return worth.row * (0.1 + edge) + worth.focus * found ** 2;
	});
}
