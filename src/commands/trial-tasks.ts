import { spawn } from "node:child_process";
import { createHash, type Hash } from "node:crypto";
import { constants } from "node:fs";
import { access, cp, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { NotRun } from "../engine/trials/report.ts";
import { PalimpsestError } from "../errors.ts";
import { undefinedIfAbsent } from "../storage/files/disk.ts";
import { endInTime, exitCodeOfEnd, startOf } from "./processes.ts";

/** A folder with `prompt.md` and an executable `check`; `tree/` and an executable `setup` make the starting tree. */
export interface TrialTask {
	readonly name: string;
	readonly folder: string;
	readonly prompt: string;
	/** The hash of everything in its folder. */
	readonly hash: string;
}

/**
 * The tasks in a folder, by name, and those that cannot be run. A folder with a prompt of its own is one task. Throws
 * PalimpsestError `invalid_argument` if there is none.
 */
export async function findTasks(given: string): Promise<{ tasks: readonly TrialTask[]; notRun: readonly NotRun[] }> {
	const root = path.resolve(given);
	const entries = await readdir(root, { withFileTypes: true }).catch(() => []);
	const isOne = entries.some(({ name }) => name === "prompt.md");
	const inside = entries
		.filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
		.map(({ name }) => path.join(root, name));
	const [tasks, notRun]: [TrialTask[], NotRun[]] = [[], []];
	for (const folder of isOne ? [root] : inside.sort()) {
		const found = await taskIn(folder).catch((error: unknown) => `its files cannot be read (${codeOf(error)})`);
		if (typeof found === "string") notRun.push({ task: path.basename(folder), reason: found });
		else if (found) tasks.push(found);
	}
	if (tasks.length + notRun.length > 0) return { tasks, notRun };
	const message = `Expected a folder of tasks, each a folder with prompt.md and check; found no prompt.md in ${given} or one level below.`;
	throw new PalimpsestError("invalid_argument", message);
}

/** A text says why it cannot be run. A folder without a prompt and without a check is not a task. */
async function taskIn(folder: string): Promise<TrialTask | string | undefined> {
	// A link may name a file.
	if (!(await stat(folder)).isDirectory()) return undefined;
	const text = await readFile(path.join(folder, "prompt.md"), "utf8").catch(undefinedIfAbsent);
	if (text === undefined) return (await isThere(path.join(folder, "check"))) ? "prompt.md is missing" : undefined;
	const prompt = text.trim();
	const problem = await problemOf(folder, prompt);
	return problem ?? { name: path.basename(folder), folder, prompt, hash: await hashOf(folder) };
}

async function problemOf(folder: string, prompt: string): Promise<string | undefined> {
	if (prompt === "") return "prompt.md is empty";
	if (prompt.startsWith("-")) return "prompt.md begins with a dash, which programs read as an option";
	if (!(await isExecutable(path.join(folder, "check")))) return "check is missing or not executable (chmod +x check)";
	const setup = path.join(folder, "setup");
	return (await isThere(setup)) && !(await isExecutable(setup))
		? "setup is not executable (chmod +x setup)"
		: undefined;
}

async function isThere(file: string): Promise<boolean> {
	return (await stat(file).catch(undefinedIfAbsent)) !== undefined;
}

async function isExecutable(file: string): Promise<boolean> {
	const isFile = (await stat(file).catch(undefinedIfAbsent))?.isFile() ?? false;
	const isAllowed = await access(file, constants.X_OK).then(
		() => true,
		() => false,
	);
	return isFile && isAllowed;
}

async function hashOf(folder: string): Promise<string> {
	const hash = createHash("sha256");
	await addFolder(hash, folder, "");
	return hash.digest("hex").slice(0, 16);
}

async function addFolder(hash: Hash, folder: string, within: string): Promise<void> {
	const entries = await readdir(folder, { withFileTypes: true });
	for (const entry of entries.sort((one, other) => (one.name < other.name ? -1 : 1))) {
		const [file, name] = [path.join(folder, entry.name), `${within}/${entry.name}`];
		if (entry.isDirectory()) await addFolder(hash, file, name);
		else if (entry.isSymbolicLink()) hash.update(JSON.stringify([name, await readlink(file)]));
		else if (entry.isFile()) {
			const content = await readFile(file);
			hash.update(JSON.stringify([name, content.length])).update(content);
		}
	}
}

const changed = "its folder has changed since the trial began: a program, setup or check has written to it";

/** A program or a check that writes there decides on the runs after it. */
async function hasChanged({ folder, hash }: TrialTask): Promise<boolean> {
	return (await hashOf(folder).catch(() => undefined)) !== hash;
}

export interface ScriptLimits {
	readonly seconds: number;
	readonly signal: AbortSignal;
}

/** Makes the starting tree of a task in a new folder. Returns why it cannot be made, in words. */
export async function makeTree(
	task: TrialTask,
	{ copy, ...limits }: ScriptLimits & { readonly copy: string },
): Promise<string | undefined> {
	const { folder } = task;
	if (await hasChanged(task)) return changed;
	try {
		await mkdir(copy, { recursive: true });
		const tree = path.join(folder, "tree");
		if (await isThere(tree)) await cp(tree, copy, { recursive: true, verbatimSymlinks: true });
	} catch (error) {
		return `its tree cannot be copied (${codeOf(error)})`;
	}
	const setup = path.join(folder, "setup");
	if (!(await isThere(setup))) return undefined;
	const ran = await runScript(setup, { cwd: copy, ...limits });
	return ran.kind === "ended"
		? ran.code === 0
			? undefined
			: `setup ended with exit code ${ran.code}`
		: `setup ${ran.reason}`;
}

/** Why a task shows nothing: its check has to run on the starting tree, and to fail there. `undefined` if it does. */
export async function problemAtStart(task: TrialTask, limits: ScriptLimits): Promise<string | undefined> {
	const folder = await mkdtemp(path.join(tmpdir(), "palimpsest-trial-"));
	const copy = path.join(folder, "copy");
	try {
		const problem = await makeTree(task, { copy, ...limits });
		if (problem !== undefined) return problem;
		const checked = await runCheck(task, { cwd: copy, ...limits });
		if (checked.kind === "failed") return checked.reason;
		return checked.kind === "solved" ? "its check passes before any program has run" : undefined;
	} finally {
		await rm(folder, { recursive: true, force: true, maxRetries: 3 });
	}
}

export type Checked = { readonly kind: "solved" | "unsolved" } | { readonly kind: "failed"; readonly reason: string };

/** Runs the check of a task in a copy. Codes from 126 on are those of a shell that could not run it, and of signals. */
export async function runCheck(task: TrialTask, how: ScriptLimits & { readonly cwd: string }): Promise<Checked> {
	if (await hasChanged(task)) return { kind: "failed", reason: changed };
	const ran = await runScript(path.join(task.folder, "check"), how);
	if (ran.kind === "failed") return { kind: "failed", reason: `check ${ran.reason}` };
	if (ran.code >= 126) return { kind: "failed", reason: `check ended with exit code ${ran.code}` };
	return { kind: ran.code === 0 ? "solved" : "unsolved" };
}

async function runScript(
	file: string,
	{ cwd, ...limits }: ScriptLimits & { readonly cwd: string },
): Promise<{ readonly kind: "ended"; readonly code: number } | { readonly kind: "failed"; readonly reason: string }> {
	const child = spawn(file, { cwd, stdio: "ignore", detached: true });
	const ended = new Promise<number>((resolve) => {
		child.on("exit", (code, signal) => resolve(exitCodeOfEnd(code, signal)));
	});
	const started = await startOf(child);
	if (started.kind === "not_started") return { kind: "failed", reason: `cannot be started: ${started.reason}` };
	const end = await endInTime(child, { ended, ...limits });
	if (end.kind === "ended") return end;
	const reason = end.kind === "timeout" ? `took over ${limits.seconds} seconds` : "was interrupted";
	return { kind: "failed", reason };
}

function codeOf(error: unknown): string {
	const { code, message } = error as NodeJS.ErrnoException;
	return code ?? message;
}
