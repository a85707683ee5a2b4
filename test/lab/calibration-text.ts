import { alignColumns } from "../../src/operations/report-text.ts";
import { endOf } from "../../src/operations/text-width.ts";
import { whole } from "../../src/operations/window-words.ts";
import type { CalibrationFigures, CalibrationReport } from "./calibrate.ts";
import { causes, unexplainedCauses } from "./calibration.ts";

/** The tables of a calibration; with `eachFile`, a row for each session too. */
export function calibrationText(report: CalibrationReport, eachFile: boolean): string {
	const { total, without_forks, without_unexplained, within_5_percent: near, files } = report;
	const rows = [
		...(eachFile ? files.map((one) => rowOf(endOf(one.file, 40), one)) : []),
		rowOf("without forks", without_forks),
		rowOf("of these, explained calls", without_unexplained),
		rowOf("all", total),
	];
	const heading = ["", "sessions", "calls", "read", "predicted", "±", "written", "predicted", "±", "bill ±"];
	return [
		`${table([heading, ...rows])}\n`,
		table([
			["cause", "calls", "predicted − read", "of all read", "of the bill"],
			...causes.map((cause) => {
				const { calls, tokens, billed } = total.causes[cause];
				return [
					unexplainedCauses.some((one) => one === cause) ? `${cause} (unexplained)` : cause,
					whole(calls),
					signed(tokens),
					percent(total.read_tokens === 0 ? null : tokens / total.read_tokens),
					percent(total.billed === 0 ? null : billed / total.billed),
				];
			}),
		]),
		`\nwithin 5 %: ${near.read} of ${files.length} sessions in tokens read, ${near.written} in tokens written, ${near.billed} in the bill`,
		"\nTokens are the provider's. read: from its cache; written: all others; bill: of input, at the prices of replay.\n",
	].join("");
}

function rowOf(name: string, figures: CalibrationFigures): string[] {
	return [
		name,
		whole(figures.conversations),
		whole(figures.llm_calls),
		whole(figures.read_tokens),
		whole(figures.predicted_read_tokens),
		percent(figures.read_difference),
		whole(figures.written_tokens),
		whole(figures.predicted_written_tokens),
		percent(figures.written_difference),
		percent(figures.billed_difference),
	];
}

function percent(share: number | null): string {
	if (share === null) return "–";
	const text = Math.abs(100 * share).toFixed(1);
	if (text === "0.0") return `${text} %`;
	return `${share > 0 ? "+" : "−"}${text} %`;
}

function signed(tokens: number): string {
	if (tokens === 0) return "0";
	return `${tokens > 0 ? "+" : "−"}${whole(Math.abs(tokens))}`;
}

function table(rows: readonly (readonly string[])[]): string {
	return alignColumns(rows)
		.map((line) => `${line.trimEnd()}\n`)
		.join("");
}
