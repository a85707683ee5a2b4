import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFolder } from "./install-programs.ts";

const run = promisify(execFile);

/** How a program is run with our hook. */
interface HookedProgram {
	/** As `palimpsest hook install` calls it. */
	readonly host: string;
	/** Flags for one run: Codex runs no hook that its user has not trusted, and Copilot CLI no program outside the project. */
	readonly parameters: readonly string[];
}

/** By the name of the program in `programs`. */
export const hookedPrograms: Readonly<Record<string, HookedProgram>> = {
	claude: { host: "claude-code", parameters: [] },
	codex: { host: "codex", parameters: ["--dangerously-bypass-hook-trust"] },
	copilot: { host: "copilot-cli", parameters: ["--allow-all-paths"] },
	gemini: { host: "gemini-cli", parameters: [] },
};

/** Enters our hook in the settings of a program's home, as a user does. Returns the flags for its run. */
export async function prepareHook(what: {
	readonly program: string;
	/** That of the program's run, with its HOME. */
	readonly environment: Readonly<Record<string, string>>;
	readonly cli?: string;
}): Promise<readonly string[]> {
	const { program, environment, cli = join(projectFolder, "dist/cli.js") } = what;
	const hooked = hookedPrograms[program];
	if (hooked === undefined) throw new Error(`Expected ${Object.keys(hookedPrograms).join(", ")}; got ${program}.`);
	const parameters = [cli, "hook", "install", hooked.host, "--locale", "en"];
	await run(process.execPath, parameters, { env: environment, cwd: environment.HOME });
	return hooked.parameters;
}

/** Whether a request shows the notice of our hook, which names the command that recalls the original. */
export function isShortened(body = ""): boolean {
	return /\[(?:Output shortened|Not blocked)[\s\S]*? recall \w+\]/.test(body);
}
