import { type Command, Option } from "commander";
import { logKinds } from "../log.ts";
import { aboveZero, addArchiving, repeatable } from "./usage.ts";

/** The command line loads this file for its help, so it loads nothing that serves. */
export function addGatewayCommand(program: Command): void {
	const description = "Run between a host and another MCP server, and shorten its large results.";
	// Options behind the command are its own.
	addArchiving(program.enablePositionalOptions(), "gateway [server] [parameters...]", description)
		.usage("[options] ([--] <command> [parameters...] | <url> | --config <file>)")
		.passThroughOptions()
		.option("--config <file>", "a host's file of MCP servers: all of them behind one gateway")
		.option("--name <entry>", "a name of the server's entry in the host; its originals are kept under it")
		.option(
			"--max-tokens <count>",
			"limit of a result in tokens (default: 4000, or the limit of truncate in the configuration)",
			aboveZero,
		)
		.option(
			"--header <name=variable>",
			"for a URL: a header, with the value of an environment variable; repeatable",
			repeatable,
		)
		.addOption(new Option("--was <members>", "what install replaced in the entry").hideHelp())
		.option("--only <names>", "tools to offer, separated by commas (default: all)")
		.option("--except <names>", "tools to leave out, separated by commas")
		.option("--describe-max <count>", "most characters of a tool's description", aboveZero)
		.option(
			"--defer <unused|file>",
			"list each tool that you have not called in 30 sessions in one line; a file names tools that stay",
		)
		.addOption(
			new Option("--recall <by>", "the reader of originals: an added tool, or the host's own palimpsest server")
				.choices(["tool", "server"])
				.default("tool"),
		)
		.option("--no-recall", "add no tool; notices name the command palimpsest recall")
		.addOption(new Option("--log <kind>", "format of standard error (default text)").choices([...logKinds]))
		.action(async (server: string | undefined, parameters: string[], options) =>
			(await import("./gateway.ts")).gateway(server, parameters, options),
		);
}
