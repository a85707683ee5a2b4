import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { PalimpsestError } from "../src/errors.ts";
import { readTextDocument } from "../src/json-text/read.ts";
import { parsePrices, ratesOfPrices } from "../src/operations/replay-rates.ts";
import { resolvePolicy } from "../src/policy/layers.ts";
import { startCalibration } from "./calibrate.ts";
import { calibrationText } from "./calibration-text.ts";

const usage = `npm run lab -- calibrate FILE… [--prices READ,WRITE] [--files] [--json]
  compares what providers billed in recorded sessions with what replay predicts
`;

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { prices: { type: "string" }, files: { type: "boolean" }, json: { type: "boolean" } },
});
const [command, ...names] = positionals;
if (command === "calibrate" && names.length > 0) calibrate(names);
else {
	process.stderr.write(usage);
	process.exitCode = 1;
}

/** Files of a folder that are no sessions with usage are left out and counted. */
function calibrate(names: readonly string[]): void {
	const { prices } = resolvePolicy([]);
	const rates = ratesOfPrices(values.prices === undefined ? prices : parsePrices(values.prices, prices));
	const calibration = startCalibration(rates);
	const counts = { calibrated: 0, no_usage: 0, nothing_cached: 0, unreadable: 0 };
	for (const file of names.flatMap(filesOf)) {
		try {
			const conversation = readTextDocument(readFileSync(file, "utf8"), file).value;
			counts[calibration.add({ file, conversation })] += 1;
		} catch (error) {
			if (!(error instanceof PalimpsestError)) throw error;
			counts.unreadable += 1;
		}
	}
	const report = calibration.report();
	process.stderr.write(`${JSON.stringify(counts)}\n`);
	process.stdout.write(
		values.json ? JSON.stringify(report, undefined, 2) : calibrationText(report, values.files ?? false),
	);
}

function filesOf(name: string): string[] {
	if (!statSync(name).isDirectory()) return [name];
	const names = readdirSync(name, { recursive: true, encoding: "utf8" });
	return names.filter((file) => /\.jsonl?$/.test(file)).map((file) => join(name, file));
}
