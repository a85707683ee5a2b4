import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { conformanceFolder } from "./folders.ts";

const install = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline"];

interface Manifest {
	readonly dependencies: Readonly<Record<string, string>>;
	readonly optionalDependencies: Readonly<Record<string, string>>;
}

/** Installs the tools into their own folder where one is missing or of another version. */
export function installTools(): void {
	const { dependencies, optionalDependencies }: Manifest = readJson(`${conformanceFolder}/package.json`);
	const wanted = Object.entries({ ...dependencies, ...(isLinux ? optionalDependencies : {}) });
	const missing = wanted.filter(([name, specifier]) => versionOf(name) !== specifier.split("@").at(-1));
	if (missing.length === 0) return;
	process.stderr.write(`Installing into test/conformance: ${missing.map(([name]) => name).join(", ")}\n`);
	const { status } = spawnSync("npm", [...install, "--loglevel=error"], {
		cwd: conformanceFolder,
		stdio: ["ignore", 2, 2],
		shell: process.platform === "win32",
	});
	if (status !== 0) throw new Error("The tools of the conformance tests could not be installed.");
}

/** The binaries of other versions of Node are for this platform alone. */
const isLinux = process.platform === "linux" && process.arch === "x64";

function versionOf(name: string): string | undefined {
	const manifest = `${conformanceFolder}/node_modules/${name}/package.json`;
	return existsSync(manifest) ? readJson<{ version: string }>(manifest).version : undefined;
}

function readJson<Value>(file: string): Value {
	return JSON.parse(readFileSync(file, "utf8")) as Value;
}
