import type { Section, Table, Target } from "./section.ts";

/** A table in Markdown, its columns as wide as their widest cell, so that it reads well as plain text too. */
export function writeTable({ caption, columns, rows }: Table): string {
	const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)));
	const line = (cells: readonly string[]) =>
		`| ${cells.map((cell, index) => pad(cell, widths[index] ?? 0, index)).join(" | ")} |`;
	const rule = `|${widths.map((width, index) => (index === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
	const lines = [line(columns), rule, ...rows.map(line)].join("\n");
	return caption === undefined ? lines : `**${caption}**\n\n${lines}`;
}

function pad(cell: string, width: number, index: number): string {
	return index === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** A section in Markdown. */
export function writeSection({ title, notes, tables, targets }: Section): string {
	const parts = [`## ${title}`, ...notes, ...tables.map(writeTable)];
	if (targets.length > 0) parts.push(writeTargets(targets));
	return parts.join("\n\n");
}

/** What must hold, and what was measured. */
export function writeTargets(targets: readonly Target[]): string {
	return writeTable({
		columns: ["must hold", "target", "measured", "met"],
		rows: targets.map(({ what, wanted, measured, met }) => [what, wanted, measured, met ? "yes" : "no"]),
	});
}
