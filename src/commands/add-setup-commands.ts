import type { Command } from "commander";

/** Adds the commands that set the server up: `install`, `uninstall` and `doctor`. */
export function addSetupCommands(program: Command, keeping: (signature: string, description: string) => Command): void {
	const command = (signature: string, description: string) =>
		program.command(signature).description(description).exitOverride();

	command("install [host]", "Enter the server in a host's configuration, or list the hosts.")
		.option("--project", "for this project alone")
		.option("--dry-run", "show what would change and write nothing")
		.option("--preset <name>", "policy to start from, if not balanced")
		.option("--locale <locale>", "language of placeholders, if not the preset's")
		.option("--archive <where>", "where originals are kept, if not in the user's state folder")
		.option("--local", "start this very program, not the one that npm brings")
		.action(async (host, options) => (await import("./install.ts")).install(host, options));

	command("uninstall <host>", "Take the server out of a host's configuration again.")
		.option("--project", "of this project")
		.option("--dry-run", "show what would change and write nothing")
		.action(async (host, options) => (await import("./install.ts")).uninstall(host, options));

	keeping("doctor", "Look at everything that has to work, and say what to do about what does not.")
		.option("--http <host:port>", "address that serve --http is to have, if not 127.0.0.1:8765")
		.option("--json", "as JSON")
		.action(async (options) => (await import("./doctor.ts")).doctor(options));
}
