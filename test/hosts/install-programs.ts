import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentProgram } from "./programs.ts";

const here = dirname(fileURLToPath(import.meta.url));

/**
 * The folder of the checkout; this file also runs as `test/hosts/build/test/hosts/install-programs.js`, and below
 * `test/bench/build`, which has a `package.json` of its own.
 */
export const projectFolder = join(here, existsSync(join(here, "../../tsconfig.json")) ? "../.." : "../../../../..");

const programsFolder = join(projectFolder, "test/hosts/programs");

/** Hundreds of megabytes for some; and some need their install script, which puts the binary in its place. */
const install = ["install", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"];

export type Installed =
	| { readonly kind: "installed"; readonly version: string; readonly binFolder: string }
	| { readonly kind: "absent"; readonly version: string; readonly reason: string };

export function installedFolder(name: string): string {
	return join(programsFolder, "installed", name.replace(/^@/, "").replace("/", "-"));
}

/** Installs a package in its exact version into a folder of its own, where it is not there yet. */
export function installProgram(
	program: Pick<AgentProgram, "package" | "nativeFolder" | "beside" | "skipsScripts">,
): Installed {
	const { dependencies } = readJson<{ dependencies: Record<string, string> }>(join(programsFolder, "package.json"));
	const version = dependencies[program.package];
	if (version === undefined)
		throw new Error(`test/hosts/programs/package.json has no exact version of ${program.package}.`);
	const { nativeFolder } = program;
	const name = nativeFolder === undefined ? program.package : `${program.package}-${platformName()}`;
	const folder = installedFolder(name);
	// A native package has the program itself beside its manifest, and no command of npm.
	const binFolder = join(folder, "node_modules", nativeFolder === undefined ? ".bin" : join(name, nativeFolder));
	const installed = { kind: "installed", version, binFolder } as const;
	if (installedVersion(folder, name) === version) return installed;
	process.stderr.write(`Installing ${name}@${version}\n`);
	mkdirSync(folder, { recursive: true });
	const { beside = [], skipsScripts } = program;
	const how = [...install, ...(skipsScripts ? ["--ignore-scripts"] : [])];
	const { status, stderr } = spawnSync("npm", [...how, "--prefix", folder, `${name}@${version}`, ...beside], {
		cwd: folder,
		// Some look at the version of the Node.js that installs them.
		env:
			nativeFolder === "bin" ? process.env : { ...process.env, PATH: `${nodeFolder()}${delimiter}${process.env.PATH}` },
		stdio: ["ignore", 2, "pipe"],
		encoding: "utf8",
		shell: process.platform === "win32",
	});
	if (installedVersion(folder, name) === version) return installed;
	const [line = "npm gave no reason"] = stderr.split("\n").filter((one) => one.startsWith("npm error"));
	return { kind: "absent", version, reason: status === 0 ? "npm left it out" : line };
}

/** The folder of a Node.js on which all programs run, also those that ask for a newer one than runs this. Throws if npm has none. */
export function nodeFolder(): string {
	const least = 24;
	if (Number(process.versions.node.split(".")[0]) >= least) return dirname(process.execPath);
	const installed = installProgram({ package: "node", nativeFolder: "bin" });
	if (installed.kind === "installed") return installed.binFolder;
	throw new Error(`Some programs need Node.js ${least}, and npm does not install it: ${installed.reason}`);
}

/** As npm packages of native programs are called: linux-x64, linux-x64-musl, darwin-arm64, win32-x64. */
function platformName(): string {
	const { header } = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
	const isMusl = process.platform === "linux" && header?.glibcVersionRuntime === undefined;
	return `${process.platform}-${process.arch}${isMusl ? "-musl" : ""}`;
}

function installedVersion(folder: string, name: string): string | undefined {
	const manifest = join(folder, "node_modules", name, "package.json");
	return existsSync(manifest) ? readJson<{ version: string }>(manifest).version : undefined;
}

function readJson<Value>(file: string): Value {
	return JSON.parse(readFileSync(file, "utf8")) as Value;
}
