import type { Command } from "commander";
import { addArchiving, addCommand } from "./usage.ts";

/** The command line loads this file for its help. */
export function addSetupCommands(program: Command): void {
	const command = (signature: string, description: string) => program.command(signature).description(description);

	command("install [host]", "Add the server to a host's configuration, or list the hosts.")
		.option("--project", "for this project only")
		.option("--dry-run", "show what would change and write nothing")
		.option("--preset <name>", "policy to start from (default balanced)")
		.option("--locale <locale>", "language of placeholders (default: yours, by LANG)")
		.option("--archive <where>", "where originals are kept (default: the user's state folder)")
		.option("--tools <names>", "tools to offer, separated by commas (default: all)")
		.option("--local", "start this program, not the published package; a checkout always does")
		.option("--gateway [servers...]", "put the gateway before other servers of the host instead (default: all)")
		.option("--defer", "with --gateway: list each tool that you have not called in 30 sessions in one line")
		.option("--plugin", "let Claude Code install our plugin, whose mod cuts results before they are stored")
		.option("--statusline", "show context, cache and savings in the status line of Claude Code instead")
		.option("--list", "list the hosts, and the servers behind the gateway")
		.action(async (host, options) => (await import("./install.ts")).install(host, options));

	command("uninstall <host>", "Remove the server and the gateway from a host's configuration.")
		.option("--project", "from this project only")
		.option("--dry-run", "show what would change and write nothing")
		.option("--statusline", "take only the status line of Claude Code")
		.option("--gateway [servers...]", "take only the gateway from before the servers of the host (default: all)")
		.action(async (host, options) => (await import("./install.ts")).uninstall(host, options));

	addArchiving(program, "doctor", "Check the installation and say how to fix what fails.")
		.option("--http <host:port>", "address for serve --http (default 127.0.0.1:8765)")
		.option("--json", "as JSON")
		.action(async (options) => (await import("./doctor.ts")).doctor(options));
}

export function addPolicyCommands(program: Command): void {
	const policy = program.command("policy").description("Show or check the policy.");
	const commands = () => import("./policy.ts");
	addCommand(policy, "show", "Print the policy in force.").action(async (options) =>
		(await commands()).showPolicy(options),
	);
	const command = (signature: string, description: string) => policy.command(signature).description(description);
	command("presets [name]", "List the presets, or print one.").action(async (name) =>
		(await commands()).showPresets(name),
	);
	command("schema", "Print the JSON Schema of a policy.").action(async () => (await commands()).showPolicySchema());
	command("reference", "Print the reference page.").action(async () => (await commands()).showPolicyReference());
	addCommand(policy, "check [file]", "Check a policy file, or the configuration.").action(async (file, options) =>
		(await commands()).checkPolicy(file, options),
	);
}
