import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { callsOf } from "../../src/engine/masking/history.ts";
import { resolvePolicy } from "../../src/engine/policy/layers.ts";
import type { ReplayReport } from "../../src/engine/replaying/report.ts";
import { PalimpsestError } from "../../src/errors.ts";
import { readConversation } from "../../src/formats/detect.ts";
import { readTextDocument } from "../../src/formats/json-text/read.ts";
import { parsePrices, ratesOfPrices } from "../../src/operations/replay-rates.ts";
import { startCalibration } from "./calibrate.ts";
import { calibrationText } from "./calibration-text.ts";
import { remainingText } from "./remaining.ts";
import { compareArms, readOutcomes, successOf } from "./success.ts";
import { armsText, successText } from "./success-text.ts";

const usage = `npm run lab -- calibrate FILE… [--prices READ,WRITE] [--files] [--json]
  compares what providers billed in recorded sessions with what replay predicts
npm run lab -- success REPLAY.json OUTCOMES.csv
  compares solved and unsolved runs of \`replay --json\`; OUTCOMES.csv has the columns file,solved
npm run lab -- remaining FOLDER
  how many calls follow in recorded sessions after so many; each folder in it is a source
npm run lab -- arms OUTCOMES.csv
  compares the arms of an experiment with its first one; the columns are arm,task,solved
`;

const { values, positionals } = parseArgs({
	allowPositionals: true,
	options: { prices: { type: "string" }, files: { type: "boolean" }, json: { type: "boolean" } },
});
const [command, ...names] = positionals;
const [first, second] = names;
if (command === "calibrate" && names.length > 0) calibrate(names);
else if (command === "remaining" && first) remaining(first);
else if (command === "success" && first && second) {
	const report = JSON.parse(readFileSync(first, "utf8")) as ReplayReport;
	process.stdout.write(successText(successOf(report, readOutcomes(readFileSync(second, "utf8")))));
} else if (command === "arms" && first) {
	process.stdout.write(armsText(compareArms(readOutcomes(readFileSync(first, "utf8")))));
} else {
	process.stderr.write(usage);
	process.exitCode = 1;
}

/** Files that are no conversations are left out. */
function remaining(folder: string): void {
	const sessions = filesOf(folder).flatMap((file) => {
		try {
			const { transcript } = readConversation(readTextDocument(readFileSync(file, "utf8"), file).value);
			return [{ source: dirname(relative(folder, file)), calls: callsOf(transcript.messages).length }];
		} catch (error) {
			if (!(error instanceof PalimpsestError)) throw error;
			return [];
		}
	});
	process.stdout.write(remainingText(sessions, 10));
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
