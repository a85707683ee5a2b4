import type { Command } from "commander";
import { addCommand } from "./usage.ts";

/** The command line loads this file for its help. */
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
