import type { Command } from "commander";

interface NumberParsers {
	readonly wholeNumber: (text: string) => number;
	readonly aboveZero: (text: string) => number;
}

/** The options of `palimpsest replay`. */
export function addReplayOptions(command: Command, { wholeNumber, aboveZero }: NumberParsers): Command {
	return command
		.option(
			"--policies <names>",
			"raw, window:N, stride:N, break_even:N, optimum:N, presets, balanced:low, policy files; with commas between",
		)
		.option("--prices <read,write>", "of a cached token and of one written to the cache, if not as the policy says")
		.option("--model <name>", "bill in US dollars as its provider does, and count its tokens")
		.option("--context-window <tokens>", "window in tokens, if not the model's own", aboveZero)
		.option("--min-turns <count>", "leave out conversations of fewer tool turns", wholeNumber)
		.option("--files", "a table for each file too")
		.option("--html <file>", "write a page with plots")
		.option("--json", "as JSON")
		.option("--window-turns <count>", "only what masking all but these tool turns saves, file by file", wholeNumber);
}
