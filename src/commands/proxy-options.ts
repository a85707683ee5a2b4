import { type Command, Option } from "commander";
import { launchedPrograms } from "../hosts/hosts.ts";
import { logKinds } from "../log.ts";
import { withFigures } from "./figures-options.ts";
import {
	addArchiving,
	authTokens,
	portNumber,
	repeatable,
	seconds,
	shareOfAll,
	wholeNumber,
	withArchive,
	withPolicy,
} from "./usage.ts";

/** The command line loads this file for its help. */
export function addProxyCommand(program: Command): void {
	const proxy = program
		.command("proxy")
		.description("Mask old tool results in the requests of agent programs to their models.");
	withFigures(withArchive(withPolicy(proxy)))
		.option("--port <port>", "port of the proxy (default 8787)", portNumber)
		.option("--host <host>", "loopback address to listen on")
		.option(
			"--listen <address:port>",
			"address to listen on; beyond loopback with --auth-tokens or --auth-provider-keys",
		)
		.option(...authTokens)
		.option("--auth-provider-keys", "know callers by their API keys of the provider, hashed with PALIMPSEST_STATE_KEY")
		.option("--tls-cert <file>", "certificate, in PEM")
		.option("--tls-key <file>", "its key, in PEM")
		.option("--caller-requests <count>", "requests of a caller at once (default 32; 0: no limit)", wholeNumber)
		.option("--caller-bytes <bytes>", "bytes of them at once (default 128 MiB; 0: no limit)", wholeNumber)
		.option(
			"--caller-conversations <count>",
			"conversations of a caller in an hour (default 1000; 0: no limit)",
			wholeNumber,
		)
		.option("--shutdown-seconds <seconds>", "time to finish running answers after a signal (default 30)", seconds)
		.option(...upstream)
		.option(...keepWarm)
		.option(...diagnose)
		.option("--metrics", "serve Prometheus metrics at /palimpsest/metrics")
		.option("--key-file <file>", "file with the key of its pages, to keep it over restarts (default: a new one)")
		.option("--holdout <share>", "share of conversations that are never edited, for comparison", shareOfAll)
		.addOption(new Option("--log <kind>", "format of standard error (default text)").choices([...logKinds]))
		.action(async (options) => (await import("./proxy.ts")).proxy(options));
	proxy
		.command("status")
		.description("Print what running proxies have sent, left out and billed.")
		.option("--port <port>", "port of one proxy (default: all that run)", portNumber)
		.option("--json", "as JSON")
		.action(async (_, command: Command) => (await import("./proxy-status.ts")).proxyStatus(command.optsWithGlobals()));
	proxy
		.command("env")
		.description("Print the variables that point programs at a running proxy, for eval in a shell.")
		.option("--port <port>", "port of the proxy (default 8787)", portNumber)
		.addOption(new Option("--shell <name>", "shell that reads it").choices(["sh", "fish", "powershell"]))
		.action(async (_, command: Command) =>
			(await import("./proxy-environment.ts")).proxyEnvironment(command.optsWithGlobals()),
		);
}

const upstreams = "base URL of anthropic, openai, gemini (default: the provider's own), bedrock or vertex";
const upstream = ["--upstream <api=url>", upstreams, repeatable] as const;

const diagnose = [
	"--diagnose",
	"ask Anthropic's API why its cache broke, where the program does not ask itself",
] as const;

const keepWarm = [
	"--keep-warm",
	"in a pause, send the last request again for one token, up to twice, before the provider's cache expires",
] as const;

export function addLaunchCommand(program: Command): void {
	const launches = "Start an agent program behind a proxy that keeps its context small; its settings stay unchanged.";
	const programs = launchedPrograms.map(({ name }) => name).join(", ");
	withFigures(addArchiving(program, "launch <program> [parameters...]", launches))
		.usage("[options] <program> [parameters...]")
		.passThroughOptions()
		.option(...keepWarm)
		.option(...diagnose)
		.option("--env <name=url>", "for any other program: OPENAI_BASE_URL={proxy}/v1; repeatable", repeatable)
		.option(...upstream)
		.option("--port <port>", "port of the proxy (default: a free one)", portNumber)
		.option("--no-first-party", "leave _CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL unset for Claude Code")
		.option("--dry-run", "print the environment, flags and files that the program would get, and start nothing")
		.addHelpText("after", `\nPROGRAM: ${programs}; with --env, any other command. What follows its name goes to it.`)
		.action(async (name: string, parameters: string[], options) =>
			(await import("./proxy.ts")).launch(name, parameters, options),
		);
}
