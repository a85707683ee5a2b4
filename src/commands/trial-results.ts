import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { outcomes, type TrialRun } from "../engine/trials/run.ts";
import { PalimpsestError } from "../errors.ts";
import { fileProblem } from "../storage/files/access.ts";
import { stateFolder } from "../storage/files/state-folder.ts";

const count = z.number().nonnegative();

const lineSchema = z.object({
	task: z.string(),
	arm: z.string(),
	trial: z.int().positive(),
	setup: z.string(),
	at: count,
	outcome: z.enum(outcomes),
	reason: z.string().optional(),
	seconds: count,
	requests: count,
	tokens: count,
	output_tokens: count,
	tokens_left_out: count,
	usd: count,
	unpriced_requests: count,
	estimated_requests: count,
});

/** The results of the same tasks and program, where no file is named. */
export function usualResults(tasks: string, program: string): string {
	const folder = path.resolve(tasks);
	const hash = createHash("sha256")
		.update(JSON.stringify([folder, program]))
		.digest("hex")
		.slice(0, 8);
	const name = path.basename(folder).replace(/[^\w.-]/g, "-");
	return path.join(stateFolder(), "trials", `${name}-${hash}.jsonl`);
}

/**
 * The runs so far, in a file of a line of JSON each. `add` writes a run at once, so that nothing is lost with the process; a
 * line that was cut off is left out. Throws PalimpsestError `unreadable_file` for a file of other lines, `unwritable_file`.
 */
export async function openResults(file: string) {
	const text = await readFile(file, "utf8").catch((cause: NodeJS.ErrnoException) => {
		if (cause.code === "ENOENT") return "";
		throw new PalimpsestError("unreadable_file", `Cannot read ${file}: ${fileProblem(cause)}.`, { cause });
	});
	const lines = text.split("\n");
	const runs: TrialRun[] = lines.flatMap((line, index) => {
		if (line === "") return [];
		const run = runIn(line);
		if (run) return run;
		if (index === lines.length - 1) return [];
		throw new PalimpsestError(
			"unreadable_file",
			`${file} has a line ${index + 1} that is not a run of a trial. Name another file with --results.`,
		);
	});
	let start = text === "" || text.endsWith("\n") ? "" : "\n";
	return {
		runs: runs as readonly TrialRun[],
		add(run: TrialRun): void {
			try {
				mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
				appendFileSync(file, `${start}${JSON.stringify(run)}\n`, { mode: 0o600 });
			} catch (cause) {
				throw new PalimpsestError("unwritable_file", `Cannot write ${file}: ${fileProblem(cause)}.`, { cause });
			}
			start = "";
			runs.push(run);
		},
	};
}

function runIn(line: string): TrialRun | undefined {
	try {
		return lineSchema.parse(JSON.parse(line));
	} catch {
		return undefined;
	}
}
