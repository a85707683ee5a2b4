import type { Command } from "commander";
import { nearestName } from "../policy/errors.ts";

/**
 * Adds `help [command...]`, to the commands that have commands of their own too. Commander's answers an unknown name with
 * the help of what is above it, without a word.
 */
export function addHelpCommand(program: Command): void {
	for (const command of [program, ...program.commands.filter(({ commands }) => commands.length > 0)]) {
		command.helpCommand(false);
		command
			.command("help [command...]")
			.description("Print the help of a command.")
			.exitOverride()
			.action((names: readonly string[]) => {
				const found = names.reduce((above, name) => commandNamed(above, name), command);
				found.outputHelp();
			});
	}
}

function commandNamed(above: Command, name: string): Command {
	const found = above.commands.find((one) => one.name() === name);
	if (found) return found;
	const known = above.commands.map((one) => one.name());
	const near = nearestName(name, known);
	return above.error(`error: unknown command '${name}'${near === null ? "" : `. Did you mean ${near}?`}`);
}
