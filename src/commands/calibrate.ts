import { PalimpsestError } from "../errors.ts";
import { type CalibrationFigures, type CalibrationReport, startCalibration } from "../operations/calibrate.ts";
import { parsePrices, ratesOfPrices } from "../operations/replay-rates.ts";
import { alignColumns, endOf, whole } from "../operations/report-text.ts";
import { causes, unexplainedCauses } from "../replaying/calibration.ts";
import { type CommonOptions, commandConfig, printJson, readDocument, say, show, shownName } from "./input-output.ts";
import { findConversations, unreadableCodes } from "./replay.ts";

interface CalibrateOptions extends CommonOptions {
	readonly prices?: string;
	readonly files?: boolean;
	readonly json?: boolean;
}

/** `palimpsest replay --calibrate FILE…` */
export async function calibrate(names: readonly string[], options: CalibrateOptions): Promise<void> {
	const { policy } = await commandConfig(options);
	const prices = options.prices === undefined ? policy.prices : parsePrices(options.prices, policy.prices);
	const calibration = startCalibration(ratesOfPrices(prices));
	const leftOut = { unreadable: 0, no_usage: 0, nothing_cached: 0 };
	for (const { file, isNamed } of await findConversations(names)) {
		try {
			const { value } = await readDocument(file, policy.limits.max_file_bytes);
			const done = calibration.add({ file, conversation: value });
			if (done !== "calibrated") leftOut[done] += 1;
		} catch (error) {
			const isLeftOut = !isNamed && error instanceof PalimpsestError && unreadableCodes.includes(error.code);
			if (!isLeftOut) throw error;
			leftOut.unreadable += 1;
		}
	}
	const report = calibration.report();
	const { unreadable, no_usage, nothing_cached } = leftOut;
	const words = [
		...(unreadable > 0 ? [`${unreadable} that cannot be read as a conversation`] : []),
		...(no_usage > 0 ? [`${no_usage} without the usage of two calls`] : []),
		...(nothing_cached > 0 ? [`${nothing_cached} whose provider cached nothing`] : []),
	];
	if (words.length > 0) say(`left out files: ${words.join(", ")}`);
	if (report.files.length === 0) {
		const message = "No session to calibrate with: none has records of what its provider read from its cache.";
		throw new PalimpsestError("invalid_argument", message);
	}
	if (options.json) printJson(report, 2);
	else show(calibrationText(report, options.files ?? false));
}

export function calibrationText(report: CalibrationReport, eachFile: boolean): string {
	const { total, without_forks, without_unexplained, within_5_percent: near, files } = report;
	const rows = [
		...(eachFile ? files.map((one) => rowOf(endOf(shownName(one.file), longestName), one)) : []),
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

function table(rows: readonly (readonly string[])[]): string {
	return alignColumns(rows)
		.map((line) => `${line.trimEnd()}\n`)
		.join("");
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

const longestName = 40;
