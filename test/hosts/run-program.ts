import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { claudePrices } from "../support/claude-models.ts";
import { finalText, marker, recallText, type SessionScript, writeProject } from "../support/scripted-session.ts";
import { type CloudName, startStandInCloud } from "../support/stand-in-cloud.ts";
import { type ProviderTotals, startStandInProvider } from "../support/stand-in-provider.ts";
import type { StandInThinking } from "../support/stand-in-thinking.ts";
import { nodeFolder, projectFolder } from "./install-programs.ts";
import { modParameters } from "./mod-plugin.ts";
import { type AgentProgram, serversTools } from "./programs.ts";
import { tapProgram } from "./tap-program.ts";

export const builtCli = join(projectFolder, "dist/cli.js");

const acpEditor = join(projectFolder, "test/hosts/build/test/hosts/acp-editor.js");

/** How a program is run: as it is, by `palimpsest launch`, with what `palimpsest hook install` enters, or with the plugin that has a mod. */
export type Way = "alone" | "proxy" | "plugin" | "hook" | "mod";

export interface ProgramRun {
	readonly totals: ProviderTotals;
	/** The program printed the last answer of a session in which the model saw every file. */
	readonly isRight: boolean;
	/** How the model came by the old result that it needed at the end. */
	readonly old: "in_view" | "recalled" | "lost";
	/** The model then read a masked or cut file again. */
	readonly hasRecalled: boolean;
	readonly code: number | null;
	/** Everything the program wrote, on both streams. */
	readonly output: string;
	readonly seconds: number;
	/** Method and path of each request. */
	readonly paths: readonly string[];
	/** Messages of the 400s that the stand-in gave. */
	readonly refusals: readonly string[];
	/** In a strict run: errors that the program got, and requests from which it took thinking that it had sent before. */
	readonly errors: number;
	readonly repairs: number;
	/** Characters that the model was first shown of the first file. */
	readonly firstShown: number;
	/** Placeholders in what the program stored. */
	readonly placeholdersStored: number;
}

/** Plays the script in a program, with its own home and a project of its own. */
export async function runProgram(run: {
	readonly program: AgentProgram;
	readonly binFolder: string;
	readonly script: SessionScript;
	readonly way: Way;
	/** A folder that keeps the bodies of the requests. */
	readonly bodies?: string | undefined;
	readonly limitSeconds: number;
	/** For the policy of the proxy, such as `mask.by=provider`. */
	readonly settings?: readonly string[];
	/** The stand-in is reached through one for this cloud. */
	readonly cloud?: CloudName | undefined;
	/** The stand-in refuses what Anthropic's API refuses, and the program is told to use this model. */
	readonly strict?: { readonly model: string; readonly thinking: StandInThinking } | undefined;
}): Promise<ProgramRun> {
	const { program, script, way, bodies, limitSeconds, strict, settings = [] } = run;
	const provider = await startStandInProvider({
		script,
		checksPairing: true,
		...(bodies === undefined ? {} : { folder: bodies }),
		...(strict === undefined ? {} : { thinking: strict.thinking, prices: claudePrices }),
	});
	const cloud = run.cloud && (await startStandInCloud(run.cloud, provider));
	const origin = cloud?.baseUrl ?? provider.origin;
	const { home, project, environment } = await prepareHome({ ...run, origin, isAlone: way !== "proxy" });
	const tap = strict && (await tapProgram({ home, command: program.command, binFolder: run.binFolder }));
	try {
		const started = Date.now();
		const inside = program.inside?.kind === way ? program.inside : undefined;
		const command = [
			program.command,
			...(inside?.parameters ?? []),
			...program.parameters(sessionPrompt, strict?.model).filter((one) => way !== "mod" || one !== serversTools),
			...(way === "mod" ? modParameters(home) : []),
		];
		const path = [tap?.binFolder ?? [], environment.PATH ?? ""].flat().join(delimiter);
		const how = { cwd: project, environment: { ...environment, PATH: path }, limitSeconds };
		if (inside) {
			const locale = inside.kind === "hook" ? ["--locale", "en"] : [];
			await runToEnd([process.execPath, builtCli, "hook", "install", inside.host, ...locale], how);
		}
		const launched = program.launchedAs === undefined ? command : [program.launchedAs, ...command];
		const policy = settings.flatMap((one) => ["--set", one]);
		const launch = [process.execPath, builtCli, "launch", ...policy, ...launched];
		const editor = program.hasEditor ? [process.execPath, acpEditor, sessionPrompt] : [];
		const { code, output } = await runToEnd([...editor, ...(way === "proxy" ? launch : command)], how);
		const saysAtEnd = (old: "in_view" | "recalled") => output.includes(finalText(script, old));
		const old = saysAtEnd("in_view") ? "in_view" : saysAtEnd("recalled") ? "recalled" : "lost";
		const isRight = old !== "lost";
		const hasRecalled = output.includes(`${finalText(script)} ${recallText}`);
		const seconds = (Date.now() - started) / 1000;
		const firstShown = charactersShown(provider.requests.map(({ body }) => body));
		const placeholdersStored = await countPlaceholders(home);
		const refusals = cloud?.refusals ?? provider.refusals.map(({ message }) => message);
		const { paths } = cloud ?? provider;
		return {
			totals: provider.totals(),
			isRight,
			old,
			hasRecalled,
			code,
			output,
			seconds,
			paths,
			refusals,
			errors: tap?.errors() ?? 0,
			repairs: tap?.repairs() ?? 0,
			firstShown,
			placeholdersStored,
		};
	} finally {
		await tap?.close();
		await cloud?.close();
		await provider.close();
		await rm(home, { recursive: true, force: true, maxRetries: 5 });
	}
}

/** A home of its own for a program, with its settings and the project of the script. */
export async function prepareHome(given: {
	readonly program: AgentProgram;
	readonly binFolder: string;
	readonly script: SessionScript;
	/** Of the provider. */
	readonly origin: string;
	readonly isAlone?: boolean;
}) {
	const { program, binFolder, script, origin, isAlone = true } = given;
	const home = await realpath(await mkdtemp(join(tmpdir(), `palimpsest-hosts-${program.name}-`)));
	const project = join(home, "project");
	await writeProject(project, script);
	const { environment, files = {} } = program.configure({ origin, home, isAlone });
	for (const [name, text] of Object.entries(files)) {
		await mkdir(dirname(join(home, name)), { recursive: true });
		await writeFile(join(home, name), text);
	}
	return { home, project, environment: { ...quietEnvironment(home, binFolder), ...environment } };
}

function charactersShown(bodies: readonly string[]): number {
	const first = bodies.find((body) => body.includes(marker(1)));
	let most = 0;
	JSON.parse(first ?? "null", (_, value: unknown) => {
		if (typeof value === "string" && value.includes(marker(1))) most = Math.max(most, value.length);
		return value;
	});
	return most;
}

/** Without our archive, which also remembers what was masked. */
async function countPlaceholders(home: string): Promise<number> {
	const files = await readdir(home, { recursive: true, withFileTypes: true });
	let count = 0;
	for (const file of files) {
		if (!file.isFile() || file.parentPath.includes("palimpsest/")) continue;
		const text = await readFile(join(file.parentPath, file.name), "latin1").catch(() => "");
		count += text.match(/\[(?:masked \w+,|Observation masked:) /g)?.length ?? 0;
	}
	return count;
}

export const sessionPrompt =
	"Read every module of this project, one file after the other, and say when the work is done.";

/** Nothing of the user's, nothing that leaves this machine. */
export function quietEnvironment(home: string, binFolder: string): Record<string, string> {
	return {
		PATH: [binFolder, nodeFolder(), process.env.PATH ?? ""].join(delimiter),
		HOME: home,
		USERPROFILE: home,
		XDG_CONFIG_HOME: join(home, ".config"),
		XDG_DATA_HOME: join(home, ".local/share"),
		XDG_STATE_HOME: join(home, ".local/state"),
		XDG_CACHE_HOME: join(home, ".cache"),
		TMPDIR: process.env.TMPDIR ?? tmpdir(),
		LANG: "C.UTF-8",
		SHELL: "/bin/bash",
		TERM: "dumb",
		NO_COLOR: "1",
		DO_NOT_TRACK: "1",
		// Whatever else a program asks for fails at once.
		HTTP_PROXY: "http://127.0.0.1:9",
		HTTPS_PROXY: "http://127.0.0.1:9",
		NO_PROXY: "127.0.0.1,localhost",
		no_proxy: "127.0.0.1,localhost",
	};
}

export function runToEnd(
	[command = "", ...parameters]: readonly string[],
	how: { readonly cwd: string; readonly environment: Record<string, string>; readonly limitSeconds: number },
): Promise<{ readonly code: number | null; readonly output: string }> {
	return new Promise((resolve, reject) => {
		const child = spawn(command, parameters, {
			cwd: how.cwd,
			env: how.environment,
			stdio: ["ignore", "pipe", "pipe"],
			// The program's own children end with it.
			detached: process.platform !== "win32",
		});
		let output = "";
		const collect = (chunk: Buffer) => {
			output += chunk.toString("utf8");
		};
		child.stdout.on("data", collect);
		child.stderr.on("data", collect);
		const timer = setTimeout(() => endGroup(child.pid), how.limitSeconds * 1000);
		child.on("error", reject);
		child.on("exit", (code) => {
			clearTimeout(timer);
			endGroup(child.pid);
			// Its last words are still under way.
			setTimeout(() => resolve({ code, output }), 200);
		});
	});
}

function endGroup(pid: number | undefined): void {
	if (pid === undefined) return;
	try {
		process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
	} catch {
		// It has ended.
	}
}
