import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import path from "node:path";
import type { Readable, Writable } from "node:stream";
import { archiveLocation, createArchiveSource } from "../archive/open.ts";
import { continuousPolicy } from "../config/config.ts";
import { createOperatorLog, type LogKind } from "../log.ts";
import { logLevels } from "../policy/names.ts";
import type { PolicyLayer } from "../policy/schema.ts";
import { type ArchiveCommandOptions, commandConfig, logToStderr, recallCommandOf, say } from "./input-output.ts";
import { exitCodeOfEnd, passSignals, startOf } from "./processes.ts";
import { listOfNames } from "./usage.ts";

interface GatewayCommandOptions extends ArchiveCommandOptions {
	readonly maxTokens?: number;
	readonly only?: string;
	readonly except?: string;
	readonly describeMax?: number;
	/** `false` by `--no-recall`. */
	readonly recall: "tool" | "server" | false;
	readonly log?: LogKind;
}

/** `palimpsest gateway -- COMMAND ARGS…`: runs until the server ends, with its exit code. */
export async function gateway(
	command: string,
	parameters: readonly string[],
	options: GatewayCommandOptions,
): Promise<void> {
	const shared = await gatewayOptions(options, [command, ...parameters]);
	const child = spawn(command, parameters, { stdio: ["pipe", "pipe", "inherit"], windowsHide: true });
	const keepSignals = passSignals(child);
	const started = await startOf(child);
	if (started.kind === "not_started") {
		say(`cannot run ${command}: ${started.reason}`);
		process.exitCode = started.exitCode;
		keepSignals();
		return;
	}
	const { serveChild } = await import("../gateway/child.ts");
	const streams = { input: process.stdin, output: process.stdout };
	const name = path.basename(command);
	const server = child as ChildProcessByStdio<Writable, Readable, null>;
	const { code, signal } = await serveChild(server, streams, { ...shared, name });
	keepSignals();
	shared.archive?.end();
	process.exitCode = exitCodeOfEnd(code, signal);
	process.stdin.destroy();
}

async function gatewayOptions(options: GatewayCommandOptions, server: readonly string[]) {
	const { maxTokens, only, except, describeMax, recall, log: kind = "text" } = options;
	const config = await commandConfig(options);
	const policy = continuousPolicy(config);
	const layers: readonly PolicyLayer[] = [{ preset: "balanced" }, ...config.layers];
	const level = () => policy.log_level;
	const { log, onCallEnd } = createOperatorLog({
		kind,
		isWanted: (of) => logLevels.indexOf(of) >= logLevels.indexOf(level()),
		inWords: logToStderr(level),
		say,
		// The server writes to the same standard error, so that it is not captured.
		write: (line) => void process.stderr.write(`${line}\n`),
	});
	const showsCalls = kind === "json" || (kind === "text" && logLevels.indexOf("info") >= logLevels.indexOf(level()));
	return {
		policy,
		layers,
		maxTokens,
		archive: createArchiveSource({
			location: archiveLocation({ ...options, environment: process.env }),
			policy: () => policy,
		}),
		owner: createHash("sha256").update(JSON.stringify(server)).digest("hex").slice(0, 16),
		choice: { only: listOfNames(only), except: listOfNames(except), describeMax },
		recall: recall === false ? ("command" as const) : recall,
		recallCommand: recallCommandOf(options),
		log,
		onCallEnd: showsCalls ? onCallEnd : undefined,
	};
}
