import { homedir } from "node:os";
import { archiveLocation } from "../config/archive-location.ts";
import { PalimpsestError } from "../errors.ts";
import { resolvePolicy } from "../policy/layers.ts";
import { describePolicy } from "../policy/reference.ts";
import type { Policy } from "../policy/schema.ts";
import { loadCounter } from "../tokens/load-counter.ts";
import { version } from "../version.ts";
import { checkArchive } from "./doctor/check-archive.ts";
import { checkHosts } from "./doctor/check-hosts.ts";
import { checkNode } from "./doctor/check-node.ts";
import { checkPort } from "./doctor/check-port.ts";
import type { Finding } from "./doctor/finding.ts";
import { type ArchiveCommandOptions, type CommonOptions, configOf, printJson, show } from "./shell.ts";

/** The options of `palimpsest doctor`. */
export interface DoctorOptions extends CommonOptions, ArchiveCommandOptions {
	readonly json?: boolean;
	/** `HOST:PORT` that `serve --http` is to have. */
	readonly http?: string;
}

/** `palimpsest doctor`: looks at everything that has to work, and says what to do about what does not. */
export async function doctor(options: DoctorOptions): Promise<void> {
	const ofPolicy = await checkPolicy(options);
	const { platform, env: environment } = process;
	const findings: readonly Finding[] = [
		checkNode(process.versions.node),
		ofPolicy.finding,
		await checkLocation(options, ofPolicy.policy),
		await checkTokenizer(),
		await checkPort(options.http ?? true),
		await checkHosts({ platform, environment, homeFolder: homedir() }),
	];
	if (options.json) printJson({ version, findings }, 2);
	else show(findings.map(lineOf).join(""));
	if (findings.some(({ state }) => state === "failed")) process.exitCode = 1;
}

async function checkPolicy(options: DoctorOptions): Promise<{ finding: Finding; policy: Policy }> {
	try {
		const { policy, file } = await configOf(options);
		const found = `${file?.path ?? "no file, so the defaults and the environment"}: ${describePolicy(policy)}`;
		return { policy, finding: { name: "policy", state: "ok", found } };
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		const advice = "palimpsest policy check lists every field that cannot be used.";
		const finding = { name: "policy", state: "failed", found: error.message, advice } as const;
		return { policy: resolvePolicy([]), finding };
	}
}

async function checkLocation(options: DoctorOptions, policy: Policy): Promise<Finding> {
	try {
		return await checkArchive(archiveLocation({ ...options, environment: process.env }), policy);
	} catch (error) {
		if (!(error instanceof PalimpsestError)) throw error;
		return { name: "archive", state: "failed", found: error.message, advice: "Mend --archive or PALIMPSEST_ARCHIVE." };
	}
}

async function checkTokenizer(): Promise<Finding> {
	const name = "tokenizer";
	try {
		const tokens = (await loadCounter("o200k_base"))("Palimpsest");
		if (tokens > 0) return { name, state: "ok", found: `o200k_base counts: "Palimpsest" is ${tokens} tokens` };
	} catch {
		// Whatever it is, the package's files are not as they were packed.
	}
	return { name, state: "failed", found: "o200k_base cannot be read", advice: "Install palimpsest-mcp again." };
}

const marks = { ok: "ok     ", warning: "warning", failed: "FAILED " } as const;

function lineOf({ name, state, found, advice }: Finding): string {
	const indent = " ".repeat(20);
	const lines = [found, ...(advice ? [advice] : [])].join("\n").split("\n");
	return `${marks[state]}  ${name.padEnd(9)}  ${lines.join(`\n${indent}`)}\n`;
}
