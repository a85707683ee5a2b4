import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { resolvePolicy, settingsLayer } from "../engine/policy/layers.ts";
import { presetNames } from "../engine/policy/names.ts";
import type { PolicyLayer } from "../engine/policy/schema.ts";
import { PalimpsestError } from "../errors.ts";
import { enteredHooks, hookTarget } from "../hosts/hooks.ts";
import { hookHosts, hosts } from "../hosts/hosts.ts";
import { continuousPolicy, readPolicyFile } from "../operations/config/config.ts";
import { version } from "../version.ts";
import { say } from "./input-output.ts";
import { programNamed } from "./proxy.ts";
import type { TrialArm, TrialProgram } from "./trial-run.ts";
import type { TrialTask } from "./trial-tasks.ts";
import { refuseUnknown, refuseUsage } from "./usage.ts";

export interface ProgramOptions {
	readonly program: string;
	/** `NAME=TEMPLATE`, for a program that is not known here. */
	readonly env?: readonly string[];
	readonly upstream?: readonly string[];
}

const promptWord = "{prompt}";

/**
 * The program, and its arguments for a prompt: `{prompt}` among those of the user, else its own for a run without a terminal,
 * before them. Any other program reads the prompt on standard input. Refuses wrong usage.
 */
export function programOf({ program: name, ...pointed }: ProgramOptions, given: readonly string[]): TrialProgram {
	const program = programNamed(name, pointed);
	const { headless } = program;
	if (given.some((word) => word.includes(promptWord))) {
		const parametersFor = (prompt: string) => given.map((word) => word.replaceAll(promptWord, () => prompt));
		return { program, parametersFor, readsPrompt: false };
	}
	if (headless) {
		return { program, parametersFor: (prompt) => [...headless(prompt), ...given], readsPrompt: false };
	}
	if (pointed.env) return { program, parametersFor: () => given, readsPrompt: true };
	return refuseUsage(
		`how ${program.title} takes a prompt without a terminal is not known here: name its arguments, with {prompt} among them, after --`,
	);
}

/** `raw`, `palimpsest` (the policy in force), `PRESET`, `PRESET:THRIFT` and `NAME=FILE`, with commas between. */
export async function armsOf(text: string, layers: readonly PolicyLayer[]): Promise<TrialArm[]> {
	const names = text.split(",").map((name) => name.trim());
	const arms = await Promise.all(names.map((name) => armOf(name, layers)));
	const twice = arms.find(({ name }, index) => arms.findIndex((one) => one.name === name) < index);
	return twice ? refuseUsage(`expected each arm once; got ${twice.name} again`) : arms;
}

async function armOf(text: string, layers: readonly PolicyLayer[]): Promise<TrialArm> {
	const [, named = "", file] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
	if (file !== undefined) {
		const policy = continuousPolicy({ layers: [await readPolicyFile(file)] });
		return { name: named.trim(), policy, isRaw: false };
	}
	if (text === "raw" || text === "palimpsest") {
		return { name: text, policy: continuousPolicy({ layers }), isRaw: text === "raw" };
	}
	const [preset = "", thrift] = text.split(":");
	if (!presetNames.some((name) => name === preset)) refuseUnknown("arm", text, ["raw", "palimpsest", ...presetNames]);
	const settings = [`preset=${preset}`, ...(thrift === undefined ? [] : [`mask.thrift=${thrift}`])];
	return { name: text, policy: resolvePolicy([...layers, settingsLayer(settings)]), isRaw: false };
}

/** Runs of equal hashes may be compared. */
export function setupHash(of: {
	readonly arm: TrialArm;
	readonly task: TrialTask;
	readonly options: ProgramOptions;
	readonly parameters: readonly string[];
}): string {
	const { arm, task, options, parameters } = of;
	const { program, env = [], upstream = [] } = options;
	const policy = arm.isRaw ? "raw" : arm.policy;
	const all = JSON.stringify([version, program, env, upstream, parameters, policy, task.hash]);
	return createHash("sha256").update(all).digest("hex").slice(0, 16);
}

/** Our own part inside a program works in every arm. */
export async function warnOfHooks({ program }: TrialProgram): Promise<void> {
	const named = hosts.find(({ launch }) => launch?.command === program.command)?.name;
	const host = hookHosts.find(({ name }) => name === named);
	if (!host) return;
	const target = hookTarget(host, { isForProject: false, mostChars: 1 });
	const text = await readFile(target.file, "utf8").catch(() => "");
	if (!isEntered(text, target)) return;
	const part = host.kind === "plugin" ? "plugin" : "hook";
	const remedy = `\`palimpsest hook uninstall ${host.name}\` takes it out`;
	say(`${target.file} has the ${part} of palimpsest, which works in every arm, also in raw: ${remedy}`);
}

function isEntered(text: string, target: ReturnType<typeof hookTarget>): boolean {
	if (target.kind === "file") return text.includes(target.mark);
	try {
		return enteredHooks(text, target).length > 0;
	} catch {
		// Settings that cannot be read: the program itself reports them.
		return false;
	}
}

/** The results of another program, policy, task or version are not mixed with these. */
export function refuseOtherSetup(file: string, run: { readonly task: string; readonly arm: string }): never {
	const message = `${file} has runs of task ${run.task} in arm ${run.arm} with another setup: the program, its arguments, the policy, the task or this version has changed since. Name another file with --results.`;
	throw new PalimpsestError("invalid_argument", message);
}
