import { existsSync } from "node:fs";
import path from "node:path";
import { quote } from "../engine/policy/errors.ts";
import { logLevels } from "../engine/policy/names.ts";
import { PalimpsestError } from "../errors.ts";
import { captureStandardError, createOperatorLog, type LogLevel } from "../log.ts";
import { serveStdio } from "../mcp/stdio.ts";
import { toolsNamed } from "../mcp/tools.ts";
import { createCompactionSource } from "../operations/config/compaction.ts";
import { createPolicySource } from "../operations/config/config.ts";
import { listRunning } from "../proxy/running.ts";
import { archiveLocation, createArchiveSource } from "../storage/archive/open.ts";
import { type ArchiveCommandOptions, configSources, logToStderr, say } from "./input-output.ts";
import type { HttpServeOptions } from "./serve-http.ts";
import { listOfNames, refuseUsage } from "./usage.ts";

interface ServeOptions extends ArchiveCommandOptions, HttpServeOptions {
	readonly allowPath?: readonly string[];
	readonly tools?: string;
	readonly hooks?: true;
	readonly maxMessageBytes?: number;
}

/** `palimpsest serve`: an MCP server on standard input and output, or over HTTP. */
export async function serve(options: ServeOptions): Promise<void> {
	if (options.http === undefined) refuseHttpOptions(options);
	else if (options.hooks) refuseUsage("expected --hooks without --http: a hook belongs to a host on this machine");
	const names = listOfNames(options.tools ?? process.env.PALIMPSEST_TOOLS);
	const offered = names.length === 0 ? undefined : toolsNamed(names);
	for (const folder of options.allowPath ?? []) {
		if (existsSync(folder)) continue;
		const message = `Expected --allow-path to name a folder that exists; got ${quote(folder)}.`;
		throw new PalimpsestError("invalid_argument", message);
	}
	const location = archiveLocation({ ...options, environment: process.env });
	let level: () => LogLevel = () => "warning";
	const kind = options.log ?? "text";
	const { log, onCallEnd, announce } = createOperatorLog({
		kind,
		isWanted: (of) => logLevels.indexOf(of) >= logLevels.indexOf(level()),
		inWords: logToStderr(() => level()),
		say,
		write:
			kind === "json"
				? captureStandardError((event) => announce(event))
				: (line) => void process.stderr.write(`${line}\n`),
	});
	const policySource = await createPolicySource({
		...configSources(options),
		servesOthers: options.http !== undefined,
		onIgnored: (message) => log({ level: "warning", message, data: { event: "policy_ignored" } }),
		onError: (error) =>
			log({
				level: "error",
				message: `The new policy file is invalid; the previous policy stays in force. ${error.message}`,
				data: { event: "policy_refused", code: error.code },
			}),
	});
	level = () => policySource.current().log_level;
	policySource.onChange(() => log({ level: "notice", message: "Policy changed", data: { event: "policy_changed" } }));
	const archive = createArchiveSource({ location, policy: policySource.current });
	const compaction = createCompactionSource({
		environment: process.env,
		policyFile: policySource.file,
		workingDirectory: process.cwd(),
	});
	await compaction.check(policySource.current());
	const server = { policySource, log, onCallEnd, archive, compaction, tools: offered };
	const { http, allowPath, maxMessageBytes } = options;
	if (http === undefined) {
		if (process.stdin.isTTY) say("serving MCP on standard input and output; see palimpsest --help for the commands");
		const allowedPaths = [...ownFolder(), ...(allowPath ?? [])];
		await serveStdio({
			...server,
			answersHooks: options.hooks,
			findProxy,
			allowedPaths,
			sharesFiles: true,
			largestMessage: maxMessageBytes,
		});
		return;
	}
	const { serveOverHttp } = await import("./serve-http.ts");
	await serveOverHttp(
		{ ...server, allowedPaths: allowPath, bodyLimitBytes: maxMessageBytes },
		{ ...options, http, location, announce },
	);
}

/** The proxy of the program that has started this server, else the latest on this machine. */
async function findProxy(): Promise<string | undefined> {
	return process.env.PALIMPSEST_PROXY ?? (await listRunning())[0]?.address;
}

/** The working directory, except the root of the file system, which would allow every file. */
function ownFolder(): string[] {
	const folder = process.cwd();
	return folder === path.parse(folder).root ? [] : [folder];
}

/** A user who requests authentication must not get a server without any. */
function refuseHttpOptions(options: HttpServeOptions): void {
	const { publicUrl, stateless, authTokens, authIssuer, authAudience, authJwks, authScope, metrics } = options;
	const given = [publicUrl, stateless, authTokens, authIssuer, authAudience, authJwks, authScope, metrics];
	if (given.some((one) => one !== undefined)) refuseUsage("expected --http with the options for serving over HTTP");
}
