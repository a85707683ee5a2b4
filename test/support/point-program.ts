import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Pointing } from "../../src/hosts/host.ts";
import { launchedPrograms } from "../../src/hosts/hosts.ts";
import { scratchFolder } from "./scratch-folder.ts";

export const origin = "http://127.0.0.1:41234";

/** A home folder, and the pointing of programs that are set up in it. */
export async function pointIn() {
	const home = await scratchFolder();
	const folder = await scratchFolder();
	return {
		home,
		folder,
		async settings(name: string, value: unknown): Promise<void> {
			await mkdir(dirname(join(home, name)), { recursive: true });
			await writeFile(join(home, name), typeof value === "string" ? value : JSON.stringify(value));
		},
		async point(
			name: string,
			environment: Record<string, string> = {},
			given: readonly string[] | Given = [],
		): Promise<Pointing> {
			const program = launchedPrograms.find((one) => one.name === name);
			if (program === undefined) throw new Error(`There is no program ${name}.`);
			const where = { platform: "linux", homeFolder: home, projectFolder: join(home, "project") } as const;
			const { parameters = [], ...others } = isList(given) ? { parameters: given } : given;
			return program.point({ ...where, firstParty: true, environment, origin, folder, parameters, ...others });
		},
	};
}

interface Given {
	readonly parameters?: readonly string[];
	readonly firstParty?: boolean;
	readonly platform?: "win32";
}

const isList = (given: readonly string[] | Given): given is readonly string[] => Array.isArray(given);

export const refusal = (reason: RegExp) =>
	expect.objectContaining({ code: "invalid_argument", message: expect.stringMatching(reason) });
