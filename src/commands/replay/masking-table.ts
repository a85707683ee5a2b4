import type { MaskingFigures } from "../../pipeline/replay/replay-report.ts";

/** The seed's figures as a table: a line for each file. */
export function maskingTable(rows: readonly ({ readonly file: string } & MaskingFigures)[]): string {
	const width = Math.max(...rows.map((row) => row.file.length));
	const lines = rows.map((row) => {
		const masked = String(row.masked_tool_results).padStart(6);
		const chars = `${row.tool_chars_before} → ${row.tool_chars_after}`.padStart(22);
		const tokens = `${row.tokens_before} → ${row.tokens_after}`.padStart(22);
		return `${row.file.padEnd(width)} ${masked} ${chars} ${tokens}`;
	});
	const header = `${"file".padEnd(width)} ${"masked".padStart(6)} ${"tool characters".padStart(22)} ${"tokens".padStart(22)}`;
	return `${[header, ...lines].join("\n")}\n`;
}
