import { homedir } from "node:os";
import { anyProgram, usualVariables } from "../hosts/any-program.ts";
import { shellWord } from "../hosts/own-command.ts";
import { show } from "./input-output.ts";
import { defaultPort, runningAt } from "./proxy-status.ts";

/** `palimpsest proxy env`: for `eval` in a shell. Prints nothing if no proxy answers, as the programs would then reach no provider. */
export async function proxyEnvironment({
	port = defaultPort,
	shell = process.platform === "win32" ? "powershell" : "sh",
}: {
	readonly port?: number;
	readonly shell?: keyof typeof assignments;
}): Promise<void> {
	const { address: origin } = await runningAt(port);
	const { environment } = await anyProgram("", usualVariables, {}).point({
		platform: process.platform,
		homeFolder: homedir(),
		environment: {},
		origin,
		folder: "",
		parameters: [],
		firstParty: false,
	});
	const lines = Object.entries(environment).map(([name, value]) => assignments[shell](name, value));
	show(`${lines.join("\n")}\n`);
}

const assignments = {
	sh: (name: string, value: string) => `export ${name}=${shellWord(value)}`,
	fish: (name: string, value: string) => `set -gx ${name} ${shellWord(value)}`,
	powershell: (name: string, value: string) => `$env:${name} = '${value}'`,
} as const;
