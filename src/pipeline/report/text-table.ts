import { type BarStyle, textBar } from "./text-bar.ts";

/** A table as text. */
export interface TextTable {
	/** Headings of the columns; the first is what the table is about. */
	readonly headings: readonly string[];
	readonly rows: readonly TextRow[];
	/** Characters of a line at most. */
	readonly columns: number;
	readonly bars: BarStyle;
	/** The last column is text, which is cut to the room that is left; numbers stand to the right. */
	readonly endsWithText?: boolean;
	/** Columns that may be left out where lines would be too long, the first of them first. */
	readonly spare?: readonly number[];
}

/** A row of a table. */
export interface TextRow {
	readonly cells: readonly string[];
	/** From 0 to 1: the bar behind it. */
	readonly part?: number;
}

const gap = "  ";
const longestName = 32;
/** Shorter bars say nothing; longer ones do not say more. */
const bar = { shortest: 4, longest: 40 };

/** Writes a table, a line each row. */
export function textTable(table: TextTable): string {
	const { headings, rows, columns, bars, endsWithText = false, spare = [] } = table;
	const lines = [headings, ...rows.map(({ cells }) => cells)].map(([name = "", ...cells]) => [
		endOf(name, longestName),
		...cells,
	]);
	const widths = headings.map((_, index) => Math.max(...lines.map((cells) => cells[index]?.length ?? 0)));
	const isText = (index: number) => index === 0 || (endsWithText && index === headings.length - 1);
	const written = lines.map((cells) =>
		cells
			.map((cell, index) => (isText(index) ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
			.join(gap),
	);
	if (endsWithText) return cutLast(written, { last: widths.at(-1) ?? 0, columns }).join("\n");
	const length = written[0]?.length ?? 0;
	const [least] = spare;
	if (length > columns && least !== undefined) return textTable(withoutColumn(table, least));
	const width = Math.min(bar.longest, columns - length - gap.length);
	const drawn = written.map((line, index) => {
		const part = rows[index - 1]?.part;
		const isShown = part !== undefined && width >= bar.shortest;
		return isShown ? line + gap + textBar(part, { width, style: bars }) : line;
	});
	return drawn.map((line) => line.trimEnd()).join("\n");
}

function withoutColumn(table: TextTable, column: number): TextTable {
	const { headings, rows, spare = [] } = table;
	return {
		...table,
		headings: headings.toSpliced(column, 1),
		rows: rows.map((row) => ({ ...row, cells: row.cells.toSpliced(column, 1) })),
		spare: spare.filter((one) => one !== column).map((one) => (one > column ? one - 1 : one)),
	};
}

/** Names of tools and paths end with what tells them apart. */
function endOf(text: string, longest: number): string {
	return text.length <= longest ? text : `…${text.slice(1 - longest)}`;
}

/** Cuts what stands in the last column to the room that is left for it. */
function cutLast(lines: readonly string[], { last, columns }: { readonly last: number; readonly columns: number }) {
	return lines.map((line) => {
		const start = line.length - last;
		return (line.slice(0, start) + endOf(line.slice(start).trimEnd(), Math.max(2, columns - start))).trimEnd();
	});
}
