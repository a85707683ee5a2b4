import path from "node:path";
import { archiveLocation, createArchiveSource } from "../config/archive.ts";
import { createCompactionSource } from "../config/compaction.ts";
import { createPolicySource } from "../config/config.ts";
import { captureStandardError, createOperatorLog } from "../mcp/http/logs.ts";
import { serveStdio } from "../mcp/stdio.ts";
import { type LogLevel, logLevels } from "../policy/names.ts";
import { type ArchiveCommandOptions, type CommonOptions, configSources, logToStderr, say } from "./input-output.ts";
import type { HttpServeOptions } from "./serve-http.ts";
import { refuseUsage } from "./usage.ts";

/** The options of `palimpsest serve`. */
export interface ServeOptions extends CommonOptions, ArchiveCommandOptions, HttpServeOptions {
	/** Folders whose files a call may name by path. */
	readonly allowPath?: readonly string[];
	/** Largest message taken from a client, in bytes; over HTTP, the largest body. */
	readonly maxMessageBytes?: number;
}

/** `palimpsest serve`: an MCP server on standard input and output, or over HTTP. */
export async function serve(options: ServeOptions): Promise<void> {
	if (options.http === undefined) refuseHttpOptions(options);
	const location = archiveLocation({ ...options, environment: process.env });
	let level: () => LogLevel = () => "warning";
	const kind = options.log ?? "text";
	const write = kind === "json" ? captureStandardError((event) => announce(event)) : writeToStderr;
	const { log, onCallEnd, announce } = createOperatorLog({
		kind,
		isWanted: (of) => logLevels.indexOf(of) >= logLevels.indexOf(level()),
		inWords: (event) => logToStderr(level)(event),
		say,
		write,
	});
	const policySource = await createPolicySource({
		...configSources(options),
		onError: (error) =>
			log({
				level: "error",
				message: `The policy file was not taken, the policy in force stays. ${error.message}`,
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
	if (options.http === undefined) {
		if (process.stdin.isTTY) say("serving MCP on standard input and output; see palimpsest --help for the commands");
		const allowedPaths = [...ownFolder(), ...(options.allowPath ?? [])];
		const largestMessage = options.maxMessageBytes;
		const server = { policySource, log, onCallEnd, archive, compaction, allowedPaths, sharesFiles: true };
		await serveStdio({ ...server, largestMessage });
		return;
	}
	const { serveOverHttp } = await import("./serve-http.ts");
	const { http, allowPath: allowedPaths, maxMessageBytes: bodyLimitBytes } = options;
	await serveOverHttp(
		{ policySource, log, onCallEnd, archive, compaction, allowedPaths, bodyLimitBytes },
		{ ...options, http, location, announce },
	);
}

function writeToStderr(line: string): void {
	process.stderr.write(`${line}\n`);
}

/**
 * The working directory: a client starts this process in a folder of its choice. Some hosts start it in the root of the
 * file system, which is nobody's choice and would allow every file.
 */
function ownFolder(): string[] {
	const folder = process.cwd();
	return folder === path.parse(folder).root ? [] : [folder];
}

/** Whoever asks for authentication must not be served without any. */
function refuseHttpOptions(options: HttpServeOptions): void {
	const { publicUrl, stateless, authTokens, authIssuer, authAudience, authJwks, authScope, metrics } = options;
	const given = [publicUrl, stateless, authTokens, authIssuer, authAudience, authJwks, authScope, metrics];
	if (given.every((one) => one === undefined)) return;
	refuseUsage("expected --http beside the options for serving over HTTP");
}
