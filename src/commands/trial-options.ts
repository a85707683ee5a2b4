import { type Command, InvalidArgumentError } from "commander";
import { aboveZero, repeatable, seconds, withPolicy } from "./usage.ts";

/** The command line loads this file for its help. */
export function addTrialCommand(program: Command): void {
	const trials = "Run a program on tasks of your own, with and without Palimpsest, and compare solved tasks and cost.";
	withPolicy(program.command("trial <tasks> [parameters...]").description(trials))
		.usage("[options] <tasks> --program <program> [-- parameters...]")
		.requiredOption("--program <program>", "program to run, as launch calls it; with --env any command")
		.option("--arms <names>", "raw, palimpsest, PRESET[:THRIFT], NAME=FILE.toml, with commas between", "raw,palimpsest")
		.option("--trials <count>", "runs of each task in each arm", aboveZero, 3)
		.option("--budget <usd>", "US dollars after which no run is started", budget)
		.option("--timeout <seconds>", "longest run", seconds, 1_800)
		.option("--env <name=url>", "for any other program: OPENAI_BASE_URL={proxy}/v1; repeatable", repeatable)
		.option("--upstream <api=url>", "with --env: base URL of anthropic, openai or gemini", repeatable)
		.option("--results <file>", "where runs are written and continued (default: in the state folder)")
		.option("--retry-failed", "run again what failed")
		.option("--keep <folder>", "keep the copy and the output of each run there")
		.option("--html <file>", "also write a page")
		.option("--json", "as JSON")
		.action(async (tasks: string, parameters: string[], options) =>
			(await import("./trial.ts")).trial(tasks, parameters, options),
		);
}

function budget(text: string): number {
	const value = Number(text);
	if (text.trim() !== "" && Number.isFinite(value) && value > 0) return value;
	throw new InvalidArgumentError("Expected US dollars, above 0.");
}
