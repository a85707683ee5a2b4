import { closeSync, openSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Policy } from "../engine/policy/schema.ts";
import type { Outcome, TrialRun } from "../engine/trials/run.ts";
import { PalimpsestError } from "../errors.ts";
import type { LaunchedProgram } from "../hosts/host.ts";
import { ownCommandAnywhere } from "../hosts/own-command.ts";
import { startProxy } from "../proxy/server.ts";
import { openFigures, readFigures } from "../storage/figures/store.ts";
import { startSums } from "../storage/figures/sums.ts";
import { fileProblem } from "../storage/files/access.ts";
import { type BehindProxy, pointingOf, startBehind } from "./behind-proxy.ts";
import { withArchive } from "./input-output.ts";
import { endInTime } from "./processes.ts";
import { makeTree, runCheck, type ScriptLimits, type TrialTask } from "./trial-tasks.ts";

/** What the proxy does to the requests of a run. */
export interface TrialArm {
	readonly name: string;
	readonly policy: Policy;
	/** Requests pass unedited, and are billed by the same ledger. */
	readonly isRaw: boolean;
}

/** How a program is started for a prompt. */
export interface TrialProgram {
	readonly program: LaunchedProgram;
	readonly parametersFor: (prompt: string) => readonly string[];
	/** Whether it reads the prompt from its standard input. */
	readonly readsPrompt: boolean;
}

export type Measured = Omit<TrialRun, "task" | "arm" | "trial" | "setup">;

export type Ran =
	| { readonly kind: "ran"; readonly measured: Measured }
	| { readonly kind: "no_tree"; readonly reason: string }
	| { readonly kind: "no_program"; readonly reason: string };

interface Given extends ScriptLimits {
	readonly program: TrialProgram;
	readonly arm: TrialArm;
	readonly task: TrialTask;
	/** A folder that keeps the copy, the output and the archive of the run. */
	readonly keep?: string | undefined;
}

/**
 * Runs a program once on a copy of a task, behind a proxy of its own, and then the check. Copy, archive and figures are those of
 * this run alone. Throws PalimpsestError `invalid_argument` if the program
 * cannot use a proxy.
 */
export async function runTask(given: Given): Promise<Ran> {
	const { task, arm, keep } = given;
	const place = keep ?? tmpdir();
	await mkdir(place, { recursive: true }).catch((cause: NodeJS.ErrnoException) => {
		throw new PalimpsestError("unwritable_file", `Cannot write ${place}: ${fileProblem(cause)}.`, { cause });
	});
	const prefix = keep === undefined ? "palimpsest-trial-" : `${task.name}-${arm.name.replace(/[^\w.-]/g, "-")}-`;
	const folder = await realpath(await mkdtemp(path.join(place, prefix)));
	try {
		const copy = path.join(folder, "copy");
		const problem = await makeTree(task, { copy, ...given });
		return problem === undefined ? await runIn({ ...given, folder, copy }) : { kind: "no_tree", reason: problem };
	} finally {
		if (keep === undefined) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
	}
}

type Inside = Given & { readonly folder: string; readonly copy: string };

async function runIn(inside: Inside): Promise<Ran> {
	const { task, copy, folder, seconds, signal } = inside;
	const at = Date.now();
	const end = await runProgram(inside);
	if (end.kind === "not_started") return { kind: "no_program", reason: end.reason };
	const figures = { at, seconds: Math.round(end.milliseconds / 100) / 10, ...(await figuresIn(folder)) };
	const ran = (outcome: Outcome, reason?: string): Ran => ({ kind: "ran", measured: { outcome, reason, ...figures } });
	if (end.kind === "interrupted") return ran("interrupted");
	if (end.kind === "timeout") return ran("timeout", `took over ${seconds} seconds`);
	if (end.code !== 0) return ran("program_failed", `ended with exit code ${end.code}`);
	if (figures.requests === 0) {
		const asked = end.asked === 0 ? "no request passed the proxy" : "none of its requests had an answer to bill";
		return ran("no_request", asked);
	}
	const checked = await runCheck(task, { cwd: copy, seconds, signal });
	if (signal.aborted) return ran("interrupted");
	return checked.kind === "failed" ? ran("check_failed", checked.reason) : ran(checked.kind);
}

type ProgramEnd =
	| { readonly kind: "ended"; readonly code: number; readonly asked: number; readonly milliseconds: number }
	| { readonly kind: "timeout"; readonly milliseconds: number }
	| { readonly kind: "interrupted"; readonly milliseconds: number }
	| { readonly kind: "not_started"; readonly reason: string };

function runProgram(inside: Inside): Promise<ProgramEnd> {
	const { arm, folder, copy, task } = inside;
	const { program, parametersFor } = inside.program;
	const options = { archive: path.join(folder, "archive") };
	const own = path.join(folder, "own");
	const parameters = parametersFor(task.prompt);
	const given = { parameters, folder: own, firstParty: true, projectFolder: copy };
	return withArchive(options, arm.policy, async (archive) => {
		await mkdir(own);
		const { upstreams, network, refusesThreads } = await pointingOf(program, { ...given, port: 0 });
		const proxy = await startProxy({
			figures: openFigures({ keep: "all", program: program.name, folder: path.join(folder, "figures") }),
			port: 0,
			upstreams,
			network,
			policy: arm.policy,
			archive: arm.isRaw ? undefined : archive,
			holdout: arm.isRaw ? 1 : undefined,
			recallCommand: `${program.hasLoginShell ? ownCommandAnywhere() : "palimpsest"} recall`,
			refusesThreads,
		});
		const address = `http://127.0.0.1:${proxy.port}`;
		try {
			const pointing = await pointingOf(program, { ...given, port: proxy.port });
			const end = await runToEnd(inside, { pointing, parameters, options, folder: own, address });
			return end.kind === "ended" ? { ...end, asked: proxy.totals().asked } : end;
		} finally {
			await proxy.close();
		}
	});
}

async function runToEnd({ program: how, task, folder, copy, seconds, signal }: Inside, behind: BehindProxy) {
	const { program, readsPrompt } = how;
	const log = openSync(path.join(folder, "output.log"), "a", 0o600);
	const stdio = [readsPrompt ? "pipe" : "ignore", log, log] as const;
	const started = Date.now();
	const running = await startBehind(program, { ...behind, how: { cwd: copy, stdio: [...stdio], detached: true } });
	closeSync(log);
	try {
		const start = await running.started;
		if (start.kind === "not_started") {
			return { kind: "not_started", reason: `cannot run ${program.command}: ${start.reason}` } as const;
		}
		// A program that does not read it may end first.
		running.child.stdin?.on("error", () => {}).end(task.prompt);
		const end = await endInTime(running.child, { ended: running.ended, seconds, signal });
		return { ...end, milliseconds: Date.now() - started };
	} finally {
		await running.keepFiles();
	}
}

async function figuresIn(folder: string) {
	const sums = startSums("model");
	for await (const line of readFigures({ since: 0, folder: path.join(folder, "figures") })) sums.add(line);
	const { requests, tokens, output_tokens, tokens_left_out, usd, unpriced_requests, estimated_requests } =
		sums.end().all;
	return { requests, tokens, output_tokens, tokens_left_out, usd, unpriced_requests, estimated_requests };
}
