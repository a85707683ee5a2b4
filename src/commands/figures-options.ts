import { type Command, Option } from "commander";
import { groupings } from "../storage/figures/sums.ts";
import { aboveZero } from "./usage.ts";

/** For a command that keeps figures. */
export function withFigures(command: Command): Command {
	return command.option("--private", "keep figures of this run without names of folders");
}

/** The command line loads this file for its help. */
export function addFiguresCommands(program: Command): void {
	program
		.command("stats")
		.description(
			"Print the cost of requests, and the savings: of this machine, or of all proxies with one archive in Redis.",
		)
		.option("--archive <address>", "the archive in Redis of proxies with several callers")
		.option("--namespace <name>", "its namespace (default: default)")
		.option("--days <count>", "days up to now", aboveZero, 30)
		.addOption(new Option("--by <what>", "sum by").choices([...groupings]).default("day"))
		.option("--breaks", "the causes of cache breaks, their cost, and advice")
		.option("--json", "as JSON")
		.action(async (options) => (await import("./stats.ts")).stats(options));

	program
		.command("statusline")
		.description("Print one line on the context, the cache and what was saved today, for Claude Code's status line.")
		.option("--shell", "of the last request on this machine, for tmux and shells; reads no standard input")
		.action(async () => {
			await (await import("./statusline.ts")).answerStatusline(process.argv.slice(2));
		});
}
